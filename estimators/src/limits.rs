//! Limits of what the blocks of converged iterates show, by number of parameters and of blocks.

use mcsa_theory::diagnostics::{batch_ratio_limit, simultaneous_quantile, split_r_hat_limit};

/// The confidence at which intervals of all parameters hold at once.
const CONFIDENCE: f64 = 0.95;
/// The probability that iterates without drift pass a look at one window, by the largest R-hat, and by the mean of all. A refusal
/// costs an eighth to a quarter of the steps made so far, a drift that is not seen a wrong result.
const AT_REST: [f64; 2] = [0.5, 0.8];
/// The number of parameters up to which the few batches of a parameter alone must do for its interval.
const FEW: usize = 20;
/// The probability that blocks that are independent pass for that.
const INDEPENDENT: f64 = 0.95;

/// Limits for a number of parameters, each computed once: a quantile costs more than all else in a look.
#[derive(Debug)]
pub(crate) struct Limits<const ROOM: usize> {
    count: usize,
    half_widths: [f64; ROOM],
    alone: [f64; ROOM],
    largest: [f64; ROOM],
    together: [f64; ROOM],
    ratios: [f64; ROOM],
}

impl<const ROOM: usize> Limits<ROOM> {
    pub(crate) fn of(count: usize) -> Self {
        let unknown = [f64::NAN; ROOM];
        Self {
            count,
            half_widths: unknown,
            alone: unknown,
            largest: unknown,
            together: unknown,
            ratios: unknown,
        }
    }

    /// Standard errors in a half-width, for blocks whose long-run variance is that of batches of `longest`.
    ///
    /// A variance from batches has few degrees of freedom; but how much larger it is than that from single blocks is known
    /// from all parameters together.
    pub(crate) fn half_width(&mut self, blocks: usize, longest: usize) -> f64 {
        let freedom = (blocks - 1).min(self.count * (blocks / longest - 1));
        let find = || simultaneous_quantile(CONFIDENCE, self.count, freedom as f64);
        *known(&mut self.half_widths[blocks], find)
    }

    /// Standard errors in a half-width whose variance is from so many batches of one parameter, told from these alone. With few
    /// degrees of freedom the quantile at the level of very many parameters is far out, so no more than 20 are counted.
    pub(crate) fn half_width_alone(&mut self, batches: usize) -> f64 {
        let find = || simultaneous_quantile(CONFIDENCE, self.count.min(FEW), (batches - 1) as f64);
        *known(&mut self.alone[batches], find)
    }

    /// The split R-hat of the parameter that drifts most, and the root mean square of all parameters'.
    pub(crate) fn r_hats(&mut self, blocks: usize) -> (f64, f64) {
        let largest = || split_r_hat_limit(AT_REST[0], self.count, blocks);
        let together = || split_r_hat_limit(AT_REST[1], 1, blocks);
        (*known(&mut self.largest[blocks], largest), *known(&mut self.together[blocks], together))
    }

    /// The long-run variance in batches of `longest` over that in blocks, of the parameter where it is largest.
    pub(crate) fn ratio(&mut self, blocks: usize, longest: usize) -> f64 {
        let find = || batch_ratio_limit(INDEPENDENT, self.count, blocks, longest);
        *known(&mut self.ratios[blocks], find)
    }
}

fn known(limit: &mut f64, find: impl Fn() -> f64) -> &f64 {
    if limit.is_nan() {
        *limit = find();
    }
    limit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More parameters widen every limit but that of the mean; more blocks narrow R-hat's.
    #[test]
    fn limits_know_parameters_and_blocks() {
        let (mut few, mut many) = (Limits::<64>::of(2), Limits::<64>::of(600));
        for blocks in [16, 32, 60] {
            let (few_r, many_r) = (few.r_hats(blocks), many.r_hats(blocks));
            assert!(many_r.0 > few_r.0 && many_r.1 == few_r.1 && many_r.1 < many_r.0, "{blocks}");
            assert!(many.half_width(blocks, 4) > few.half_width(blocks, 4));
            assert!(many.ratio(blocks, 4) > few.ratio(blocks, 4));
        }
        assert!(many.r_hats(60).0 < many.r_hats(16).0);
        // What was found before is found again.
        assert_eq!(many.r_hats(60), Limits::<64>::of(600).r_hats(60));
    }
}
