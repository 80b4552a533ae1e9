//! Pathfinder: the best Gaussian on the path of an optimiser to a mode, and the best ones on several paths with weighted draws.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, MatRef, Par};
use mcsa_core::{Error, Gradient, Seed, Stream, at_least_one, fits_in_memory, numeric, positive};
use serde::{Deserialize, Serialize};

use super::laplace::cholesky;
use super::lbfgs::Metric;
use super::{Gaussian, Lbfgs, Maximum, Outcome};

/// Pathfinder (Zhang, Carpenter, Gelman & Vehtari 2022): a Gaussian starting point for a fit, from the path of L-BFGS to a mode.
///
/// ```text
/// at each iterate z of L-BFGS:   N(z + S g, S),   S the inverse curvature estimated along the path, g = d/dz log p(z)
/// elbo = mean over draws of log p - log q;   the Gaussian with the largest is kept
/// ```
/// If the mode is far from the mass of the target, the best Gaussian lies before the end of the path. The start of the path, with
/// S the identity, is a candidate too, so a start at the mode needs no special treatment. There are three differences from the
/// paper:
///
/// * The draws of all iterates share their noise, so that their ELBOs are compared at equal noise.
/// * S is formed as a matrix, at a cost of `d^2` per stored step and `d^3` per iterate, for dimensions up to some hundreds.
/// * Where [`Lbfgs::mode`] has scaled its coordinates, S begins at the inverse curvature found there.
///
/// ```
/// use mcsa_core::{Seed, from_fn};
/// use mcsa_optim::deterministic::Pathfinder;
/// let narrow = from_fn(1, |z| -50.0 * (z[0] - 1.0).powi(2)).with_gradient(|z, slope| slope[0] = -100.0 * (z[0] - 1.0));
/// let found = Pathfinder::default().run(&narrow, &[5.0], &mut Seed::new(1).stream(0, 0))?;
/// assert!(found.has_curvature && found.peak.clone().converged().is_ok());
/// assert!((found.gaussian.mean[0] - 1.0).abs() < 1e-6 && (found.gaussian.scales()[0] - 0.1).abs() < 1e-6);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pathfinder {
    /// The optimiser whose path is used.
    pub lbfgs: Lbfgs,
    /// Number of draws for the ELBO of each Gaussian.
    pub draws: usize,
    /// Number of the latest steps from which the curvature is estimated.
    pub memory: usize,
}

impl Default for Pathfinder {
    /// Memory 6, as in the paper; 20 draws for each Gaussian, whereas the paper takes 5.
    fn default() -> Self {
        Self { lbfgs: Lbfgs::default(), draws: 20, memory: 6 }
    }
}

/// Result of [`Pathfinder`]: the best Gaussian, and the end of the path.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The Gaussian with the largest ELBO.
    pub gaussian: Gaussian,
    /// Its estimated ELBO: a lower bound of the log of the target's mass, up to Monte Carlo error.
    pub elbo: f64,
    /// The number of the iterate at which the Gaussian was formed; the start is 0.
    pub iterate: usize,
    /// The end of the path and the reason for it. If the [`Outcome`] is not `Converged`, the target may be improper or its
    /// gradient wrong. A proper target may also lack a maximum: a funnel has an infinite peak away from its mass.
    pub peak: Maximum,
    /// The number of evaluations of the density: with a gradient along the path, without one for the ELBOs. After a stall, those
    /// of the check of the gradient's signs are included.
    pub evaluations: u64,
    /// False if the covariance is the identity, because no step of the path gave an estimate of the curvature: the start is a mode, or
    /// the target is flat.
    pub has_curvature: bool,
}

/// Estimate of the inverse curvature: the latest steps between iterates, and a diagonal.
struct Curve {
    memory: usize,
    steps: Vec<(Vec<f64>, Vec<f64>)>,
    diagonal: Vec<f64>,
    /// The inverse curvature at the last scaling of the coordinates, which takes the place of the diagonal.
    base: Option<Mat<f64>>,
}

/// Iterate of a path, its gradient, and the inverse curvature if coordinates were scaled there.
struct Iterate {
    number: usize,
    point: Vec<f64>,
    gradient: Vec<f64>,
    base: Option<Mat<f64>>,
}

impl Pathfinder {
    /// The best Gaussian on the path from `start`.
    ///
    /// # Errors
    /// * [`Lbfgs::mode`] fails, or `draws` or `memory` is 0.
    /// * No Gaussian of the path has a finite ELBO.
    /// * The maximisation stalled where a coordinate of the gradient has the wrong sign.
    /// * The outcome is [`Outcome::Unbounded`] and the ELBO is largest at the end of the path: the mass lies at infinity.
    ///
    /// Smaller problems are in [`Found::peak`] and [`Found::has_curvature`].
    pub fn run<P: Gradient + ?Sized>(
        &self,
        target: &P,
        start: &[f64],
        stream: &mut Stream,
    ) -> Result<Found, Error> {
        let within = |error: Error| error.within("Pathfinder");
        at_least_one("draws", self.draws).map_err(within)?;
        at_least_one("memory", self.memory).map_err(within)?;
        let dim = target.dim();
        fits_in_memory("draws", self.draws, dim.max(1)).map_err(within)?;
        mcsa_core::same_length("start", dim, start.len()).map_err(within)?;
        let mut path: Vec<Iterate> = Vec::new();
        let mut work = vec![0.0; target.work_len(self.draws)];
        let mut objective = |z: &[f64], gradient: &mut [f64]| target.gradient_into(z, gradient, &mut work);
        let mut watch = |z: &[f64], gradient: &[f64], metric: Option<&Metric>| {
            let number = path.last().map_or(0, |last| last.number + usize::from(last.point != z));
            let base = metric.map(Metric::covariance);
            path.push(Iterate { number, point: z.to_vec(), gradient: gradient.to_vec(), base });
        };
        let peak = self.lbfgs.climb(&mut objective, start, &mut watch).map_err(within)?;

        let mut evaluations = peak.evaluations;
        if peak.outcome == Outcome::Stalled {
            check_signs(target, &peak.point, &mut work).map_err(within)?;
            evaluations += 6 * dim as u64 + 1;
        }

        let (noise, mut log_p) = (noise(dim, self.draws, stream), vec![0.0; self.draws]);
        let mut curve =
            Curve { memory: self.memory, steps: Vec::new(), diagonal: vec![1.0; dim], base: None };
        let mut best: Option<(Gaussian, f64, usize)> = None;
        let mut last = 0;
        for (k, here) in path.iter().enumerate() {
            if let Some(before) = k.checked_sub(1).map(|before| &path[before]) {
                let step = difference(&here.point, &before.point);
                curve.learn(&step, &difference(&before.gradient, &here.gradient));
            }
            if let Some(base) = &here.base {
                (curve.base, curve.steps) = (Some(base.clone()), Vec::new());
            }
            let gaussian = curve.gaussian(&here.point, &here.gradient);
            let Some((points, log_q)) = transformed(&gaussian, &noise) else { continue };
            evaluations += self.draws as u64;
            target.log_densities(points.as_ref(), &mut log_p, &mut work);
            let total: f64 = log_p.iter().zip(&log_q).map(|(log_p, log_q)| log_p - log_q).sum();
            let elbo = total / self.draws as f64;
            if !elbo.is_finite() {
                continue;
            }
            last = here.number;
            if best.as_ref().is_none_or(|(_, highest, _)| elbo > *highest) {
                best = Some((gaussian, elbo, here.number));
            }
        }
        let reason = "no Gaussian of the path has a finite ELBO; start elsewhere";
        let (gaussian, elbo, iterate) = best.ok_or_else(|| within(Error::invalid(reason)))?;
        if peak.outcome == Outcome::Unbounded && iterate == last {
            let reason = "the log density has no maximum, and the ELBO is largest at the end of the path: the target is improper, or \
                          its mass lies at infinity";
            return Err(within(Error::invalid(reason)));
        }
        let has_curvature = !curve.steps.is_empty() || curve.base.is_some();
        Ok(Found { gaussian, elbo, iterate, peak, evaluations, has_curvature })
    }
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

impl Curve {
    /// Updates the estimate with the step `s` and the decrease `y` of the gradient along it, unless they show no positive
    /// curvature. The update of the diagonal is that of Gilbert & Lemaréchal (1989), as in the paper.
    fn learn(&mut self, s: &[f64], y: &[f64]) {
        let b: f64 = s.iter().zip(y).map(|(s, y)| s * y).sum();
        let square: f64 = y.iter().map(|y| y * y).sum();
        if !(b > 1e-12 * square && b.is_finite()) {
            return;
        }
        let a: f64 = self.diagonal.iter().zip(y).map(|(alpha, y)| alpha * y * y).sum();
        let c: f64 = self.diagonal.iter().zip(s).map(|(alpha, s)| s * s / alpha).sum();
        for ((alpha, s), y) in self.diagonal.iter_mut().zip(s).zip(y) {
            let inverse = a / (b * *alpha) + y * y / b - a * s * s / (b * c * *alpha * *alpha);
            if inverse > 0.0 && inverse.is_finite() {
                *alpha = inverse.recip();
            }
        }
        if self.steps.len() == self.memory {
            self.steps.remove(0);
        }
        self.steps.push((s.to_vec(), y.to_vec()));
    }

    /// The Gaussian `N(z + S g, S)`. S starts as the diagonal, or the inverse curvature of a scaling, and is updated with each stored step:
    /// `S <- (I - s y^T / b) S (I - y s^T / b) + s s^T / b`.
    fn gaussian(&self, z: &[f64], gradient: &[f64]) -> Gaussian {
        let dim = z.len();
        let diagonal = || Mat::from_fn(dim, dim, |i, j| if i == j { self.diagonal[i] } else { 0.0 });
        let mut inverse = self.base.clone().unwrap_or_else(diagonal);
        for (s, y) in &self.steps {
            let b: f64 = s.iter().zip(y).map(|(s, y)| s * y).sum();
            let image: Vec<f64> = (0..dim).map(|i| (0..dim).map(|j| inverse[(i, j)] * y[j]).sum()).collect();
            let inner: f64 = image.iter().zip(y).map(|(image, y)| image * y).sum();
            let along = (1.0 + inner / b) / b;
            for j in 0..dim {
                for i in 0..dim {
                    inverse[(i, j)] += along * s[i] * s[j] - (s[i] * image[j] + image[i] * s[j]) / b;
                }
            }
        }
        let shift = |i: usize| (0..dim).map(|j| inverse[(i, j)] * gradient[j]).sum::<f64>();
        Gaussian { mean: (0..dim).map(|i| z[i] + shift(i)).collect(), covariance: inverse }
    }
}

/// Standard normal noise, one draw per column.
fn noise(dim: usize, draws: usize, stream: &mut Stream) -> Mat<f64> {
    let mut noise = Mat::zeros(dim, draws);
    (0..draws).for_each(|j| stream.normals_into(noise.col_as_slice_mut(j)));
    noise
}

/// Draws of a Gaussian by the transformation of noise, one per column, and their log densities; `None` if the covariance is not
/// positive definite.
fn transformed(gaussian: &Gaussian, noise: &Mat<f64>) -> Option<(Mat<f64>, Vec<f64>)> {
    let llt = cholesky("covariance", gaussian.covariance.as_ref()).ok()?;
    let mut points = llt.L() * noise;
    for j in 0..noise.ncols() {
        points.col_as_slice_mut(j).iter_mut().zip(&gaussian.mean).for_each(|(z, mean)| *z += mean);
    }
    Some((points, log_densities_of_noise(llt.L(), noise)))
}

/// Log densities of the images under a lower triangular factor of standard normal noise.
fn log_densities_of_noise(factor: MatRef<'_, f64>, noise: &Mat<f64>) -> Vec<f64> {
    let dim = noise.nrows();
    let log_norm =
        (0..dim).map(|k| factor[(k, k)].ln()).sum::<f64>() + 0.5 * dim as f64 * std::f64::consts::TAU.ln();
    let square = |j: usize| noise.col_as_slice(j).iter().map(|e| e * e).sum::<f64>();
    (0..noise.ncols()).map(|j| -0.5 * square(j) - log_norm).collect()
}

/// Widths of the differences, relative to the coordinate or to 1.
const WIDTHS: [f64; 3] = [1e-3, 1e-5, 1e-7];

/// `Ok` unless a coordinate of the gradient has the wrong sign at `z`; costs a gradient and `6 d` evaluations.
///
/// A sign is wrong if, for at least two widths, the finite difference of the log density is within a factor of two of minus the
/// coordinate, and larger than rounding.
fn check_signs<P: Gradient + ?Sized>(target: &P, z: &[f64], work: &mut [f64]) -> Result<(), Error> {
    let mut gradient = vec![0.0; z.len()];
    target.gradient_into(z, &mut gradient, work);
    let mut moved = z.to_vec();
    for (k, &slope) in gradient.iter().enumerate() {
        let mut difference = |width: f64| {
            let width = width * z[k].abs().max(1.0);
            moved[k] = z[k] + width;
            let ahead = target.log_density(&moved, work);
            moved[k] = z[k] - width;
            let behind = target.log_density(&moved, work);
            moved[k] = z[k];
            let rounding = 64.0 * f64::EPSILON * ahead.abs().max(behind.abs());
            // Written so that NaN does not count as a wrong sign.
            ((ahead - behind).abs() > rounding).then(|| (ahead - behind) / (2.0 * width))
        };
        let opposed = |found: &f64| (0.5..=2.0).contains(&(-found / slope));
        let against: Vec<f64> =
            WIDTHS.iter().filter_map(|width| difference(*width)).filter(opposed).collect();
        if let [.., found] = against[..]
            && against.len() > 1
        {
            return Err(Error::invalid(format!(
                "the gradient has the wrong sign: its coordinate {k} is {slope:e}, and differences of the log density give {found:e}"
            )));
        }
    }
    Ok(())
}

/// Multi-path Pathfinder (Zhang, Carpenter, Gelman & Vehtari 2022, section 3.4): [`Pathfinder`] from several starts, and draws of the best
/// Gaussian of each path, to be weighted by importance.
///
/// ```text
/// start_k ~ U(-reach, reach)^d,   q_k the Gaussian of path k,   z_kj ~ q_k,   j = 1 .. draws
/// log q(z_kj) = log 1/K sum_l q_l(z_kj)
/// ```
/// The weights `p / q` still have to be smoothed, and the draws resampled: see `Draws::weighted` of `mcsa-estimators`. As q is
/// the mixture, draws of a path that found little mass get little weight. In the paper each draw has the density of its own path,
/// and all paths count equally before weighting. A path that fails is left out and listed in [`Paths::failures`].
///
/// Starts, noise and draws are functions of the seed and of the number of the path.
///
/// ```
/// use mcsa_core::{Seed, from_fn};
/// use mcsa_optim::deterministic::MultiPathfinder;
/// let narrow = from_fn(1, |z| -50.0 * (z[0] - 1.0).powi(2)).with_gradient(|z, slope| slope[0] = -100.0 * (z[0] - 1.0));
/// let paths = MultiPathfinder { paths: 4, draws: 50, ..MultiPathfinder::default() }.run(&narrow, Seed::new(1))?;
/// assert_eq!((paths.found.len(), paths.points.ncols(), paths.failures.len()), (4, 200, 0));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MultiPathfinder {
    /// The search along each path.
    pub pathfinder: Pathfinder,
    /// Number of paths.
    pub paths: usize,
    /// Number of draws of the Gaussian of each path.
    pub draws: usize,
    /// Half the width of the cube from which starts are drawn uniformly.
    pub reach: f64,
}

impl Default for MultiPathfinder {
    /// 20 paths from `(-2, 2)^d`, 100 draws each.
    fn default() -> Self {
        Self { pathfinder: Pathfinder::default(), paths: 20, draws: 100, reach: 2.0 }
    }
}

/// Result of [`MultiPathfinder`]: the paths that succeeded, and their draws.
#[must_use = "paths may have failed"]
#[derive(Debug, Clone, PartialEq)]
pub struct Paths {
    /// The results of the paths that succeeded, in the order of their numbers.
    pub found: Vec<Found>,
    /// The numbers of the paths that failed, and the reasons.
    pub failures: Vec<(usize, Error)>,
    /// The draws, one per column: one of each path in turn.
    pub points: Mat<f64>,
    /// `log p` at each draw, as the target returned it.
    pub log_p: Vec<f64>,
    /// Log density at each draw of the mixture of the Gaussians of all paths with equal weights.
    pub log_q: Vec<f64>,
    /// The number of evaluations of the density, with and without gradient, those of failed paths not counted.
    pub evaluations: u64,
}

impl MultiPathfinder {
    /// Paths from starts drawn uniformly.
    ///
    /// # Errors
    /// As [`run_from`](Self::run_from), and if the reach is not positive and finite.
    pub fn run<P: Gradient + ?Sized>(&self, target: &P, seed: Seed) -> Result<Paths, Error> {
        positive("reach", self.reach)
            .and_then(|()| fits_in_memory("starts", self.paths, target.dim()))
            .map_err(|error| error.within("MultiPathfinder"))?;
        let mut starts = Mat::zeros(target.dim(), self.paths);
        for k in 0..self.paths {
            let mut stream = seed.named("paths").stream(k as u64, 0);
            let start = starts.col_as_slice_mut(k).iter_mut();
            start.for_each(|z| *z = self.reach * (2.0 * stream.uniform() - 1.0));
        }
        self.run_from(target, starts.as_ref(), seed)
    }

    /// Paths from the columns of `starts`; [`paths`](Self::paths) and [`reach`](Self::reach) are not used.
    ///
    /// # Errors
    /// If all paths fail, with the reason of the first; if there are no starts or no draws, or they do not fit in memory.
    pub fn run_from<P: Gradient + ?Sized>(
        &self,
        target: &P,
        starts: MatRef<'_, f64>,
        seed: Seed,
    ) -> Result<Paths, Error> {
        let within = |error: Error| error.within("MultiPathfinder");
        at_least_one("paths", starts.ncols()).map_err(within)?;
        at_least_one("draws", self.draws).map_err(within)?;
        let (dim, seed) = (target.dim(), seed.named("paths"));
        fits_in_memory("draws", starts.ncols().saturating_mul(self.draws), dim).map_err(within)?;
        let (mut found, mut failures, mut drawn) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..starts.ncols() {
            let start: Vec<f64> = starts.col(k).iter().copied().collect();
            let run = self.pathfinder.run(target, &start, &mut seed.stream(k as u64, 1)).and_then(|path| {
                let noise = noise(dim, self.draws, &mut seed.stream(k as u64, 2));
                let reason = || Error::invalid("the covariance is not positive definite");
                Ok((transformed(&path.gaussian, &noise).ok_or_else(reason)?.0, path))
            });
            match run {
                Ok((draws, path)) => {
                    drawn.push(draws);
                    found.push(path);
                }
                Err(error) => failures.push((k, error)),
            }
        }
        if found.is_empty() {
            let (_, error) = failures.swap_remove(0);
            return Err(within(error.within(format!("all {} paths failed; the first", starts.ncols()))));
        }
        let (paths, count) = (found.len(), found.len() * self.draws);
        let points = Mat::from_fn(dim, count, |i, j| drawn[j % paths][(i, j / paths)]);
        let mut log_p = vec![0.0; count];
        target.log_densities(points.as_ref(), &mut log_p, &mut vec![0.0; target.work_len(count)]);
        let log_q = mixture(&found, &points).map_err(within)?;
        let evaluations = found.iter().map(|path| path.evaluations).sum::<u64>() + count as u64;
        Ok(Paths { found, failures, points, log_p, log_q, evaluations })
    }
}

/// Log density of the mixture of the Gaussians of all paths, at each column.
fn mixture(found: &[Found], points: &Mat<f64>) -> Result<Vec<f64>, Error> {
    let each =
        found.iter().map(|path| log_densities(&path.gaussian, points)).collect::<Result<Vec<_>, _>>()?;
    let log_paths = (found.len() as f64).ln();
    let at = |j: usize| {
        let terms: Vec<f64> = each.iter().map(|log_q| log_q[j]).collect();
        numeric::log_sum_exp(&terms) - log_paths
    };
    Ok((0..points.ncols()).map(at).collect())
}

fn log_densities(gaussian: &Gaussian, points: &Mat<f64>) -> Result<Vec<f64>, Error> {
    let llt = cholesky("covariance", gaussian.covariance.as_ref())?;
    let mut noise = Mat::from_fn(points.nrows(), points.ncols(), |i, j| points[(i, j)] - gaussian.mean[i]);
    solve_lower_triangular_in_place(llt.L(), noise.as_mut(), Par::Seq);
    Ok(log_densities_of_noise(llt.L(), &noise))
}
