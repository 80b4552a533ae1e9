//! Stopping rule: the accuracy of averaged iterates, from drift, autocorrelation and noise of their last blocks.

use mcsa_core::{Address, Error, Family, Seed, Stream, batch, batch_mut, positive};
use mcsa_diagnostics::{
    batch_ratio_limit, long_run_variance, simultaneous_quantile, split_r_hat, split_r_hat_limit,
};
use serde::{Deserialize, Serialize};

use crate::iterates::{Iterates, LONGEST, ROOM};
use crate::outcome::{Accuracy, Obstacle};
use crate::{AscentState, Outcome};

/// Stopping rule: a fit ends when the error of its averaged iterate is below a required accuracy.
///
/// ```text
/// |average_j - optimum_j| <= accuracy * unit_j   for all j at once, with confidence 0.95
/// unit_j = E_q[score_j^2]^(-1/2)
/// ```
/// The unit is the Fisher information of one draw of q, to the power -1/2: one standard deviation of q for a mean. If every
/// error is below `accuracy`, `KL` between the fit and its optimum is about `accuracy^2 / 2` per parameter, or less.
///
/// Iterates at a constant learning rate do not converge; they fluctuate about a mean, and that mean converges. So the rule uses
/// means of 32 to 63 blocks of iterates, whose length grows with the run. Of three trailing windows (all, three quarters, half of
/// the run) it takes the one without drift that has the smallest error.
///
/// The rule ends a run under three conditions. Batches of blocks show no autocorrelation, and no chain has stayed at one point
/// for longer than a batch. The error is below the accuracy: it is the half-width of simultaneous intervals, plus an allowance
/// for the shift of the mean by noise.
///
/// The rule cannot detect mass of p that no chain has visited: read [`Health`](crate::Health) as well. The rate must not fall to zero:
/// iterates that do not move appear precise. Iterates that are correlated over `tau` steps need about 200 `tau` steps.
///
/// The book's page on stopping has the criteria in full, and the rates of wrong decisions.
///
/// The rule evaluates its criteria at 4 block counts per doubling of the run, first after 512 steps. Its memory is part of the
/// [`AscentState`], so a resumed run ends at the same step, and another rule continues with the same memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Stationary {
    accuracy: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    accuracy: f64,
}

impl TryFrom<Settings> for Stationary {
    type Error = Error;

    fn try_from(Settings { accuracy }: Settings) -> Result<Self, Error> {
        Self::to(accuracy)
    }
}

impl Stationary {
    /// A rule with this accuracy, in units of the Fisher information of one draw of q to the power -1/2.
    ///
    /// # Errors
    /// If `accuracy` is not positive and finite.
    pub fn to(accuracy: f64) -> Result<Self, Error> {
        positive("accuracy", accuracy).map_err(|error| error.within("Stationary"))?;
        Ok(Self { accuracy })
    }
}

/// Stopping rule with the memory of one run: the units of the parameters, estimated along the way.
pub(crate) struct Judging {
    rule: Stationary,
    units: Option<Units>,
}

impl Judging {
    pub(crate) fn new(rule: Stationary) -> Self {
        Self { rule, units: None }
    }

    /// Called after every step, and once more if all steps `are_made`, when there is an outcome in any case. An outcome ends the run.
    pub(crate) fn judge<F: Family + ?Sized, S, O>(
        &mut self,
        (family, seed): (&F, Seed),
        fit: &mut AscentState<S, O>,
        are_made: bool,
    ) -> Option<Outcome> {
        let (rule, count) = (self.rule, fit.params().len());
        let units = self.units.get_or_insert_with(|| Units::new(family, count, seed));
        let (step, oldest) = (fit.step(), fit.statistics().oldest());
        let (params, iterates) = fit.path();
        if !are_made {
            iterates.note(params, oldest);
            if !iterates.is_due() || !iterates.rests(&mut units.limits) {
                return None;
            }
        }
        let looked = rule.look(family, iterates, step, units);
        let Some((found, obstacle)) = looked.filter(|(_, obstacle)| are_made || obstacle.is_none()) else {
            return are_made.then_some(Outcome::BudgetSpent { accuracy: None });
        };
        let accuracy = rule.accuracy(iterates, step, (found, obstacle), &units.average);
        Some(match obstacle {
            _ if !are_made => Outcome::Converged(accuracy),
            Some(Obstacle::Stuck) => {
                let (stayed, chain) = iterates.longest_stay(found.blocks);
                Outcome::StationaryButStuck { accuracy, chain, stayed }
            }
            _ => Outcome::BudgetSpent { accuracy: Some(accuracy) },
        })
    }
}

type Look = (WindowStatistics, Option<Obstacle>);

impl Stationary {
    /// Current statistics of the iterates and the obstacle to convergence, if any; their average is left in `units`.
    fn look<F: Family + ?Sized>(
        &self,
        family: &F,
        iterates: &Iterates,
        step: u64,
        units: &mut Units,
    ) -> Option<Look> {
        units.estimate(family, iterates, step);
        let window = iterates.best_window(&units.units, &units.bends, &mut units.limits)?;
        iterates.average_into(window.blocks, &mut units.average);
        let obstacle = if window.drifts() {
            Some(Obstacle::Drift)
        } else if window.is_correlated {
            Some(Obstacle::Autocorrelation)
        } else if iterates.longest_stay(window.blocks).0 > iterates.length * LONGEST as u64 {
            Some(Obstacle::Stuck)
        } else if !(window.bend < self.accuracy) {
            Some(Obstacle::Rate)
        } else if !(window.half_width + window.bend <= self.accuracy) {
            Some(Obstacle::Noise)
        } else {
            None
        };
        Some((window, obstacle))
    }

    /// The accuracy to report; the fit stores its average.
    fn accuracy(
        &self,
        iterates: &mut Iterates,
        step: u64,
        (found, obstacle): Look,
        average: &[f64],
    ) -> Accuracy {
        let window = iterates.length * found.blocks as u64;
        iterates.state(step, window, average);
        Accuracy {
            step,
            window,
            average: average.to_vec(),
            asked: self.accuracy,
            half_width: found.half_width,
            bend: found.bend,
            parameter: found.parameter,
            r_hat: found.r_hat,
            r_hat_limit: found.r_hat_limit,
            obstacle,
        }
    }
}

/// Lengths, in blocks, of the batches from which standard errors are computed; the largest error counts.
const BATCHES: [usize; 3] = [1, 2, LONGEST];
/// Limit of the ratio of the long-run variance from batches of four blocks to that from single blocks, averaged over parameters.
const MEMORY: f64 = 2.0;

/// The bend by the noise of all parameters counts from this multiple of the bend by a parameter's own noise; it is that
/// large where parameters are coupled.
const COUPLED: f64 = 2.0;

/// Statistics of a trailing window of blocks, in units.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WindowStatistics {
    blocks: usize,
    /// As [`Accuracy::r_hat`].
    r_hat: f64,
    r_hat_limit: f64,
    half_width: f64,
    parameter: usize,
    bend: f64,
    /// True if blocks are too short to be independent.
    is_correlated: bool,
}

impl WindowStatistics {
    fn drifts(&self) -> bool {
        // Written so that NaN counts as drift.
        !(self.r_hat < self.r_hat_limit)
    }
}

impl Iterates {
    /// True if at least one window has no drift.
    fn rests(&self, limits: &mut Limits) -> bool {
        self.windows().any(|blocks| {
            let (r_hat, limit) = self.drift(blocks, limits);
            r_hat < limit
        })
    }

    /// Statistics of the most accurate window without drift, or of the window with the least drift if all drift. `None`
    /// while there are too few blocks.
    fn best_window(&self, units: &[f64], bends: &[f64], limits: &mut Limits) -> Option<WindowStatistics> {
        let before = |a: &WindowStatistics, b: &WindowStatistics| match (a.drifts(), b.drifts()) {
            (true, true) => a.r_hat / a.r_hat_limit < b.r_hat / b.r_hat_limit,
            (true, false) => false,
            (false, true) => true,
            (false, false) => a.half_width + a.bend < b.half_width + b.bend,
        };
        let windows = self.windows().map(|blocks| self.statistics_of(blocks, units, bends, limits));
        windows.reduce(|best, other| if before(&other, &best) { other } else { best })
    }

    /// Split R-hat and its limit, as in [`Accuracy::r_hat`]. A parameter that never moved has no R-hat.
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
    ///
    /// ```text
    /// half-width_j = max( t_P(nu) sqrt(max(r v_1j, v_2j, v_4j) / B),   max_b t_min(P,20)(B/b - 1) sqrt(v_bj / B) ) / unit_j
    /// v_b      long-run variance from batches of b = 1, 2, 4 blocks,    B blocks,    P parameters
    /// r        max(1, mean_j v_2j/v_1j, mean_j v_4j/v_1j),    nu = min(B - 1, P (B/4 - 1))
    /// ```
    fn statistics_of(
        &self,
        blocks: usize,
        units: &[f64],
        bends: &[f64],
        limits: &mut Limits,
    ) -> WindowStatistics {
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
        let is_correlated = !(ratios[BATCHES.len() - 1] < MEMORY && largest < limits.ratio(blocks, LONGEST));
        let mut window = WindowStatistics {
            blocks,
            r_hat,
            r_hat_limit,
            half_width: 0.0,
            parameter: 0,
            bend: 0.0,
            is_correlated,
        };
        let errors = limits.half_width(blocks, LONGEST);
        let alone = BATCHES.map(|batch| limits.half_width_alone(blocks / batch));
        for (j, unit) in units.iter().enumerate() {
            let Some(variances) = variances(j) else { continue };
            let variance = variances.iter().fold(ratio * variances[0], |a, b| a.max(*b));
            let all = errors * (variance / blocks as f64).sqrt();
            let of_batch = |k: usize| alone[k] * (variances[k] / blocks as f64).sqrt();
            let half_width = (0..BATCHES.len()).map(of_batch).fold(all, f64::max) / unit;
            if half_width > window.half_width {
                (window.half_width, window.parameter) = (half_width, j);
            }
            let spread = self.variance(j, blocks) / (unit * unit);
            let bend = std::f64::consts::SQRT_2 * spread;
            let coupled = Some(bends[j] / unit).filter(|coupled| *coupled > COUPLED * bend);
            window.bend = window.bend.max(coupled.unwrap_or(bend));
        }
        window
    }
}

/// Number of draws of q from which units are estimated, and of those in a batch. The unit of a log scale then has an error
/// of 6 %; the largest error of many parameters is overestimated by the factor by which the smallest of their units is
/// underestimated.
const DRAWS: usize = 1_024;
const BATCH: usize = 256;

/// Units and bends per parameter, with memory to estimate them.
struct Units {
    lane: [Stream; 1],
    average: Vec<f64>,
    units: Vec<f64>,
    /// Shift of the iterates' mean by their noise, in each parameter's own coordinate.
    bends: Vec<f64>,
    limits: Limits,
    noise: Vec<f64>,
    moved: Vec<f64>,
    points: Vec<f64>,
    log_q: Vec<f64>,
    score: Vec<f64>,
    work: Vec<f64>,
}

impl Units {
    fn new<F: Family + ?Sized>(family: &F, num_params: usize, seed: Seed) -> Self {
        let zeros = || vec![0.0; family.num_params()];
        Self {
            lane: [seed.named("units").stream(0, 0)],
            average: vec![0.0; num_params],
            units: vec![1.0; num_params],
            bends: vec![0.0; num_params],
            limits: Limits::of(num_params),
            noise: zeros(),
            moved: zeros(),
            points: vec![0.0; family.dim() * BATCH],
            log_q: vec![0.0; BATCH],
            score: zeros(),
            work: vec![0.0; family.work_len(BATCH)],
        }
    }

    /// Estimates units and bends at the average of the last half of the run, from draws of q at stream addresses of their own.
    ///
    /// ```text
    /// unit_j = E_q[score_j^2]^(-1/2)
    /// bend_j = unit_j^2 |E_q[(score_j(lambda + delta) + score_j(lambda - delta)) / 2 - score_j(lambda)]|
    /// ```
    /// Here `delta` has the standard deviations of the iterates and random signs: the mean score of iterates about the
    /// optimum differs from that at their mean by the second-order term, and one step of Fisher scoring converts it to a
    /// shift. Parameters learned beside lambda keep unit 1 and bend 0.
    fn estimate<F: Family + ?Sized>(&mut self, family: &F, iterates: &Iterates, step: u64) {
        let recent = iterates.recent();
        iterates.average_into(recent, &mut self.average);
        let (dim, count) = (family.dim(), family.num_params());
        let params = &self.average[..count];
        if recent == 0 || family.check(params).is_err() {
            return;
        }
        for (j, noise) in self.noise.iter_mut().enumerate() {
            *noise = iterates.variance(j, recent).sqrt();
        }
        self.lane[0].go_to(Address::of(0, step));
        let (units, bends) = (&mut self.units[..count], &mut self.bends[..count]);
        units.fill(0.0);
        bends.fill(0.0);
        for _ in 0..DRAWS / BATCH {
            let points = batch_mut(&mut self.points, dim, BATCH);
            family.sample_into(params, &mut self.lane, points, &mut self.log_q, &mut self.work);
            let points = batch(&self.points, dim, BATCH);
            for j in 0..BATCH {
                let z = points.subcols(j, 1);
                self.score.fill(0.0);
                family.add_scores(params, z, &[1.0], &mut self.score, &mut self.work);
                for ((unit, bend), score) in units.iter_mut().zip(&mut *bends).zip(&self.score) {
                    *unit += score * score;
                    *bend -= score;
                }
                let lane = &mut self.lane[0];
                for noise in self.noise.iter_mut() {
                    *noise = if lane.uniform() < 0.5 { *noise } else { -*noise };
                }
                for side in [1.0, -1.0] {
                    let near = params.iter().zip(&self.noise).map(|(param, noise)| param + side * noise);
                    self.moved.iter_mut().zip(near).for_each(|(moved, near)| *moved = near);
                    // A lambda that is invalid for the family contributes no bend.
                    let place = if family.check(&self.moved).is_ok() { &self.moved[..] } else { params };
                    family.add_scores(place, z, &[0.5], bends, &mut self.work);
                }
            }
        }
        for (unit, bend) in units.iter_mut().zip(bends) {
            let square = DRAWS as f64 / *unit;
            *unit = square.sqrt();
            *bend = square * bend.abs() / DRAWS as f64;
        }
    }
}

/// Simultaneous confidence level of the intervals of all parameters.
const CONFIDENCE: f64 = 0.95;
/// Probability that iterates without drift pass at one window, for the largest R-hat and for the root mean square of all. A false
/// refusal costs a seventh to a quarter of the steps made so far; a missed drift gives a wrong result.
const AT_REST: [f64; 2] = [0.5, 0.8];
/// Number of parameters counted at most in intervals from the few batches of a single parameter.
const FEW: usize = 20;
/// Probability that independent blocks pass the test of independence.
const INDEPENDENT: f64 = 0.95;

/// Critical values for a number of parameters, of each kind and each number of blocks computed once: a quantile costs more than the rest
/// of a look.
#[derive(Debug)]
struct Limits {
    count: usize,
    values: [[f64; ROOM]; 5],
}

impl Limits {
    fn of(count: usize) -> Self {
        Self { count, values: [[f64::NAN; ROOM]; 5] }
    }

    fn cached(&mut self, kind: usize, blocks: usize, find: impl Fn(usize) -> f64) -> f64 {
        let value = &mut self.values[kind][blocks];
        if value.is_nan() {
            *value = find(self.count);
        }
        *value
    }

    /// Half-width in standard errors, for blocks whose long-run variance is that of batches of `longest` blocks.
    ///
    /// A variance from batches has few degrees of freedom; but its ratio to the variance from single blocks is estimated
    /// from all parameters together.
    fn half_width(&mut self, blocks: usize, longest: usize) -> f64 {
        let freedom = |count| (blocks - 1).min(count * (blocks / longest - 1)) as f64;
        self.cached(0, blocks, |count| simultaneous_quantile(CONFIDENCE, count, freedom(count)))
    }

    /// Half-width in standard errors, for a variance from `batches` batches of a single parameter. With few degrees of
    /// freedom the quantile at the level of very many parameters is far out, so at most 20 parameters are counted.
    fn half_width_alone(&mut self, batches: usize) -> f64 {
        let freedom = (batches - 1) as f64;
        self.cached(1, batches, |count| simultaneous_quantile(CONFIDENCE, count.min(FEW), freedom))
    }

    /// Limits of the largest split R-hat of a parameter, and of the root mean square over all parameters.
    fn r_hats(&mut self, blocks: usize) -> (f64, f64) {
        let largest = self.cached(2, blocks, |count| split_r_hat_limit(AT_REST[0], count, blocks));
        (largest, self.cached(3, blocks, |_| split_r_hat_limit(AT_REST[1], 1, blocks)))
    }

    /// Limit of the largest ratio, over parameters, of the long-run variance from batches of `longest` blocks to that from
    /// single blocks.
    fn ratio(&mut self, blocks: usize, longest: usize) -> f64 {
        self.cached(4, blocks, |count| batch_ratio_limit(INDEPENDENT, count, blocks, longest))
    }
}

#[cfg(test)]
mod tests {
    use mcsa_core::Seed;
    use mcsa_families::FullRank;

    use super::*;

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
    fn the_error_of_white_noise_has_a_closed_form() {
        let (iterates, mut limits) = (path(20_000, 0.0, 0.0), Limits::of(2));
        let window = iterates.best_window(&[1.0, 1.0], &[0.0; 2], &mut limits).unwrap();
        let n = iterates.length as f64 * window.blocks as f64;
        assert!((0.7..2.0).contains(&(window.half_width * n.sqrt() / 2.4)), "{window:?} {n}");
        assert!(!window.drifts() && !window.is_correlated && window.parameter == 0, "{window:?}");
        assert!((0.6..1.8).contains(&(window.bend / 2.0_f64.sqrt())), "{window:?}");
        // The twins: drift is detected, and so is memory longer than a block.
        let drifting = path(20_000, 1e-3, 0.0);
        assert!(drifting.best_window(&[1.0, 1.0], &[0.0; 2], &mut limits).unwrap().drifts());
        assert!(!drifting.rests(&mut limits));
        let window = path(4_000, 0.0, 0.998).best_window(&[1.0, 1.0], &[0.0; 2], &mut limits).unwrap();
        assert!(window.drifts() || window.is_correlated, "{window:?}");
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
        holds: impl Fn(&Iterates, &WindowStatistics) -> bool,
    ) -> f64 {
        let (units, bends, mut limits) = (vec![1.0; count], vec![0.0; count], Limits::of(count));
        let mut holds_of = |seed: u64| {
            let mut stream = Seed::new(seed).stream(0, 0);
            let iterates = blocks(count, |j, k| mean(j, k) + stream.normal());
            holds(&iterates, &iterates.statistics_of(48, &units, &bends, &mut limits))
        };
        let windows = if count < 100 { 400 } else { 100 };
        (0..windows).filter(|seed| holds_of(*seed)).count() as f64 / windows as f64
    }

    /// Blocks without drift are refused at the stated level, one half, for any number of parameters; five standard errors
    /// of 100 windows are allowed. A fixed limit of 1.1 refuses nearly all windows of 300 parameters.
    #[test]
    fn rest_is_refused_as_often_for_many_parameters() {
        for count in [1, 10, 300] {
            let refused = share(count, |_, _| 0.0, |_, window| window.drifts());
            assert!((0.25..0.75).contains(&refused), "{count}: {refused}");
            let is_correlated = share(count, |_, _| 0.0, |_, window| window.is_correlated);
            assert!(is_correlated < 0.16, "{count}: {is_correlated}");
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
        let all = |count| share(count, |_, k| drift(0.6)(k), |_, window| window.drifts());
        assert!(all(1) < 0.8 && all(300) > 0.95, "{} {}", all(1), all(300));
        let one =
            |size| share(100, |j, k| if j == 7 { drift(size)(k) } else { 0.0 }, |_, window| window.drifts());
        assert!(one(5.0) > 0.99, "{}", one(5.0));
        let waves = |j: usize, k: usize| 1.5 * f64::sin(0.4 * k as f64 + j as f64);
        assert!(share(100, waves, |_, window| window.is_correlated) > 0.99);
        let wave = |j, k| if j == 7 { 4.0 * waves(j, k) } else { 0.0 };
        let seen = share(100, wave, |_, window| window.is_correlated);
        assert!(seen > 0.99, "{seen}");
    }

    /// The intervals hold for all parameters at once, at the stated confidence or above. The largest of many is at most
    /// twice as wide as exact variances would make it. With the t quantile of 11 batches, which 300 parameters require at 1
    /// - 8e-5, it would be three times as wide.
    #[test]
    fn intervals_hold_at_once() {
        for (count, quantile) in [(1, 1.96), (10, 2.81), (300, 3.76)] {
            let outside = |iterates: &Iterates, window: &WindowStatistics| {
                let mut average = vec![0.0; count];
                iterates.average_into(48, &mut average);
                average.iter().any(|a| a.abs() > window.half_width)
            };
            let missed = share(count, |_, _| 0.0, outside);
            assert!(missed < 0.06, "{count}: {missed}");
            let wide = |_: &Iterates, s: &WindowStatistics| s.half_width > 2.0 * quantile / 48.0_f64.sqrt();
            let wide = share(count, |_, _| 0.0, wide);
            assert!(count < 300 || wide < 0.5, "{wide}");
        }
    }

    /// By hand: noise of variance v in every entry of the factor below its diagonal, about the unit matrix in d dimensions,
    /// shifts the mean score of each diagonal entry by `(d - 1) v`, whose Fisher information is 2: by `(d - 1) v / sqrt(2)`
    /// in units. A mean is not shifted. The twin: without noise there is no shift.
    #[test]
    fn noise_of_a_factor_bends_its_diagonal() {
        let dim = 10;
        let family = FullRank::new(dim).with_link(mcsa_families::Link::Exp);
        let factor = faer::Mat::from_fn(dim, dim, |i, j| if i == j { 1.0 } else { 0.0 });
        let optimum = family.at(&vec![0.0; dim], factor.as_ref()).unwrap();
        let (mut diagonal, mut at) = (Vec::new(), dim);
        for k in 0..dim {
            diagonal.push(at);
            at += dim - k;
        }
        let bends = |deviation: f64| {
            let (mut iterates, mut stream) = (Iterates::new(optimum.len()), Seed::new(1).stream(0, 0));
            for _ in 0..32 * 16 {
                let noise = |j: usize| if j < dim || diagonal.contains(&j) { 0.0 } else { deviation };
                let params: Vec<f64> =
                    optimum.iter().enumerate().map(|(j, p)| p + noise(j) * stream.normal()).collect();
                iterates.note(&params, None);
            }
            let mut units = Units::new(&family, optimum.len(), Seed::new(2));
            units.estimate(&family, &iterates, 1);
            let bend = |j: &usize| units.bends[*j] / units.units[*j];
            let mean = diagonal.iter().map(bend).sum::<f64>() / dim as f64;
            (mean, (0..dim).map(|j| bend(&j)).fold(0.0, f64::max))
        };
        let expected = 9.0 * 0.01 / 2.0_f64.sqrt();
        let (found, of_means) = bends(0.1);
        assert!((found / expected - 1.0).abs() < 0.15 && of_means < 0.3 * expected, "{found} {of_means}");
        assert_eq!(bends(0.0), (0.0, 0.0));
    }

    /// Degrees of freedom: one fewer than batches, of all parameters together but not more than one fewer than blocks.
    #[test]
    fn intervals_have_the_degrees_of_freedom_of_their_batches() {
        let (mut few, mut many) = (Limits::of(2), Limits::of(600));
        assert_eq!(few.half_width(32, 4), simultaneous_quantile(CONFIDENCE, 2, 14.0));
        assert_eq!(many.half_width(32, 4), simultaneous_quantile(CONFIDENCE, 600, 31.0));
        assert_eq!(few.half_width_alone(8), simultaneous_quantile(CONFIDENCE, 2, 7.0));
        assert_eq!(many.half_width_alone(8), simultaneous_quantile(CONFIDENCE, 20, 7.0));
        // A cached value is returned unchanged.
        assert_eq!(many.half_width(32, 4), simultaneous_quantile(CONFIDENCE, 600, 31.0));
    }
}
