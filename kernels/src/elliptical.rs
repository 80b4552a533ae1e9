//! Elliptical slice sampling kernel and its Gaussian prior.

use std::f64::consts::TAU;

use faer::Mat;
use mcsa_core::{
    Ensemble, Error, Kernel, LogDensity, Metric, Proposal, Record, Stream, all_finite, batch, borrow,
    same_length,
};
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Elliptical(Settings);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    prior: GaussianPrior,
    #[serde(default = "max_shrinks")]
    max_shrinks: usize,
}

/// Default of `max_shrinks`. A shrink leaves on average at most 3/4 of a bracket: 100 shrinks leave `3e-13` of the circle.
fn max_shrinks() -> usize {
    100
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

impl TryFrom<Settings> for Elliptical {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        if settings.max_shrinks == 0 {
            return Err(Error::parameter("max_shrinks", 0.0, "at least 1").within("Elliptical"));
        }
        Ok(Self(settings))
    }
}

impl Elliptical {
    /// A kernel for this prior, with at most 100 shrinks of a bracket.
    pub fn new(prior: GaussianPrior) -> Self {
        Self(Settings { prior, max_shrinks: max_shrinks() })
    }

    /// A kernel for this prior, with at most `max_shrinks` shrinks of a bracket.
    ///
    /// # Errors
    /// If `max_shrinks` is 0.
    pub fn with(prior: GaussianPrior, max_shrinks: usize) -> Result<Self, Error> {
        Self::try_from(Settings { prior, max_shrinks })
    }

    /// The prior.
    pub fn prior(&self) -> &GaussianPrior {
        &self.0.prior
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

    fn columns(&self, _: usize) -> usize {
        0
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        (4 * target.dim() + SEARCH + 1) * chains + target.work_len(chains)
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Ensemble, Error> {
        let chains = self.0.prior.fits(target.dim()).and_then(|()| Ensemble::new(target, positions));
        chains.map_err(|error| error.within("Elliptical"))
    }

    fn check(&self, target: &P, chains: usize, state: &Ensemble) -> Result<(), Error> {
        let fits = self.0.prior.fits(target.dim()).and_then(|()| state.check(target.dim(), chains));
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
        let (dim, chains, prior) = (target.dim(), state.len(), &self.0.prior);
        assert_eq!(lanes.len(), chains, "a lane per chain");
        let here = borrow(&mut work, dim * chains); // the chains, in coordinates where the prior is standard
        let noise = borrow(&mut work, dim * chains); // the other axis of the ellipse, there
        let axis = borrow(&mut work, dim * chains); // and in the coordinates of the target
        let proposals = borrow(&mut work, dim * chains);
        let searches = borrow(&mut work, SEARCH * chains).as_chunks_mut::<SEARCH>().0;
        let log_p = borrow(&mut work, chains);
        for (j, lane) in lanes.iter_mut().enumerate() {
            let at = j * dim..(j + 1) * dim;
            prior.whiten_into(state.positions.col_as_slice(j), &mut here[at.clone()]);
            lane.normals_into(&mut noise[at.clone()]);
            prior.colour_into(&noise[at.clone()], &mut axis[at.clone()]);
            let log_likelihood = state.log_p[j] + 0.5 * here[at].iter().map(|y| y * y).sum::<f64>();
            // A chain whose density is NaN or +inf moves to any point.
            let is_real = log_likelihood < f64::INFINITY;
            let height = if is_real { log_likelihood } else { f64::NEG_INFINITY } + lane.uniform().ln();
            let angle = TAU * lane.uniform();
            searches[j] = [height, angle, angle - TAU, angle, 0.0];
        }
        let mut info = EllipticalInfo::default();
        for _ in 0..=self.0.max_shrinks {
            let mut columns = 0;
            for (j, [_, angle, _, _, done]) in searches.iter().enumerate() {
                if *done == 0.0 {
                    let (cos, sin) = (angle.cos(), angle.sin());
                    let z = state.positions.col_as_slice(j);
                    let proposal = &mut proposals[columns * dim..][..dim];
                    for (((out, z), mean), nu) in
                        proposal.iter_mut().zip(z).zip(prior.mean()).zip(&axis[j * dim..])
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
///
/// Serialised as `mean` and `factor`, the latter a list of rows that end at the diagonal.
///
/// ```
/// use mcsa_kernels::GaussianPrior;
/// let prior = GaussianPrior::new(vec![1.0, 0.0], vec![vec![2.0], vec![1.0, 1.0]])?;
/// let mut n = [0.0; 2];
/// prior.whiten_into(&[3.0, 2.0], &mut n);
/// assert_eq!(n, [1.0, 1.0]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct GaussianPrior {
    mean: Vec<f64>,
    /// The rows of F, up to the diagonal.
    factor: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    mean: Vec<f64>,
    factor: Vec<Vec<f64>>,
}

impl TryFrom<Parts> for GaussianPrior {
    type Error = Error;

    fn try_from(Parts { mean, factor }: Parts) -> Result<Self, Error> {
        Self::new(mean, factor)
    }
}

impl GaussianPrior {
    /// A Gaussian with this mean and these rows of the lower factor: row `i` has `i + 1` entries, the last positive.
    ///
    /// # Errors
    /// If the number of rows differs from the dimension, row `i` does not have `i + 1` entries, a number is not finite or a
    /// diagonal entry is not positive.
    pub fn new(mean: Vec<f64>, factor: Vec<Vec<f64>>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("GaussianPrior");
        all_finite("mean", &mean).map_err(refuse)?;
        same_length("factor", mean.len(), factor.len()).map_err(refuse)?;
        for (i, row) in factor.iter().enumerate() {
            same_length("a row of the factor", i + 1, row.len()).map_err(refuse)?;
            all_finite("a row of the factor", row).map_err(refuse)?;
            if row[i] <= 0.0 {
                return Err(refuse(Error::parameter("a diagonal entry of the factor", row[i], "positive")));
            }
        }
        Ok(Self { mean, factor })
    }

    /// The standard Gaussian: mean zero, unit covariance.
    pub fn standard(dim: usize) -> Self {
        let row = |i: usize| (0..=i).map(|k| if k == i { 1.0 } else { 0.0 }).collect();
        Self { mean: vec![0.0; dim], factor: (0..dim).map(row).collect() }
    }

    /// The mean.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Checks that the prior has dimension `dim`.
    fn fits(&self, dim: usize) -> Result<(), Error> {
        same_length("the mean of the prior", dim, self.mean.len())
    }

    /// Whitens a point: `out = F^-1 (z - mean)`.
    ///
    /// # Panics
    /// If the dimension of the point differs from that of the prior.
    pub fn whiten_into(&self, z: &[f64], out: &mut [f64]) {
        assert_eq!(z.len(), self.mean.len(), "a point of the prior's dimension");
        for i in 0..z.len() {
            let row = &self.factor[i];
            let above: f64 = row[..i].iter().zip(&*out).map(|(f, y)| f * y).sum();
            out[i] = (z[i] - self.mean[i] - above) / row[i];
        }
    }

    /// Colours standard normal noise: `out = F n`, so that `mean + F n` is a draw of the prior.
    ///
    /// # Panics
    /// If `out` is longer than the mean.
    pub fn colour_into(&self, noise: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.factor[i].iter().zip(noise).map(|(f, n)| f * n).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bracket_that_never_shrinks_is_refused() {
        assert!(Elliptical::with(GaussianPrior::standard(1), 0).is_err());
        let text = r#"{"prior":{"mean":[0.0],"factor":[[2.0]]},"max_shrinks":0}"#;
        let error = serde_json::from_str::<Elliptical>(text).unwrap_err().to_string();
        assert_eq!(error, "Elliptical: max_shrinks is 0, expected at least 1");
        let elliptical = Elliptical::new(GaussianPrior::standard(3));
        let back: Elliptical = serde_json::from_str(&serde_json::to_string(&elliptical).unwrap()).unwrap();
        assert_eq!(back, elliptical);
    }

    #[test]
    fn colouring_undoes_whitening() {
        let prior =
            GaussianPrior::new(vec![0.5, -1.0, 2.0], vec![vec![2.0], vec![-0.5, 0.7], vec![0.1, 0.2, 1.5]])
                .unwrap();
        let (z, mut y, mut back) = ([0.3, 1.4, -2.0], [0.0; 3], [0.0; 3]);
        prior.whiten_into(&z, &mut y);
        prior.colour_into(&y, &mut back);
        for i in 0..3 {
            assert!((back[i] + prior.mean[i] - z[i]).abs() < 1e-14);
        }
        assert_eq!(GaussianPrior::standard(2).factor, [vec![1.0], vec![0.0, 1.0]]);
    }

    #[test]
    fn bad_factors_are_refused() {
        let refused = |mean: Vec<f64>, factor| GaussianPrior::new(mean, factor).unwrap_err().to_string();
        assert_eq!(refused(vec![0.0], vec![]), "GaussianPrior: factor has length 0, expected 1");
        assert!(refused(vec![0.0], vec![vec![0.0]]).contains("expected positive"));
        assert!(refused(vec![0.0], vec![vec![f64::NAN]]).contains("expected a finite number"));
        assert!(refused(vec![f64::INFINITY], vec![vec![1.0]]).starts_with("GaussianPrior: mean[0]"));
        assert!(
            refused(vec![0.0; 2], vec![vec![1.0], vec![1.0]]).contains("a row of the factor has length 1")
        );
    }
}
