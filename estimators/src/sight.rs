//! Drift, autocorrelation and accuracy of the last blocks of iterates.

use mcsa_diagnostics::{long_run_variance, split_r_hat};

use crate::iterates::{Iterates, LONGEST, ROOM};
use crate::limits;

/// Lengths, in blocks, of the batches from which standard errors are computed; the largest error counts.
const BATCHES: [usize; 3] = [1, 2, LONGEST];
/// Limit of the ratio of the long-run variance from batches of four blocks to that from single blocks, averaged over parameters.
const MEMORY: f64 = 2.0;

/// The bend by the noise of all parameters counts from this multiple of the bend by a parameter's own noise; it is that
/// large where parameters are coupled.
const COUPLED: f64 = 2.0;

/// Critical values for up to `ROOM` blocks.
pub(crate) type Limits = limits::Limits<ROOM>;

/// Statistics of a trailing window of blocks, in units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sight {
    pub(crate) blocks: usize,
    /// Split R-hat: that of the worst parameter or the root mean square over parameters, whichever is larger relative to
    /// its limit.
    pub(crate) r_hat: f64,
    pub(crate) r_hat_limit: f64,
    pub(crate) half_width: f64,
    pub(crate) parameter: usize,
    pub(crate) bend: f64,
    /// True if blocks are too short to be independent.
    pub(crate) remembers: bool,
}

impl Sight {
    pub(crate) fn drifts(&self) -> bool {
        // Written so that NaN counts as drift.
        !(self.r_hat < self.r_hat_limit)
    }
}

impl Iterates {
    /// True if at least one window has no drift.
    pub(crate) fn rests(&self, limits: &mut Limits) -> bool {
        self.windows().any(|blocks| {
            let (r_hat, limit) = self.drift(blocks, limits);
            r_hat < limit
        })
    }

    /// Statistics of the most accurate window without drift, or of the window with the least drift if all drift. `None`
    /// while there are too few blocks.
    pub(crate) fn sight(&self, units: &[f64], bends: &[f64], limits: &mut Limits) -> Option<Sight> {
        let before = |a: &Sight, b: &Sight| match (a.drifts(), b.drifts()) {
            (true, true) => a.r_hat / a.r_hat_limit < b.r_hat / b.r_hat_limit,
            (true, false) => false,
            (false, true) => true,
            (false, false) => a.half_width + a.bend < b.half_width + b.bend,
        };
        let sights = self.windows().map(|blocks| self.sight_of(blocks, units, bends, limits));
        sights.reduce(|best, other| if before(&other, &best) { other } else { best })
    }

    /// Split R-hat and its limit: that of the worst parameter or the root mean square over parameters, whichever is larger
    /// relative to its limit. A parameter that never moved has no R-hat.
    fn drift(&self, blocks: usize, limits: &mut Limits) -> (f64, f64) {
        let (mut largest, mut squares, mut moving) = (f64::NAN, 0.0, 0.0);
        for j in 0..self.count() {
            let r_hat = split_r_hat(&[self.means(j, blocks)]);
            if !r_hat.is_nan() {
                largest = r_hat.max(largest);
                squares += r_hat * r_hat;
                moving += 1.0;
            }
        }
        let (limit, limit_together) = limits.r_hats(blocks);
        let together: f64 = f64::sqrt(squares / moving);
        if together / limit_together > largest / limit {
            (together, limit_together)
        } else {
            (largest, limit)
        }
    }

    /// Accuracy of the mean of the last blocks, in `units` per parameter; `bends` are the shifts of the mean by noise.
    fn sight_of(&self, blocks: usize, units: &[f64], bends: &[f64], limits: &mut Limits) -> Sight {
        let (r_hat, r_hat_limit) = self.drift(blocks, limits);
        let variances = |j: usize| {
            let means = self.means(j, blocks);
            let variances = BATCHES.map(|batch| long_run_variance(means, batch));
            // A parameter that never moved has no error.
            variances.iter().all(|variance| variance.is_finite()).then_some(variances)
        };
        let (mut ratios, mut largest, mut moving) = ([0.0; BATCHES.len()], 0.0_f64, 0.0);
        for variances in (0..units.len()).filter_map(variances) {
            ratios.iter_mut().zip(variances).for_each(|(ratio, variance)| *ratio += variance / variances[0]);
            largest = largest.max(variances[BATCHES.len() - 1] / variances[0]);
            moving += 1.0;
        }
        let ratios = ratios.map(|ratio| ratio / moving);
        let ratio = ratios.iter().fold(1.0, |a: f64, b| a.max(*b));
        let remembers = !(ratios[BATCHES.len() - 1] < MEMORY && largest < limits.ratio(blocks, LONGEST));
        let mut sight =
            Sight { blocks, r_hat, r_hat_limit, half_width: 0.0, parameter: 0, bend: 0.0, remembers };
        let errors = limits.half_width(blocks, LONGEST);
        let alone = BATCHES.map(|batch| limits.half_width_alone(blocks / batch));
        for (j, unit) in units.iter().enumerate() {
            let Some(variances) = variances(j) else { continue };
            let variance = variances.iter().fold(ratio * variances[0], |a, b| a.max(*b));
            let all = errors * (variance / blocks as f64).sqrt();
            let of_batch = |k: usize| alone[k] * (variances[k] / blocks as f64).sqrt();
            let half_width = (0..BATCHES.len()).map(of_batch).fold(all, f64::max) / unit;
            if half_width > sight.half_width {
                (sight.half_width, sight.parameter) = (half_width, j);
            }
            let spread = self.variance(j, blocks) / (unit * unit);
            let bend = std::f64::consts::SQRT_2 * spread;
            let coupled = Some(bends[j] / unit).filter(|coupled| *coupled > COUPLED * bend);
            sight.bend = sight.bend.max(coupled.unwrap_or(bend));
        }
        sight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    fn path(steps: u64, drift: f64, phi: f64) -> Iterates {
        let (mut iterates, mut stream, mut x) = (Iterates::new(2), Seed::new(1).stream(0, 0), 0.0);
        for t in 0..steps {
            x = phi * x + (1.0 - phi * phi).sqrt() * stream.normal();
            iterates.note(&[x + drift * t as f64, 1.0], None);
        }
        iterates
    }

    /// White noise of variance one: the half-width is the standard error `1 / sqrt(n)` times the quantile. The second
    /// parameter never moves and has no error.
    #[test]
    fn the_error_of_white_noise_is_known() {
        let iterates = path(20_000, 0.0, 0.0);
        let sight = iterates.sight(&[1.0, 1.0], &[0.0; 2], &mut Limits::of(2)).unwrap();
        let n = iterates.length() as f64 * sight.blocks as f64;
        assert!((0.7..2.0).contains(&(sight.half_width * n.sqrt() / 2.4)), "{sight:?} {n}");
        assert!(!sight.drifts() && !sight.remembers && sight.parameter == 0, "{sight:?}");
        assert!((0.6..1.8).contains(&(sight.bend / 2.0_f64.sqrt())), "{sight:?}");
    }

    /// The twins: drift is detected, and so is memory longer than a block.
    #[test]
    fn drift_and_memory_are_seen() {
        let drifting = path(20_000, 1e-3, 0.0);
        assert!(
            drifting.sight(&[1.0, 1.0], &[0.0; 2], &mut Limits::of(2)).unwrap().drifts()
                && !drifting.rests(&mut Limits::of(2))
        );
        let remembering = path(4_000, 0.0, 0.998);
        let sight = remembering.sight(&[1.0, 1.0], &[0.0; 2], &mut Limits::of(2)).unwrap();
        assert!(sight.drifts() || sight.remembers, "{sight:?}");
    }

    /// Windows of 48 blocks of `count` parameters, with these block means.
    fn blocks(count: usize, mut mean: impl FnMut(usize, usize) -> f64) -> Iterates {
        let means: Vec<[f64; 48]> = (0..count).map(|j| std::array::from_fn(|k| mean(j, k))).collect();
        let mut iterates = Iterates::new(count);
        let mut params = vec![0.0; count];
        for step in 0..48 * 16 {
            params.iter_mut().zip(&means).for_each(|(param, means)| *param = means[step / 16]);
            iterates.note(&params, None);
        }
        iterates
    }

    /// Share of 400 windows (100 if there are many parameters) in which `holds` is true; the means are the given ones plus
    /// independent standard normal noise.
    fn share(
        count: usize,
        mean: impl Fn(usize, usize) -> f64,
        holds: impl Fn(&Iterates, &Sight) -> bool,
    ) -> f64 {
        let (units, bends, mut limits) = (vec![1.0; count], vec![0.0; count], Limits::of(count));
        let mut holds_of = |seed: u64| {
            let mut stream = Seed::new(seed).stream(0, 0);
            let iterates = blocks(count, |j, k| mean(j, k) + stream.normal());
            holds(&iterates, &iterates.sight_of(48, &units, &bends, &mut limits))
        };
        let windows = if count < 100 { 400 } else { 100 };
        (0..windows).filter(|seed| holds_of(*seed)).count() as f64 / windows as f64
    }

    /// Blocks without drift are refused at the stated level, one half, for any number of parameters; five standard errors
    /// of 100 windows are allowed. A fixed limit of 1.1 refuses nearly all windows of 300 parameters.
    #[test]
    fn rest_is_refused_as_often_for_many_parameters() {
        for count in [1, 10, 300] {
            let refused = share(count, |_, _| 0.0, |_, sight| sight.drifts());
            assert!((0.25..0.75).contains(&refused), "{count}: {refused}");
            let remembers = share(count, |_, _| 0.0, |_, sight| sight.remembers);
            assert!(remembers < 0.16, "{count}: {remembers}");
        }
        let r_hat = |iterates: &Iterates, j| split_r_hat(&[iterates.means(j, 48)]);
        let fixed = share(300, |_, _| 0.0, |iterates, _| (0..300).all(|j| r_hat(iterates, j) < 1.1));
        assert!(fixed < 0.05, "{fixed}");
    }

    /// The twins. A trend by 0.6 deviations of a block mean over the window is missed in one parameter, and detected where
    /// many share it; a drift of one parameter among many is detected when it is large; so is memory.
    #[test]
    fn drift_of_all_and_of_one_is_seen() {
        let drift = |size: f64| move |k: usize| size * (k as f64 / 48.0 - 0.5);
        let all = |count| share(count, |_, k| drift(0.6)(k), |_, sight| sight.drifts());
        assert!(all(1) < 0.8 && all(300) > 0.95, "{} {}", all(1), all(300));
        let one =
            |size| share(100, |j, k| if j == 7 { drift(size)(k) } else { 0.0 }, |_, sight| sight.drifts());
        assert!(one(5.0) > 0.99, "{}", one(5.0));
        let waves = |j: usize, k: usize| 1.5 * f64::sin(0.4 * k as f64 + j as f64);
        assert!(share(100, waves, |_, sight| sight.remembers) > 0.99);
        let wave = |j, k| if j == 7 { 4.0 * waves(j, k) } else { 0.0 };
        let seen = share(100, wave, |_, sight| sight.remembers);
        assert!(seen > 0.99, "{seen}");
    }

    /// The intervals hold for all parameters at once, at the stated confidence or above. The largest of many is at most
    /// twice as wide as exact variances would make it. With the t quantile of 11 batches, which 300 parameters require at 1
    /// - 8e-5, it would be three times as wide.
    #[test]
    fn intervals_hold_at_once() {
        for (count, quantile) in [(1, 1.96), (10, 2.81), (300, 3.76)] {
            let outside = |iterates: &Iterates, sight: &Sight| {
                let mut average = vec![0.0; count];
                iterates.average_into(48, &mut average);
                average.iter().any(|a| a.abs() > sight.half_width)
            };
            let missed = share(count, |_, _| 0.0, outside);
            assert!(missed < 0.06, "{count}: {missed}");
            let wide = |_: &Iterates, s: &Sight| s.half_width > 2.0 * quantile / 48.0_f64.sqrt();
            let wide = share(count, |_, _| 0.0, wide);
            assert!(count < 300 || wide < 0.5, "{wide}");
        }
    }
}
