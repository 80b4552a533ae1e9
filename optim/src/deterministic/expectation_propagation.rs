//! Expectation propagation for probit regression.

use faer::{Mat, MatRef};
use mcsa_core::numeric::scalar::{log_ndtr, ndtr_hazard};
use mcsa_core::{Error, all_finite, positive, same_length};

use super::Gaussian;

/// Expectation propagation for probit regression (Minka 2001), a baseline of (MSC, Table 1).
///
/// ```text
/// p(z) ∝ N(z; 0, s^2 I) prod_i Phi(y_i x_i' z)      y_i = +-1
/// q(z) ∝ N(z; 0, s^2 I) prod_i exp(-tau_i (x_i' z)^2 / 2 + nu_i x_i' z)
/// ```
///
/// A sweep updates the sites one by one. Let `x' z` have mean `m` and variance `v` under the cavity, which is `q` without the site
/// of the datum. Under the cavity times the true likelihood term, with `h = 1 + v`, `zeta = y m / sqrt h` and
/// `r = phi(zeta) / Phi(zeta)`, it has
///
/// ```text
/// mean  m + y v r / sqrt h,     variance  v - v^2 r (r + zeta) / h
/// ```
///
/// and `tau_i`, `nu_i` are chosen so that `q` has this mean and variance. The term depends on `z` only through `x_i' z`, so a site
/// is two numbers, and an update of `q` has rank one and costs `d^2` per datum.
///
/// The result is exact for one datum, and for data with orthogonal features. Probit terms are log concave, so variances stay
/// positive and no damping is needed. A fixed point is not the minimum of a divergence, so there is no objective to ascend:
/// expectation propagation is not an [`Optimizer`](mcsa_core::Optimizer) but returns a [`Gaussian`].
///
/// ```
/// use mcsa_optim::deterministic::ExpectationPropagation;
/// let x = faer::mat![[1.0, 0.5], [1.0, -1.0], [1.0, 2.0]];
/// let found = ExpectationPropagation::default().probit(x.as_ref(), &[1.0, 0.0, 1.0], 1.0)?;
/// assert!(found.converged && found.gaussian.mean[1] > 0.0);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectationPropagation {
    /// Largest number of passes over the data; the published table takes 2.
    pub sweeps: u64,
    /// The iteration ends after a pass that changes each natural parameter of a site by at most this number.
    pub tolerance: f64,
}

impl Default for ExpectationPropagation {
    /// 200 sweeps, tolerance `1e-10`.
    fn default() -> Self {
        Self { sweeps: 200, tolerance: 1e-10 }
    }
}

/// Result of expectation propagation.
#[derive(Debug, Clone, PartialEq)]
pub struct Propagated {
    /// The Gaussian approximation of the posterior.
    pub gaussian: Gaussian,
    /// The estimate of the log evidence.
    pub log_evidence: f64,
    /// The number of passes over the data.
    pub sweeps: u64,
    /// True if the last pass changed the sites by no more than the tolerance.
    pub converged: bool,
}

/// Site approximation: a Gaussian factor `exp(-tau f^2 / 2 + nu f)` of `f = x' z`.
#[derive(Clone, Copy, Default)]
struct Site {
    tau: f64,
    nu: f64,
}

/// Normal distribution of `x' z`.
#[derive(Clone, Copy)]
struct Projection {
    mean: f64,
    variance: f64,
}

impl Projection {
    fn without(self, site: Site) -> Self {
        let variance = 1.0 / (1.0 / self.variance - site.tau);
        Self { mean: variance * (self.mean / self.variance - site.nu), variance }
    }

    /// The site by moment matching: this cavity times the site has the mean and variance of this cavity times the term `Phi(y f)`.
    fn matched(self, y: f64) -> Site {
        let root = (1.0 + self.variance).sqrt();
        let zeta = y * self.mean / root;
        let hazard = ndtr_hazard(zeta);
        let shrink = self.variance * hazard * (hazard + zeta) / (root * root);
        // tau = 1 / (v - v shrink) - 1 / v.
        let tau = shrink / (self.variance * (1.0 - shrink));
        let mean = self.mean + y * self.variance * hazard / root;
        Site { tau, nu: mean * tau + (mean - self.mean) / self.variance }
    }

    /// Log ratio of the masses of this cavity times `Phi(y f)` and of this cavity times the site.
    fn log_scale(self, y: f64, site: Site) -> f64 {
        let Self { mean, variance } = self;
        let grown = 1.0 + variance * site.tau;
        let exponent = (mean * (2.0 * site.nu - mean * site.tau) + variance * site.nu * site.nu) / grown;
        log_ndtr(y * mean / (1.0 + variance).sqrt()) - 0.5 * (exponent - grown.ln())
    }
}

impl ExpectationPropagation {
    /// The approximation for probit regression with features `x`, one row per datum, labels 0 and 1, and prior standard deviation
    /// `s = scale` of each weight.
    ///
    /// # Errors
    /// If the number of labels is not the number of rows, a label is neither 0 nor 1, a number is not finite, the scale is not
    /// positive, or `sweeps` is 0; or if variances leave the range of doubles.
    pub fn probit(&self, x: MatRef<'_, f64>, labels: &[f64], scale: f64) -> Result<Propagated, Error> {
        let within = |error: Error| error.within("ExpectationPropagation");
        self.check(x, labels, scale).map_err(within)?;
        let dim = x.ncols();
        let rows: Vec<Vec<f64>> = (0..x.nrows()).map(|i| x.row(i).iter().copied().collect()).collect();
        let signs: Vec<f64> = labels.iter().map(|label| 2.0 * label - 1.0).collect();
        let mut q = State {
            mean: vec![0.0; dim],
            covariance: Mat::from_fn(dim, dim, |i, j| if i == j { scale * scale } else { 0.0 }),
            log_det: 0.0,
            column: vec![0.0; dim],
        };
        let mut sites = vec![Site::default(); rows.len()];
        let (mut sweeps, mut converged) = (0, false);
        while sweeps < self.sweeps && !converged {
            let mut moved = 0.0_f64;
            for ((row, y), site) in rows.iter().zip(&signs).zip(&mut sites) {
                let here = q.project(row);
                // Features that are all zero carry no information about z.
                if here.variance == 0.0 {
                    continue;
                }
                let new = here.without(*site).matched(*y);
                let (tau, nu) = (new.tau - site.tau, new.nu - site.nu);
                q.multiply(Site { tau, nu }, here);
                // A maximum would drop a NaN.
                let is_finite = tau.is_finite() && nu.is_finite();
                moved = if is_finite { moved.max(tau.abs()).max(nu.abs()) } else { f64::INFINITY };
                *site = new;
            }
            if !moved.is_finite() {
                return Err(within(Error::invalid(
                    "variances left the range of doubles; scale the features",
                )));
            }
            sweeps += 1;
            converged = moved <= self.tolerance;
        }
        let mut log_evidence = 0.5 * q.log_det;
        for ((row, &y), &site) in rows.iter().zip(&signs).zip(&sites) {
            let here = q.project(row);
            let outside = if here.variance == 0.0 { here } else { here.without(site) };
            // The contribution of the mean to the exponent: m' S^-1 m = sum_i nu_i x_i' m.
            log_evidence += outside.log_scale(y, site) + 0.5 * site.nu * here.mean;
        }
        let gaussian = Gaussian { mean: q.mean, covariance: q.covariance };
        Ok(Propagated { gaussian, log_evidence, sweeps, converged })
    }

    fn check(&self, x: MatRef<'_, f64>, labels: &[f64], scale: f64) -> Result<(), Error> {
        if self.sweeps == 0 {
            return Err(Error::parameter("sweeps", 0.0, "at least 1"));
        }
        positive("prior scale", scale)?;
        same_length("labels", x.nrows(), labels.len())?;
        if let Some(&label) = labels.iter().find(|&&label| label != 0.0 && label != 1.0) {
            return Err(Error::parameter("label", label, "0 or 1"));
        }
        (0..x.ncols()).try_for_each(|k| {
            let column: Vec<f64> = x.col(k).iter().copied().collect();
            all_finite("features", &column)
        })
    }
}

/// The Gaussian `q`, with updates by factors of rank one.
struct State {
    mean: Vec<f64>,
    covariance: Mat<f64>,
    /// Log determinant of the covariance minus that of the prior covariance.
    log_det: f64,
    /// The covariance times the row of the last projection.
    column: Vec<f64>,
}

impl State {
    fn project(&mut self, x: &[f64]) -> Projection {
        for (i, out) in self.column.iter_mut().enumerate() {
            *out = x.iter().enumerate().map(|(j, x)| self.covariance[(i, j)] * x).sum();
        }
        let dot = |v: &[f64]| x.iter().zip(v).map(|(x, v)| x * v).sum::<f64>();
        Projection { mean: dot(&self.mean), variance: dot(&self.column) }
    }

    /// Multiplies `q` by a factor of `x' z`, `x` being the row of the last projection, whose result was `here`.
    fn multiply(&mut self, factor: Site, here: Projection) {
        let grown = 1.0 + factor.tau * here.variance;
        let shift = (factor.nu - factor.tau * here.mean) / grown;
        for (j, &c) in self.column.iter().enumerate() {
            self.mean[j] += shift * c;
            for (i, &r) in self.column.iter().enumerate() {
                self.covariance[(i, j)] -= factor.tau / grown * r * c;
            }
        }
        self.log_det -= grown.ln();
    }
}
