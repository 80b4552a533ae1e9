//! Sequential Monte Carlo without a retained path.

use crate::{PathGuide, StateSpace};
use mcsa_core::{Error, Stream, fits_in_memory};
use serde::{Deserialize, Serialize};

use super::swarm::Rules;
use super::{Lineage, Resampling};

/// Sequential Monte Carlo: an unbiased estimate of the evidence (marginal likelihood) Z, and approximate draws of the path.
///
/// ```text
/// Z-hat = prod over resampled times of (1/S) sum_i w^i,     E[Z-hat] = Z
/// ```
///
/// `w^i` is the product of the weights of particle `i` since the last resampling: with a threshold below 1, particles whose
/// weights are even enough are not resampled and keep their weights. With [`Bootstrap`](super::Bootstrap) it is the
/// bootstrap filter, with a twisted proposal the twisted particle filter (MSC, section 3.2).
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_models::Learnable;
/// use mcsa_particles::{Bootstrap, LinearGaussianSeries, Resampling, Smc};
/// let series = LinearGaussianSeries::new(vec![0.5, -0.2, 0.9])?;
/// let model = series.at(&[0.9, 0.0, 0.0]);
/// let smc = Smc::new(2000, Resampling::Systematic, 0.5)?;
/// let mut work = vec![0.0; smc.work_len(&model)];
/// let found = smc.log_evidence(&model, &mut Bootstrap(&model), &mut Seed::new(1).stream(0, 0), &mut work);
/// assert!((found - model.log_evidence()).abs() < 0.05);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Smc(Settings);

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    particles: usize,
    #[serde(default)]
    resampling: Resampling,
    threshold: f64,
}

impl Smc {
    /// A filter with `particles` particles, resampled when their effective sample size is below `threshold * particles`; 1
    /// means always.
    ///
    /// # Errors
    /// If `particles` is 0, or the threshold is not between 0 and 1.
    pub fn new(particles: usize, resampling: Resampling, threshold: f64) -> Result<Self, Error> {
        Self::try_from(Settings { particles, resampling, threshold })
    }

    fn rules(&self, keeps: bool) -> Rules {
        let Settings { particles, resampling, threshold } = self.0;
        Rules { particles, resampling, threshold, lineage: Lineage::Traced, keeps }
    }

    /// Length of lent memory for [`log_evidence`](Self::log_evidence). It does not grow with the length of the path.
    pub fn work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize {
        self.rules(false).work_len(target.num_states(), target.state_dim())
    }

    /// Length of lent memory for [`draw_path_into`](Self::draw_path_into).
    pub fn path_work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize {
        self.rules(true).work_len(target.num_states(), target.state_dim())
    }

    /// Estimate `log Z-hat` of the log evidence; `-inf` if all weights vanish.
    ///
    /// # Panics
    /// If `work` is shorter than [`work_len`](Self::work_len).
    pub fn log_evidence<P, G>(
        &self,
        target: &P,
        proposal: &mut G,
        stream: &mut Stream,
        work: &mut [f64],
    ) -> f64
    where
        P: StateSpace + ?Sized,
        G: PathGuide + ?Sized,
    {
        self.rules(false).run(target, proposal, None, false, stream, work).log_evidence
    }

    /// Draws a path by the final weights and returns `log Z-hat`. If all weights vanish, `path` is unchanged. The
    /// distribution of the path is the posterior only in the limit of many particles.
    ///
    /// # Panics
    /// If the length of `path` differs from the target's dimension, or `work` is shorter than
    /// [`path_work_len`](Self::path_work_len).
    pub fn draw_path_into<P, G>(
        &self,
        target: &P,
        proposal: &mut G,
        stream: &mut Stream,
        path: &mut [f64],
        work: &mut [f64],
    ) -> f64
    where
        P: StateSpace + ?Sized,
        G: PathGuide + ?Sized,
    {
        assert_eq!(path.len(), target.dim(), "a path of states");
        self.rules(true).run(target, proposal, Some(path), false, stream, work).log_evidence
    }
}

impl TryFrom<Settings> for Smc {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        if settings.particles == 0 {
            return Err(Error::parameter("particles", 0.0, "at least 1").within("Smc"));
        }
        fits_in_memory("particles", settings.particles, 1).map_err(|error| error.within("Smc"))?;
        let smc = Self(settings);
        smc.rules(false).check().map_err(|error| error.within("Smc"))?;
        Ok(smc)
    }
}
