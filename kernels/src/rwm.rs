//! Random walk Metropolis kernel.

use faer::Mat;
use mcsa_core::{
    Ensemble, Error, Kernel, LogDensity, Metric, Proposal, Record, Stream, all_finite, batch, borrow,
    positive, same_length,
};

use crate::{Mass, Reversible, Tunable};

/// Random walk Metropolis: a Gaussian step from the chain's state, accepted by the Metropolis rule.
///
/// ```text
/// z'_i = z_i + scale * shape_i * n_i,   n ~ N(0, I),   move with probability min(1, p(z') / p(z))
/// ```
///
/// Invariant for p because the proposal is symmetric (Metropolis et al. 1953). The best scale in high
/// dimension is `2.38 / sqrt(d)` standard deviations, with acceptance 0.234 (Roberts, Gelman & Gilks 1997).
/// The target evaluates the proposals of all chains as one batch.
///
/// Numerics: a proposal that overflows, or whose density is NaN or `+inf`, is rejected and counted; a chain outside the
/// support accepts the first proposal inside.
#[derive(Debug, Clone, PartialEq)]
pub struct Rwm {
    scale: f64,
    /// Factors of the scale, one per coordinate; empty if all are one.
    shape: Vec<f64>,
}

/// Metrics of one step of [`Rwm`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RwmInfo {
    /// Acceptance probability, averaged over chains.
    pub acceptance: f64,
    /// Chains that moved.
    pub moved: u64,
    /// Proposals that overflowed or whose density was NaN or `+inf`; all were rejected.
    pub non_finite: u64,
}

impl Record for RwmInfo {
    fn record(&self, sink: &mut dyn FnMut(Metric, f64)) {
        sink(Metric::ACCEPTANCE, self.acceptance);
        sink(Metric::MOVED, self.moved as f64);
        sink(Metric::NON_FINITE, self.non_finite as f64);
    }
}

impl Rwm {
    /// A random walk with one scale for all coordinates, in any dimension.
    ///
    /// # Errors
    /// If the scale is not positive and finite.
    pub fn new(scale: f64) -> Result<Self, Error> {
        Self::with(scale, Vec::new())
    }

    /// A random walk with the scale `scale * shape[i]` in coordinate `i`. An empty shape stands for ones.
    ///
    /// # Errors
    /// If the scale or an entry of the shape is not positive and finite.
    pub fn with(scale: f64, shape: Vec<f64>) -> Result<Self, Error> {
        positive("scale", scale)
            .and_then(|()| shape.iter().try_for_each(|&factor| positive("shape", factor)))
            .map_err(|error| error.within("Rwm"))?;
        Ok(Self { scale, shape })
    }

    fn fits(&self, dim: usize) -> Result<(), Error> {
        if self.shape.is_empty() { Ok(()) } else { same_length("shape", dim, self.shape.len()) }
    }
}

/// A mass `m_i` becomes the shape `1 / sqrt(m_i)`.
impl Tunable for Rwm {
    fn step_size(&self) -> f64 {
        self.scale
    }

    fn tuned(&self, step_size: f64, mass: Option<Mass>) -> Result<Self, Error> {
        let learnt = |mass: Mass| mass.roots.iter().map(|root| 1.0 / root).collect();
        Self::with(step_size, mass.map_or_else(|| self.shape.clone(), learnt))
    }
}

/// `log(p(to) / p(from))`, or NaN for a rejected proposal. From a point without a finite density the ratio to any point
/// with one is `+inf`.
fn log_ratio(from: f64, to: f64) -> f64 {
    match to {
        _ if to.is_nan() || to == f64::INFINITY => f64::NAN,
        f64::NEG_INFINITY => to,
        _ if from.is_nan() || from == f64::INFINITY => f64::INFINITY,
        _ => to - from,
    }
}

impl Reversible for Rwm {}

impl<P: LogDensity + ?Sized> Kernel<P> for Rwm {
    type State = Ensemble;
    type Info = RwmInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn work_len(&self, target: &P, chains: usize) -> usize {
        (target.dim() + 2) * chains + target.work_len(chains)
    }

    fn init(&self, target: &P, positions: Mat<f64>) -> Result<Ensemble, Error> {
        let chains = self.fits(target.dim()).and_then(|()| Ensemble::new(target, positions));
        chains.map_err(|error| error.within("Rwm"))
    }

    fn check(&self, target: &P, chains: usize, state: &Ensemble) -> Result<(), Error> {
        let fits = self.fits(target.dim()).and_then(|()| state.check(target.dim(), chains));
        fits.map_err(|error| error.within("Rwm"))
    }

    fn step(
        &self,
        target: &P,
        _: &mut dyn Proposal,
        state: &mut Ensemble,
        lanes: &mut [Stream],
        mut work: &mut [f64],
    ) -> RwmInfo {
        let (dim, chains, scale) = (target.dim(), state.len(), self.scale);
        assert_eq!(lanes.len(), chains, "a lane per chain");
        let proposals = borrow(&mut work, dim * chains);
        let log_p = borrow(&mut work, chains);
        let overflows = borrow(&mut work, chains);
        for (j, lane) in lanes.iter_mut().enumerate() {
            let z = &mut proposals[j * dim..][..dim];
            lane.normals_into(z);
            z.iter_mut().zip(&self.shape).for_each(|(z, shape)| *z *= shape);
            let here = state.positions.col_as_slice(j);
            z.iter_mut().zip(here).for_each(|(z, here)| *z = here + scale * *z);
            overflows[j] = 0.0;
            if all_finite("a proposal", z).is_err() {
                overflows[j] = 1.0;
                z.copy_from_slice(here); // a target is asked about points only
            }
        }
        target.log_densities(batch(proposals, dim, chains), log_p, work);
        let mut info = RwmInfo::default();
        for (j, lane) in lanes.iter_mut().enumerate() {
            let z = &proposals[j * dim..][..dim];
            let log_alpha = if overflows[j] == 1.0 { f64::NAN } else { log_ratio(state.log_p[j], log_p[j]) };
            info.non_finite += u64::from(log_alpha.is_nan());
            info.acceptance +=
                if log_alpha.is_nan() { 0.0 } else { log_alpha.min(0.0).exp() } / chains as f64;
            if lane.accept(log_alpha) {
                state.place(j, z, log_p[j]);
                info.moved += 1;
            }
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_scales_are_refused() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Rwm::new(scale).is_err() && Rwm::with(1.0, vec![1.0, scale]).is_err(), "{scale}");
        }
        let error = Rwm::new(-1.0).unwrap_err().to_string();
        assert_eq!(error, "Rwm: scale is -1, expected positive and finite");
    }

    #[test]
    fn ratios_of_extreme_densities_are_defined() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert_eq!(log_ratio(-inf, 0.0), inf);
        assert_eq!((log_ratio(nan, 0.0), log_ratio(inf, 0.0)), (inf, inf));
        assert_eq!(log_ratio(0.0, -inf), -inf);
        assert_eq!(log_ratio(-inf, -inf), -inf);
        assert!(log_ratio(0.0, nan).is_nan() && log_ratio(0.0, inf).is_nan());
    }
}
