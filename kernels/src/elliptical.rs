//! Elliptical slice sampling kernel.

use std::f64::consts::TAU;

use faer::Mat;
use mcsa_core::{
    ChainState, Ensemble, Error, Kernel, LogDensity, Metric, Proposal, Record, Stream, batch, borrow,
};
use serde::{Deserialize, Serialize};

use crate::{GaussianPrior, Reversible};

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
/// use mcsa_core::{ChainState, Kernel, Seed};
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

/// The state of [`Elliptical`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EllipticalState {
    /// The chains.
    pub chains: Ensemble,
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

impl ChainState for EllipticalState {
    fn chains(&self) -> &Ensemble {
        &self.chains
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        &mut self.chains
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

/// The search of one chain: the height of its slice, the current angle and the bracket.
struct Search<'a> {
    height: &'a mut f64,
    angle: &'a mut f64,
    low: &'a mut f64,
    high: &'a mut f64,
    done: &'a mut f64,
}

const SEARCH: usize = 5;

impl<'a> Search<'a> {
    fn of(memory: &'a mut [f64], j: usize) -> Self {
        match &mut memory[j * SEARCH..][..SEARCH] {
            [height, angle, low, high, done] => Self { height, angle, low, high, done },
            _ => unreachable!("the slice has that length"),
        }
    }
}

impl Reversible for Elliptical {}

impl<P: LogDensity + ?Sized> Kernel<P> for Elliptical {
    type State = EllipticalState;
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

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<EllipticalState, Error> {
        let chains = self.0.prior.fits(target.dim()).and_then(|()| Ensemble::new(target, positions));
        Ok(EllipticalState { chains: chains.map_err(|error| error.within("Elliptical"))? })
    }

    fn check(&self, target: &P, chains: usize, state: &EllipticalState) -> Result<(), Error> {
        let fits = self.0.prior.fits(target.dim()).and_then(|()| state.chains.check(target.dim(), chains));
        fits.map_err(|error| error.within("Elliptical"))
    }

    fn step(
        &self,
        target: &P,
        _: &mut dyn Proposal,
        state: &mut EllipticalState,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> EllipticalInfo {
        let (dim, chains, prior) = (target.dim(), state.chains.len(), &self.0.prior);
        assert_eq!(lanes.len(), chains, "a lane per chain");
        let here = borrow(&mut work, dim * chains); // the chains, in coordinates where the prior is standard
        let noise = borrow(&mut work, dim * chains); // the other axis of the ellipse, there
        let axis = borrow(&mut work, dim * chains); // and in the coordinates of the target
        let proposals = borrow(&mut work, dim * chains);
        let searches = borrow(&mut work, SEARCH * chains);
        let log_p = borrow(&mut work, chains);
        for (j, lane) in lanes.iter_mut().enumerate() {
            let at = j * dim..(j + 1) * dim;
            prior.whiten_into(state.chains.positions.col_as_slice(j), &mut here[at.clone()]);
            lane.normals_into(&mut noise[at.clone()]);
            prior.colour_into(&noise[at.clone()], &mut axis[at.clone()]);
            let log_likelihood = state.chains.log_p[j] + 0.5 * here[at].iter().map(|y| y * y).sum::<f64>();
            let search = Search::of(searches, j);
            // A chain whose density is NaN or +inf moves to any point.
            let is_real = log_likelihood < f64::INFINITY;
            *search.height = if is_real { log_likelihood } else { f64::NEG_INFINITY } + lane.uniform().ln();
            *search.angle = TAU * lane.uniform();
            (*search.low, *search.high, *search.done) = (*search.angle - TAU, *search.angle, 0.0);
        }
        let mut info = EllipticalInfo::default();
        for _ in 0..=self.0.max_shrinks {
            let mut columns = 0;
            for j in 0..chains {
                let search = Search::of(searches, j);
                if *search.done == 0.0 {
                    let (cos, sin) = (search.angle.cos(), search.angle.sin());
                    let z = state.chains.positions.col_as_slice(j);
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
                let search = Search::of(searches, j);
                if *search.done != 0.0 {
                    continue;
                }
                let (cos, sin) = (search.angle.cos(), search.angle.sin());
                let (y, n) = (&here[j * dim..][..dim], &noise[j * dim..][..dim]);
                let squares: f64 = y.iter().zip(n).map(|(y, n)| (y * cos + n * sin).powi(2)).sum();
                let density = log_p[column];
                let broken = density.is_nan() || density == f64::INFINITY;
                info.non_finite += u64::from(broken);
                if !broken && density + 0.5 * squares > *search.height {
                    state.chains.place(j, &proposals[column * dim..][..dim], density);
                    *search.done = 1.0;
                    info.moved += 1;
                } else {
                    if *search.angle < 0.0 {
                        *search.low = *search.angle;
                    } else {
                        *search.high = *search.angle;
                    }
                    *search.angle = *search.low + (*search.high - *search.low) * lane.uniform();
                }
                column += 1;
            }
        }
        info
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
}
