//! Multi-path Pathfinder: the best Gaussians on several paths, and draws of them with importance weights.

use faer::Mat;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{MatRef, Par};
use mcsa_core::{Error, Gradient, Seed, fits_in_memory};
use serde::{Deserialize, Serialize};

use super::gaussian::cholesky;
use super::pathfinder::Transformed;
use super::{Found, Gaussian, Pathfinder};

/// Multi-path Pathfinder (Zhang, Carpenter, Gelman & Vehtari 2022, section 3.4): [`Pathfinder`] from several starts, and draws of the best
/// Gaussian of each path, to be weighted by importance.
///
/// ```text
/// start_k ~ U(-reach, reach)^d,   q_k the Gaussian of path k,   z_kj ~ q_k,   j = 1 .. draws
/// log q(z_kj) = log 1/K sum_l q_l(z_kj)  (mixture)   or   log q_k(z_kj)  (own path, as in the paper)
/// ```
/// The weights `p / q` are to be smoothed and the draws resampled: `Draws::weighted` of `mcsa-estimators`. With the mixture a path that
/// found little mass gets little weight; with their own densities all paths count equally before weighting, and weights vary more. A
/// path that fails is left out and listed in [`Paths::failures`].
///
/// Starts, noise and draws are functions of the seed and of the number of the path.
///
/// ```
/// use mcsa_core::{Gradient, LogDensity, Seed};
/// use mcsa_optim::deterministic::MultiPathfinder;
/// struct Narrow;
/// impl LogDensity for Narrow {
///     fn dim(&self) -> usize { 1 }
///     fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 { -50.0 * (z[0] - 1.0).powi(2) }
/// }
/// impl Gradient for Narrow {
///     fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
///         gradient[0] = -100.0 * (z[0] - 1.0);
///         self.log_density(z, work)
///     }
/// }
/// let paths = MultiPathfinder { paths: 4, draws: 50, ..MultiPathfinder::default() }.run(&Narrow, Seed::new(1))?;
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
    /// The density by which draws are weighted.
    pub proposal: ImportanceDensity,
}

impl Default for MultiPathfinder {
    /// 20 paths from `(-2, 2)^d`, 100 draws each, weighted by the mixture.
    fn default() -> Self {
        Self {
            pathfinder: Pathfinder::default(),
            paths: 20,
            draws: 100,
            reach: 2.0,
            proposal: ImportanceDensity::default(),
        }
    }
}

/// ImportanceDensity density of the draws of several paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImportanceDensity {
    /// The mixture of the Gaussians of all paths with equal weights.
    #[default]
    Mixture,
    /// The Gaussian of the path that made the draw.
    OwnPath,
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
    /// `log q` at each draw.
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
        if !(self.reach > 0.0 && self.reach.is_finite()) {
            let error = Error::parameter("reach", self.reach, "positive and finite");
            return Err(error.within("MultiPathfinder"));
        }
        fits_in_memory("starts", self.paths, target.dim())
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
        for (name, value) in [("paths", starts.ncols()), ("draws", self.draws)] {
            if value == 0 {
                return Err(within(Error::parameter(name, 0.0, "at least 1")));
            }
        }
        let (dim, seed) = (target.dim(), seed.named("paths"));
        fits_in_memory("draws", starts.ncols().saturating_mul(self.draws), dim).map_err(within)?;
        let (mut found, mut failures, mut drawn) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..starts.ncols() {
            let start: Vec<f64> = starts.col(k).iter().copied().collect();
            let run = self.pathfinder.run(target, &start, &mut seed.stream(k as u64, 1)).and_then(|path| {
                let mut noise = Mat::zeros(dim, self.draws);
                let mut stream = seed.stream(k as u64, 2);
                (0..self.draws).for_each(|j| stream.normals_into(noise.col_as_slice_mut(j)));
                let reason = || Error::invalid("the covariance is not positive definite");
                Ok((Transformed::new(&path.gaussian, &noise).ok_or_else(reason)?, path))
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
        let points = Mat::from_fn(dim, count, |i, j| drawn[j % paths].points[(i, j / paths)]);
        let mut log_p = vec![0.0; count];
        target.log_densities(points.as_ref(), &mut log_p, &mut vec![0.0; target.work_len(count)]);
        let log_q = match self.proposal {
            ImportanceDensity::OwnPath => (0..count).map(|j| drawn[j % paths].log_q[j / paths]).collect(),
            ImportanceDensity::Mixture => mixture(&found, &points).map_err(within)?,
        };
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
        mcsa_core::numeric::log_sum_exp(&terms) - log_paths
    };
    Ok((0..points.ncols()).map(at).collect())
}

fn log_densities(gaussian: &Gaussian, points: &Mat<f64>) -> Result<Vec<f64>, Error> {
    let llt = cholesky("covariance", gaussian.covariance.as_ref())?;
    let mut noise = Mat::from_fn(points.nrows(), points.ncols(), |i, j| points[(i, j)] - gaussian.mean[i]);
    solve_lower_triangular_in_place(llt.L(), noise.as_mut(), Par::Seq);
    Ok(super::pathfinder::log_densities_of_noise(llt.L(), &noise))
}
