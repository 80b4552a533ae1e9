//! Weighted draws of q, from families and from pushforwards.

use faer::{Mat, MatMut};
use mcsa_core::{
    Error, Estimator, Family, LogDensity, Optimizer, Parametric, Pushforward, Stream, batch, batch_mut,
    fits_in_memory, numeric, same_length,
};
use mcsa_diagnostics::importance_sample_size;
use mcsa_kernels::log_weight;

use crate::health::{BATCH, DRAWS, TailShape};
use crate::{Ascent, AscentState, Health, ParamsOrigin, TailWeight};

/// Independent draws of `q_lambda` with importance weights for p, smoothed by Pareto smoothed importance sampling (Vehtari et al.
/// 2024).
///
/// ```text
/// z_i ~ q_lambda,   log w_i = log p(z_i) - log q_lambda(z_i),   E_p[f] ~ sum_i W_i f(z_i),   sum_i W_i = 1
/// ```
/// Averages over the draws approximate expectations under p, normalised or not, as far as [`tail_weight`](Self::tail_weight) is
/// [`Light`](TailWeight::Light). Mass of p at which q never draws is missing from all of them, and the verdict on the tail does
/// not show it.
///
/// A draw at which log p is NaN or `+inf`, or log q is NaN, has weight zero and is counted in [`non_finite`](Self::non_finite).
#[derive(Debug, Clone, PartialEq)]
pub struct Draws {
    /// The draws, one per column.
    pub points: Mat<f64>,
    /// `log p` at each draw, as the target returned it.
    pub log_p: Vec<f64>,
    /// `log q_lambda` at each draw.
    pub log_q: Vec<f64>,
    /// Logarithms of the smoothed weights `W_i`, which sum to 1; all `-inf` if p vanished at every draw.
    pub log_weights: Vec<f64>,
    /// Origin of lambda.
    pub judged: ParamsOrigin,
    /// k-hat, the shape of the weights' tail; NaN if the weights do not determine it.
    pub shape: f64,
    /// Standard error of k-hat.
    pub shape_error: f64,
    /// The k-hat up to which this number of draws suffices.
    pub shape_threshold: f64,
    /// Effective sample size `(sum w)^2 / sum w^2` of the weights before smoothing.
    pub sample_size: f64,
    /// Number of draws at which log p or log q was not a log density.
    pub non_finite: usize,
    pub(crate) tail: TailWeight,
}

impl<P, F, E, O> Ascent<'_, P, F, E, O>
where
    P: LogDensity + ?Sized,
    F: Family + ?Sized,
    E: Estimator<P, F>,
    O: Optimizer,
{
    /// Weighted draws at the lambda that a fit [recommends](Self::recommended). They cost `count` evaluations of the target and
    /// come from random streams that no step uses. The fit is only read. The same fit gives the same draws, and a larger count
    /// begins with the same ones.
    ///
    /// # Errors
    /// If the fit belongs to another seed, target, family or estimator, or `count` draws do not fit in memory.
    pub fn draws(&self, fit: &AscentState<E::State, O::State>, count: usize) -> Result<Draws, Error> {
        let (judged, params) = self.judged(fit)?;
        let (lane, params) =
            (self.seed.named("draws").stream(0, fit.step()), &params[..self.family.num_params()]);
        let draws = Draws::of(self.target, self.family, params, lane, count);
        Ok(Draws { judged, ..draws.map_err(|error| error.within("Ascent"))? })
    }
}

impl Draws {
    /// Weighted draws of a family at `params` from one random stream, without a fit.
    ///
    /// # Errors
    /// If `params` fail the check of the family, or `count` draws do not fit in memory.
    pub fn of<P, F>(target: &P, family: &F, params: &[f64], lane: Stream, count: usize) -> Result<Self, Error>
    where
        P: LogDensity + ?Sized,
        F: Family + ?Sized,
    {
        Self::while_going(target, family, params, lane, count, &|| true)
    }

    /// As [`of`](Self::of), the draws of the first batches: it ends with the batch of 1,000 after which `goes_on` is false.
    pub fn while_going<P, F>(
        target: &P,
        family: &F,
        params: &[f64],
        lane: Stream,
        count: usize,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Self, Error>
    where
        P: LogDensity + ?Sized,
        F: Family + ?Sized,
    {
        Self::by(target, family, params, count, drawn(family, params, lane), goes_on)
    }

    /// Draws by a function that fills points and `log q`.
    pub(crate) fn by<P, F>(
        target: &P,
        family: &F,
        params: &[f64],
        count: usize,
        mut draw: impl FnMut(MatMut<'_, f64>, &mut [f64], &mut [f64]),
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Self, Error>
    where
        P: LogDensity + ?Sized,
        F: Parametric + ?Sized,
    {
        family.check(params)?;
        let dim = family.dim();
        fits_in_memory("draws", count, dim)?;
        let mut work = vec![0.0; family.work_len(BATCH).max(target.work_len(BATCH))];
        let (mut points, mut log_p, mut log_q) = (Mat::zeros(dim, count), vec![0.0; count], vec![0.0; count]);
        for first in (0..count).step_by(BATCH) {
            let last = count.min(first + BATCH);
            let mut places = points.as_mut().subcols_mut(first, last - first);
            draw(places.as_mut(), &mut log_q[first..last], &mut work);
            target.log_densities(places.as_ref(), &mut log_p[first..last], &mut work);
            if last < count && !goes_on() {
                log_p.truncate(last);
                log_q.truncate(last);
                return Self::weighted(points.subcols(0, last).to_owned(), log_p, log_q);
            }
        }
        Self::weighted(points, log_p, log_q)
    }

    /// As [`of`](Self::of), for a distribution with `log q` at its own draws alone, such as an annealed path: points `z_i` and the log
    /// weights of the extended space on which q is a density.
    pub fn pushed<P, F>(
        target: &P,
        family: &F,
        params: &[f64],
        lane: Stream,
        count: usize,
    ) -> Result<Self, Error>
    where
        P: LogDensity + ?Sized,
        F: Pushforward + ?Sized,
    {
        Self::by(target, family, params, count, pushed(family, params, lane), &|| true)
    }

    /// Weighted draws from points of the caller's, one per column. `log_p` is the log density of the target at each, `log_q` that
    /// of the distribution that the points were drawn from. The points may be draws of several paths or fits, with the density of
    /// their mixture.
    ///
    /// The order of draws from several sources must not show their source, for k-hat is also estimated from the first quarter:
    /// take one of each in turn.
    ///
    /// ```
    /// use mcsa_core::Seed;
    /// use mcsa_estimators::Draws;
    /// use mcsa_optim::deterministic::{MultiPathfinder, Paths};
    /// let target = mcsa_models::Gaussian::standard(2);
    /// let finder = MultiPathfinder { paths: 4, ..MultiPathfinder::default() };
    /// let Paths { points, log_p, log_q, .. } = finder.run(&target, Seed::new(1))?;
    /// let draws = Draws::weighted(points, log_p, log_q)?;
    /// assert!(draws.len() == 400 && draws.sample_size > 390.0);
    /// # Ok::<(), mcsa_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one density of each kind per point.
    pub fn weighted(points: Mat<f64>, log_p: Vec<f64>, log_q: Vec<f64>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("weighted");
        same_length("log_p", points.ncols(), log_p.len()).map_err(refuse)?;
        same_length("log_q", points.ncols(), log_q.len()).map_err(refuse)?;
        let mut log_w = Vec::with_capacity(log_p.len());
        let non_finite = add_log_weights(&log_p, &log_q, &mut log_w);
        let shape = TailShape::of(&log_w);
        let (tail, pareto) = (shape.verdict(), shape.pareto);
        Ok(Self {
            points,
            log_p,
            log_q,
            log_weights: normalised(pareto.log_weights),
            judged: ParamsOrigin::Given,
            shape: pareto.shape,
            shape_error: pareto.standard_error,
            shape_threshold: pareto.threshold,
            sample_size: importance_sample_size(&log_w),
            non_finite,
            tail,
        })
    }

    /// Draws of chains that leave p invariant, one per column, with the effective sample size that autocorrelation leaves: q is p itself,
    /// and all weights are equal.
    ///
    /// # Errors
    /// If there is not one `log p` per point.
    pub fn of_chains(points: Mat<f64>, log_p: Vec<f64>, sample_size: f64) -> Result<Self, Error> {
        let log_q = log_p.clone();
        Ok(Self { sample_size, ..Self::weighted(points, log_p, log_q)? })
    }

    /// `log p - log q` of each draw, `-inf` where p or q is not a density: the logarithms of the weights before smoothing.
    pub fn log_ratios(&self) -> Vec<f64> {
        let mut log_w = Vec::with_capacity(self.len());
        add_log_weights(&self.log_p, &self.log_q, &mut log_w);
        log_w
    }

    /// Estimate of `log Z`, the log of the integral of p: the log of the mean weight before smoothing.
    pub fn log_evidence(&self) -> f64 {
        numeric::log_sum_exp(&self.log_ratios()) - (self.len() as f64).ln()
    }

    /// Verdict on the tail of the weights: whether averages over these draws are reliable.
    pub fn tail_weight(&self) -> TailWeight {
        self.tail
    }

    /// The number of draws.
    pub fn len(&self) -> usize {
        self.log_weights.len()
    }

    /// True if there are no draws.
    pub fn is_empty(&self) -> bool {
        self.log_weights.is_empty()
    }

    /// Weighted mean and variance of each coordinate: `m = sum_i W_i z_i`, `v = sum_i W_i (z_i - m)^2`. NaN if all weights are zero.
    pub fn moments(&self) -> (Vec<f64>, Vec<f64>) {
        let weights = self.weights();
        let total: f64 = weights.iter().sum();
        let average = |i: usize, f: &dyn Fn(f64) -> f64| {
            let points = self.points.as_ref();
            weights.iter().enumerate().map(|(j, w)| w * f(points[(i, j)])).sum::<f64>() / total
        };
        let dim = self.points.nrows();
        let mean: Vec<f64> = (0..dim).map(|i| average(i, &|z| z)).collect();
        let variance = (0..dim).map(|i| average(i, &|z| (z - mean[i]) * (z - mean[i]))).collect();
        (mean, variance)
    }

    /// Points with equal weights, one per column: the draws that [`copies`](Self::copies) names. Copies of a draw stand side by side.
    ///
    /// # Errors
    /// If all weights are zero, or the points do not fit in memory.
    pub fn resampled(&self, count: usize, stream: &mut Stream) -> Result<Mat<f64>, Error> {
        fits_in_memory("resampled points", count, self.points.nrows())?;
        let copies = self.copies(count, stream)?;
        let mut resampled = Mat::zeros(self.points.nrows(), count);
        copies.iter().enumerate().for_each(|(j, &i)| resampled.col_mut(j).copy_from(self.points.col(i)));
        Ok(resampled)
    }

    /// Indices of draws by systematic resampling, in ascending order: a draw of weight W comes `count W` times on average, never more than
    /// one time fewer or more.
    ///
    /// # Errors
    /// If all weights are zero, or the indices do not fit in memory.
    pub fn copies(&self, count: usize, stream: &mut Stream) -> Result<Vec<usize>, Error> {
        fits_in_memory("resampled points", count, 1)?;
        let weights = self.weights();
        let Some(last) = weights.iter().rposition(|w| *w > 0.0) else {
            return Err(
                Error::invalid("all weights are zero: p vanishes at every draw of q").within("resampled")
            );
        };
        let offset = stream.uniform();
        let (mut source, mut cumulated) = (0, weights[0]);
        let places = (0..count).map(|j| (j as f64 + offset) / count as f64);
        let of_place = |place: f64| {
            while cumulated < place && source < last {
                source += 1;
                cumulated += weights[source];
            }
            source
        };
        Ok(places.map(of_place).collect())
    }

    /// The smoothed weights, which sum to 1 unless all are zero.
    pub fn weights(&self) -> Vec<f64> {
        self.log_weights.iter().map(|w| w.exp()).collect()
    }
}

impl<P, F, E, O> Ascent<'_, P, F, E, O>
where
    P: LogDensity + ?Sized,
    F: Pushforward + ?Sized,
    E: Estimator<P, F>,
    O: Optimizer,
{
    /// Weighted draws at the lambda that a fit [recommends](Self::recommended), of a family with `log q` at its own draws alone:
    /// [`draws`](Self::draws) for flows without an inverse and for annealed paths.
    pub fn pushed_draws(&self, fit: &AscentState<E::State, O::State>, count: usize) -> Result<Draws, Error> {
        let (judged, params) = self.judged(fit)?;
        let lane = self.seed.named("draws").stream(0, fit.step());
        let params = &params[..self.family.num_params()];
        let draws = Draws::pushed(self.target, self.family, params, lane, count);
        Ok(Draws { judged, ..draws.map_err(|error| error.within("Ascent"))? })
    }

    /// As [`health`](Self::health), for a family with `log q` at its own draws alone, such as an annealed path; with the numbers of
    /// clipped step sizes of the path.
    pub fn pushed_health(&self, fit: &AscentState<E::State, O::State>) -> Result<Health, Error> {
        let (judged, params) = self.judged(fit)?;
        let params = &params[..self.family.num_params()];
        let draw = pushed(self.family, params, self.seed.named("health").stream(0, fit.step()));
        let health = self.judge_by(fit, judged, &DRAWS, &[], (Vec::new(), &mut |_| usize::MAX), draw);
        let health = health.expect("a report in one piece is not stopped");
        let step_sizes = self.family.step_sizes(params, &mut vec![0.0; self.family.work_len(1)]);
        Ok(Health { step_sizes: Some(step_sizes).filter(|sizes| sizes.steps > 0), ..health })
    }
}

/// Function that fills points with draws of a family from one random stream, and their `log q`.
pub(crate) fn drawn<F: Family + ?Sized>(
    family: &F,
    params: &[f64],
    lane: Stream,
) -> impl FnMut(MatMut<'_, f64>, &mut [f64], &mut [f64]) {
    let mut lane = [lane];
    move |z, log_q, work| family.sample_into(params, &mut lane, z, log_q, work)
}

/// As [`drawn`], of a distribution with `log q` at its own draws alone.
fn pushed<F: Pushforward + ?Sized>(
    family: &F,
    params: &[f64],
    lane: Stream,
) -> impl FnMut(MatMut<'_, f64>, &mut [f64], &mut [f64]) {
    let (mut lane, rows, mut noise) = ([lane], family.noise_dim(), Vec::new());
    move |z, log_q, work| {
        noise.resize(rows * log_q.len(), 0.0);
        family.sample_noise_into(&mut lane, batch_mut(&mut noise, rows, log_q.len()));
        family.push(params, batch(&noise, rows, log_q.len()), z, log_q, work);
    }
}

/// Appends `log p - log q`, with `-inf` (zero weight) where p or q is not a density; returns the number of such faults.
pub(crate) fn add_log_weights(log_p: &[f64], log_q: &[f64], log_w: &mut Vec<f64>) -> usize {
    let mut broken = 0;
    log_w.extend(log_p.iter().zip(log_q).map(|(&log_p, &log_q)| {
        log_weight(log_p, log_q).unwrap_or_else(|| {
            broken += 1;
            f64::NEG_INFINITY
        })
    }));
    broken
}

/// Log weights whose exponentials sum to 1, unless all are zero.
pub(crate) fn normalised(mut log_weights: Vec<f64>) -> Vec<f64> {
    let top = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top.is_finite() {
        let log_sum = top + log_weights.iter().map(|w| (w - top).exp()).sum::<f64>().ln();
        log_weights.iter_mut().for_each(|w| *w -= log_sum);
    }
    log_weights
}

#[cfg(test)]
mod tests {
    use mcsa_core::{Seed, from_fn};
    use mcsa_families::MeanField;
    use mcsa_models::Gaussian;
    use mcsa_optim::Adam;

    use super::*;
    use crate::pmcsa;

    fn draws_at(target: &impl LogDensity, mean: &[f64], scales: &[f64], count: usize) -> Draws {
        let family = MeanField::new(mean.len());
        let params = family.at(mean, scales).unwrap();
        Draws::of(target, &family, &params, Seed::new(7).stream(0, 0), count).unwrap()
    }

    /// At q = p all weights are 1/n, and what is weighted is what is not.
    #[test]
    fn draws_of_the_target_have_equal_weights() {
        let draws = draws_at(&Gaussian::standard(3), &[0.0; 3], &[1.0; 3], 2_500);
        assert_eq!((draws.len(), draws.judged, draws.non_finite), (2_500, ParamsOrigin::Given, 0));
        assert!((draws.sample_size - 2_500.0).abs() < 1e-6);
        assert!(draws.weights().iter().all(|w| (w * 2_500.0 - 1.0).abs() < 1e-9));
        assert_eq!(draws.resampled(2_500, &mut Seed::new(1).stream(0, 0)).unwrap(), draws.points);
    }

    /// A q that is off by 0.4 and 1.3 times too wide, for p times e^5: weighted averages have errors of about 0.02 and are held to 0.1,
    /// five of these; the draws without their weights are off by 0.4 and 0.69. The log densities are exact.
    #[test]
    fn weights_turn_draws_of_q_into_draws_of_p() {
        let normal = Gaussian::standard(1);
        let raised = from_fn(1, |z| normal.log_density(z, &mut [0.0; 1]) + 5.0);
        let draws = draws_at(&raised, &[0.4], &[1.3], 5_000);
        let (mean, variance) = draws.moments();
        assert!(mean[0].abs() < 0.1 && (variance[0] - 1.0).abs() < 0.1, "{mean:?} {variance:?}");
        let plain = draws.points.row(0).iter().sum::<f64>() / 5_000.0;
        assert!(plain > 0.3, "{plain}");
        assert_eq!(draws.tail_weight(), TailWeight::Light, "{} +- {}", draws.shape, draws.shape_error);
        assert!((draws.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let resampled = draws.resampled(4_000, &mut Seed::new(1).stream(0, 0)).unwrap();
        let mean = resampled.row(0).iter().sum::<f64>() / 4_000.0;
        assert!(mean.abs() < 0.1, "{mean}");
        // Each draw has its share of copies, up to one.
        let weights = draws.weights();
        for seed in 0..20 {
            let resampled = draws.resampled(700, &mut Seed::new(seed).stream(0, 0)).unwrap();
            let mut next = 0;
            for (j, weight) in weights.iter().enumerate() {
                let copies = (next..700).take_while(|&k| resampled[(0, k)] == draws.points[(0, j)]).count();
                assert!((copies as f64 - 700.0 * weight).abs() < 1.0, "{copies} of {}", 700.0 * weight);
                next += copies;
            }
            assert_eq!(next, 700);
        }
        // The integral of p is e^5; the error of the mean weight is a hundredth.
        assert!((draws.log_evidence() - 5.0).abs() < 0.05, "{}", draws.log_evidence());
        for j in [0, 4_999] {
            let z = draws.points[(0, j)];
            let expected = 5.0 - 0.5 * z * z - 0.5 * (2.0 * std::f64::consts::PI).ln();
            assert!((draws.log_p[j] - expected).abs() < 1e-12);
        }
    }

    /// NaN on one side: these draws have weight zero and are counted. NaN everywhere: nothing is left, and it is said.
    #[test]
    fn draws_without_a_density_have_no_weight() {
        let holed = |hole: f64| from_fn(1, move |z| if z[0] > hole { f64::NAN } else { -0.5 * z[0] * z[0] });
        let draws = draws_at(&holed(0.5), &[0.0], &[1.0], 1_500);
        let beyond = (0..1_500).filter(|&j| draws.points[(0, j)] > 0.5).count();
        assert!(beyond > 300 && draws.non_finite == beyond);
        let resampled = draws.resampled(100, &mut Seed::new(1).stream(0, 0)).unwrap();
        assert!(resampled.row(0).iter().all(|z| *z <= 0.5));
        let draws = draws_at(&holed(f64::NEG_INFINITY), &[0.0], &[1.0], 50);
        assert_eq!(draws.non_finite, 50);
        assert!(draws.moments().0[0].is_nan());
        let error = draws.resampled(5, &mut Seed::new(1).stream(0, 0)).unwrap_err().to_string();
        assert!(error.contains("all weights"), "{error}");
        assert_eq!(draws.tail_weight(), TailWeight::NotKnown);
    }

    /// The same fit gives the same draws, more of them begin with the same ones, and the fit stays as it was.
    #[test]
    fn drawing_moves_nothing() {
        let (target, family) = (Gaussian::standard(2), MeanField::new(2));
        let (estimator, optimizer, seed) = (pmcsa(4), Adam::new(0.1).unwrap(), Seed::new(7));
        let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed };
        let mut fit = ascent.start(vec![0.0; 4]).unwrap();
        ascent.run(&mut fit, 20).unwrap();
        let before = fit.clone();
        let (few, many) = (ascent.draws(&fit, 1_200).unwrap(), ascent.draws(&fit, 2_400).unwrap());
        assert_eq!(few, ascent.draws(&fit, 1_200).unwrap());
        assert_eq!(few.points, many.points.as_ref().subcols(0, 1_200).to_owned());
        assert_eq!((few.judged, &fit), (ParamsOrigin::LastIterate, &before));
        assert!(ascent.draws(&fit, usize::MAX).is_err() && ascent.draws(&fit, 0).unwrap().is_empty());
        let error = Draws::weighted(few.points, few.log_p[1..].to_vec(), few.log_q).unwrap_err().to_string();
        assert_eq!(error, "weighted: log_p has length 1199, expected 1200");
    }
}
