//! Critical values for the blocks of converged iterates, by number of parameters and of blocks.

use mcsa_diagnostics::{batch_ratio_limit, simultaneous_quantile, split_r_hat_limit};

/// Simultaneous confidence level of the intervals of all parameters.
const CONFIDENCE: f64 = 0.95;
/// Probability that iterates without drift pass at one window, for the largest R-hat and for the root mean square of all. A
/// false refusal costs an eighth to a quarter of the steps made so far; a missed drift gives a wrong result.
const AT_REST: [f64; 2] = [0.5, 0.8];
/// Number of parameters counted at most in intervals from the few batches of a single parameter.
const FEW: usize = 20;
/// Probability that independent blocks pass the test of independence.
const INDEPENDENT: f64 = 0.95;

/// Cached critical values for a number of parameters: a quantile costs more than the rest of a look.
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

    /// Half-width in standard errors, for blocks whose long-run variance is that of batches of `longest` blocks.
    ///
    /// A variance from batches has few degrees of freedom; but its ratio to the variance from single blocks is estimated
    /// from all parameters together.
    pub(crate) fn half_width(&mut self, blocks: usize, longest: usize) -> f64 {
        let freedom = (blocks - 1).min(self.count * (blocks / longest - 1));
        let find = || simultaneous_quantile(CONFIDENCE, self.count, freedom as f64);
        *known(&mut self.half_widths[blocks], find)
    }

    /// Half-width in standard errors, for a variance from `batches` batches of a single parameter. With few degrees of
    /// freedom the quantile at the level of very many parameters is far out, so at most 20 parameters are counted.
    pub(crate) fn half_width_alone(&mut self, batches: usize) -> f64 {
        let find = || simultaneous_quantile(CONFIDENCE, self.count.min(FEW), (batches - 1) as f64);
        *known(&mut self.alone[batches], find)
    }

    /// Limits of the largest split R-hat of a parameter, and of the root mean square over all parameters.
    pub(crate) fn r_hats(&mut self, blocks: usize) -> (f64, f64) {
        let largest = || split_r_hat_limit(AT_REST[0], self.count, blocks);
        let together = || split_r_hat_limit(AT_REST[1], 1, blocks);
        (*known(&mut self.largest[blocks], largest), *known(&mut self.together[blocks], together))
    }

    /// Limit of the largest ratio, over parameters, of the long-run variance from batches of `longest` blocks to that from
    /// single blocks.
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

    /// More parameters widen every limit except that of the root mean square; more blocks narrow those of R-hat.
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
        // A cached value is returned unchanged.
        assert_eq!(many.r_hats(60), Limits::<64>::of(600).r_hats(60));
    }

    /// Degrees of freedom: one fewer than batches, of all parameters together but not more than one fewer than blocks.
    #[test]
    fn intervals_have_the_degrees_of_freedom_of_their_batches() {
        let (mut few, mut many) = (Limits::<64>::of(2), Limits::<64>::of(600));
        assert_eq!(few.half_width(32, 4), simultaneous_quantile(CONFIDENCE, 2, 14.0));
        assert_eq!(many.half_width(32, 4), simultaneous_quantile(CONFIDENCE, 600, 31.0));
        assert_eq!(few.half_width_alone(8), simultaneous_quantile(CONFIDENCE, 2, 7.0));
        assert_eq!(many.half_width_alone(8), simultaneous_quantile(CONFIDENCE, 20, 7.0));
    }
}
