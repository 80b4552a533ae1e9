//! Elliptical slice sampling kernel and its Gaussian prior.

use std::f64::consts::TAU;

use faer::{Mat, MatRef};
use mcsa_core::numeric::linear::Triangle;
use mcsa_core::{
    Columns, Ensemble, Error, Kernel, LogDensity, Metric, Proposal, Record, Stream, all_finite, at_least_one,
    batch, borrow, same_length,
};

use crate::Reversible;

/// Elliptical slice sampling: a chain moves along the ellipse through its state and a draw of the Gaussian prior.
///
/// ```text
/// nu ~ N(0, Sigma),   log y = log L(z) + log u,   log L = log p - log N(mean, Sigma),
/// z' = mean + (z - mean) cos t + nu sin t,   t uniform on a bracket that shrinks until log L(z') > log y
/// ```
///
/// Invariant for p (Murray, Adams & MacKay 2010), and free of tuning. The likelihood is the target's posterior density
/// divided by the kernel's prior, so any `LogDensity` can be the target; a prior other than the target's costs speed, not
/// correctness. The proposals of all chains whose search is not over form one batch.
///
/// Unlike the paper, a bracket shrinks at most `max_shrinks` times; after that the chain stays. Each sequence of rejected
/// angles is as probable from `z'` to `z` as from `z` to `z'`, so this limit keeps the kernel reversible.
///
/// Numerics: a point whose density is NaN or `+inf` is outside every slice and is counted.
///
/// ```
/// use mcsa_core::{Kernel, Seed};
/// use mcsa_kernels::{Elliptical, GaussianPrior, NoProposal};
/// let target = mcsa_models::Gaussian::standard(2);
/// let elliptical = Elliptical::new(GaussianPrior::standard(2));
/// let mut state = elliptical.init(&target, faer::Mat::zeros(2, 1))?;
/// let (mut lanes, mut work) = (Seed::new(1).streams(1, 0), vec![0.0; elliptical.work_len(&target, 1)]);
/// let info = elliptical.step(&target, &mut NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
/// assert_eq!((info.evaluations, info.moved), (1, 1)); // prior and target agree: any point will do
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Elliptical {
    prior: GaussianPrior,
    max_shrinks: usize,
}

/// Metrics of one step of [`Elliptical`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EllipticalInfo {
    /// Chains that moved; the others reached the limit of shrinks.
    pub moved: u64,
    /// Density evaluations of all chains.
    pub evaluations: u64,
    /// Proposals whose density was NaN or `+inf`.
    pub non_finite: u64,
}

impl Record for EllipticalInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::ACCEPTANCE, self.moved as f64 / self.evaluations as f64);
        sink(Metric::MOVED, self.moved as f64);
        sink(Metric::sum("evaluations"), self.evaluations as f64);
        sink(Metric::NON_FINITE, self.non_finite as f64);
    }
}

impl Elliptical {
    /// A kernel for this prior, with at most 100 shrinks of a bracket. A shrink leaves on average at most 3/4 of it: 100 leave `3e-13`
    /// of the circle.
    pub fn new(prior: GaussianPrior) -> Self {
        Self { prior, max_shrinks: 100 }
    }

    /// A kernel for this prior, with at most `max_shrinks` shrinks of a bracket.
    ///
    /// # Errors
    /// If `max_shrinks` is 0.
    pub fn with(prior: GaussianPrior, max_shrinks: usize) -> Result<Self, Error> {
        at_least_one("max_shrinks", max_shrinks).map_err(|error| error.within("Elliptical"))?;
        Ok(Self { prior, max_shrinks })
    }
}

/// Numbers of the search of one chain: the height of its slice, the current angle, the bracket, and 1 once it is done.
const SEARCH: usize = 5;

impl Reversible for Elliptical {}

impl<P: LogDensity + ?Sized> Kernel<P> for Elliptical {
    type State = Ensemble;
    type Info = EllipticalInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        (4 * target.dim() + SEARCH + 1) * chains + target.work_len(chains)
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Ensemble, Error> {
        let chains = self.prior.fits(target.dim()).and_then(|()| Ensemble::new(target, positions));
        chains.map_err(|error| error.within("Elliptical"))
    }

    fn check(&self, target: &P, chains: usize, state: &Ensemble) -> Result<(), Error> {
        let fits = self.prior.fits(target.dim()).and_then(|()| state.check(target.dim(), chains));
        fits.map_err(|error| error.within("Elliptical"))
    }

    fn step(
        &self,
        target: &P,
        _: &mut dyn Proposal,
        state: &mut Ensemble,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> EllipticalInfo {
        let (dim, chains, prior) = (target.dim(), state.len(), &self.prior);
        assert_eq!(lanes.len(), chains, "a lane per chain");
        let here = borrow(&mut work, dim * chains); // the chains, in coordinates where the prior is standard
        let noise = borrow(&mut work, dim * chains); // the other axis of the ellipse, there
        let axis = borrow(&mut work, dim * chains); // and in the coordinates of the target
        let proposals = borrow(&mut work, dim * chains);
        let searches = borrow(&mut work, SEARCH * chains).as_chunks_mut::<SEARCH>().0;
        let log_p = borrow(&mut work, chains);
        for (j, lane) in lanes.iter_mut().enumerate() {
            let at = j * dim..(j + 1) * dim;
            let offsets = state.positions.col_as_slice(j).iter().zip(&prior.mean).map(|(z, mean)| z - mean);
            here[at.clone()].iter_mut().zip(offsets).for_each(|(here, offset)| *here = offset);
            prior.factor.whiten(&mut here[at.clone()]);
            lane.normals_into(&mut noise[at.clone()]);
            axis[at.clone()].copy_from_slice(&noise[at.clone()]);
            prior.factor.colour(&mut axis[at.clone()]);
            let log_likelihood = state.log_p[j] + 0.5 * here[at].iter().map(|y| y * y).sum::<f64>();
            // A chain whose density is NaN or +inf moves to any point.
            let is_real = log_likelihood < f64::INFINITY;
            let height = if is_real { log_likelihood } else { f64::NEG_INFINITY } + lane.uniform().ln();
            let angle = TAU * lane.uniform();
            searches[j] = [height, angle, angle - TAU, angle, 0.0];
        }
        let mut info = EllipticalInfo::default();
        for _ in 0..=self.max_shrinks {
            let mut columns = 0;
            for (j, [_, angle, _, _, done]) in searches.iter().enumerate() {
                if *done == 0.0 {
                    let (cos, sin) = (angle.cos(), angle.sin());
                    let z = state.positions.col_as_slice(j);
                    let proposal = &mut proposals[columns * dim..][..dim];
                    for (((out, z), mean), nu) in
                        proposal.iter_mut().zip(z).zip(&prior.mean).zip(&axis[j * dim..])
                    {
                        *out = mean + (z - mean) * cos + nu * sin;
                    }
                    columns += 1;
                }
            }
            if columns == 0 {
                break;
            }
            info.evaluations += columns as u64;
            target.log_densities(
                batch(&proposals[..columns * dim], dim, columns),
                &mut log_p[..columns],
                work,
            );
            let mut column = 0;
            for (j, lane) in lanes.iter_mut().enumerate() {
                let [height, angle, low, high, done] = &mut searches[j];
                if *done != 0.0 {
                    continue;
                }
                let (cos, sin) = (angle.cos(), angle.sin());
                let (y, n) = (&here[j * dim..][..dim], &noise[j * dim..][..dim]);
                let squares: f64 = y.iter().zip(n).map(|(y, n)| (y * cos + n * sin).powi(2)).sum();
                let density = log_p[column];
                let broken = density.is_nan() || density == f64::INFINITY;
                info.non_finite += u64::from(broken);
                if !broken && density + 0.5 * squares > *height {
                    state.place(j, &proposals[column * dim..][..dim], density);
                    *done = 1.0;
                    info.moved += 1;
                } else {
                    *(if *angle < 0.0 { &mut *low } else { &mut *high }) = *angle;
                    *angle = *low + (*high - *low) * lane.uniform();
                }
                column += 1;
            }
        }
        info
    }
}

/// Gaussian distribution with a mean and the lower Cholesky factor F of its covariance.
///
/// ```text
/// z = mean + F n,   n ~ N(0, I),   covariance = F F^T
/// ```
#[derive(Debug, Clone)]
pub struct GaussianPrior {
    mean: Vec<f64>,
    factor: Triangle,
}

impl GaussianPrior {
    /// A Gaussian with this mean and factor, of which only the lower triangle is read.
    ///
    /// # Errors
    /// If the shapes differ, a number is not finite, or a diagonal entry is not positive.
    pub fn new(mean: Vec<f64>, factor: MatRef<'_, f64>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("GaussianPrior");
        let dim = mean.len();
        all_finite("mean", &mean).map_err(refuse)?;
        same_length("rows of the factor", dim, factor.nrows()).map_err(refuse)?;
        same_length("columns of the factor", dim, factor.ncols()).map_err(refuse)?;
        for k in 0..dim {
            all_finite("a column of the factor", &factor.column(k)[k..]).map_err(refuse)?;
            if factor[(k, k)] <= 0.0 {
                let expected = "a diagonal entry of the factor";
                return Err(refuse(Error::parameter(expected, factor[(k, k)], "positive")));
            }
        }
        Ok(Self { mean, factor: Triangle::new(factor) })
    }

    /// The standard Gaussian: mean zero, unit covariance.
    pub fn standard(dim: usize) -> Self {
        Self { mean: vec![0.0; dim], factor: Triangle::new(Mat::identity(dim, dim).as_ref()) }
    }

    /// Checks that the prior has dimension `dim`.
    fn fits(&self, dim: usize) -> Result<(), Error> {
        same_length("the mean of the prior", dim, self.mean.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::mat;

    #[test]
    fn impossible_settings_are_refused() {
        let error = Elliptical::with(GaussianPrior::standard(1), 0).unwrap_err().to_string();
        assert_eq!(error, "Elliptical: max_shrinks is 0, expected at least 1");
        let refused =
            |mean, factor: Mat<f64>| GaussianPrior::new(mean, factor.as_ref()).unwrap_err().to_string();
        assert_eq!(
            refused(vec![0.0], Mat::new()),
            "GaussianPrior: rows of the factor has length 0, expected 1"
        );
        assert!(refused(vec![0.0], mat![[0.0]]).contains("expected positive"));
        assert!(refused(vec![0.0], mat![[f64::NAN]]).contains("expected a finite number"));
        assert!(refused(vec![f64::INFINITY], mat![[1.0]]).starts_with("GaussianPrior: mean[0]"));
        assert!(refused(vec![0.0; 2], mat![[1.0], [1.0]]).contains("columns of the factor has length 1"));
    }
}
