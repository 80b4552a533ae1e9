//! Linear-Gaussian state-space model in one dimension.

use crate::{GaussianDynamics, StateSpace};
use faer::MatRef;
use mcsa_core::{Columns, Error, LogDensity, Stream, all_finite};
use mcsa_models::Learnable;

use mcsa_models::support::{HALF_LOG_TAU, decided};

/// Parameters of [`LinearGaussian`], on the unconstrained scale on which they are learned.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinearGaussianTheta {
    /// Autoregressive coefficient; any number, because the first state has a distribution of its own.
    pub phi: f64,
    /// Logarithm of the standard deviation of innovations.
    pub log_sigma: f64,
    /// Logarithm of the standard deviation of the observation noise.
    pub log_tau: f64,
}

impl From<[f64; 3]> for LinearGaussianTheta {
    fn from([phi, log_sigma, log_tau]: [f64; 3]) -> Self {
        Self { phi, log_sigma, log_tau }
    }
}

/// Observations `x_0 .. x_{T-1}` of a linear-Gaussian state-space model with learnable parameters.
///
/// ```
/// use mcsa_models::Learnable;
/// use mcsa_particles::LinearGaussianSeries;
/// let series = LinearGaussianSeries::new(vec![0.3, -1.0, 0.4])?;
/// assert!(series.at(&[0.9, 0.0, 0.0]).log_evidence() > series.at(&[0.9, 3.0, 3.0]).log_evidence());
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LinearGaussianSeries {
    observations: Vec<f64>,
}

impl LinearGaussianSeries {
    /// A series of observations, one per state.
    ///
    /// # Errors
    /// If there is no observation, or one is not finite.
    pub fn new(observations: Vec<f64>) -> Result<Self, Error> {
        if observations.is_empty() {
            return Err(Error::invalid("a path needs an observation").within("LinearGaussianSeries"));
        }
        all_finite("observations", &observations).map_err(|error| error.within("LinearGaussianSeries"))?;
        Ok(Self { observations })
    }

    /// The model at these parameters.
    pub fn with(&self, theta: LinearGaussianTheta) -> LinearGaussian<'_> {
        let [variance, noise] = [theta.log_sigma, theta.log_tau].map(|log_scale| (2.0 * log_scale).exp());
        LinearGaussian { observations: &self.observations, phi: theta.phi, variance, noise }
    }

    /// Replaces the observations by draws from the model at these parameters.
    pub fn simulate(&mut self, theta: LinearGaussianTheta, stream: &mut Stream) {
        let mut z = 0.0;
        for (t, x) in self.observations.iter_mut().enumerate() {
            z = if t == 0 {
                stream.normal()
            } else {
                theta.phi * z + theta.log_sigma.exp() * stream.normal()
            };
            *x = z + theta.log_tau.exp() * stream.normal();
        }
    }
}

/// Linear-Gaussian state-space model at fixed parameters. Filter, smoother and evidence are exact, so particle methods can be
/// tested on it.
///
/// ```text
/// z_0 ~ N(0, 1),   z_t ~ N(phi z_{t-1}, sigma^2),   x_t ~ N(z_t, tau^2)
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearGaussian<'a> {
    pub(super) observations: &'a [f64],
    pub(super) phi: f64,
    /// Variance of the innovations.
    pub(super) variance: f64,
    /// Variance of the observation noise.
    pub(super) noise: f64,
}

impl LinearGaussian<'_> {
    /// Factor on the previous state, and variance, of the transition to `t`.
    pub(super) fn step(&self, t: usize) -> (f64, f64) {
        if t == 0 { (0.0, 1.0) } else { (self.phi, self.variance) }
    }
}

impl LogDensity for LinearGaussian<'_> {
    fn dim(&self) -> usize {
        self.observations.len()
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        decided(self.log_path(z), z)
    }
}

impl StateSpace for LinearGaussian<'_> {
    fn num_states(&self) -> usize {
        self.observations.len()
    }

    fn draw_states_into(&self, t: usize, previous: &[f64], stream: &mut Stream, z: &mut [f64]) {
        let (factor, variance) = self.step(t);
        let scale = variance.sqrt();
        stream.normals_into(z);
        for (i, z) in z.iter_mut().enumerate() {
            *z = scale * *z + if t == 0 { 0.0 } else { factor * previous[i] };
        }
    }

    fn log_transitions(&self, t: usize, previous: &[f64], z: &[f64], out: &mut [f64]) {
        let (factor, variance) = self.step(t);
        let peak = -0.5 * variance.ln() - HALF_LOG_TAU;
        assert_eq!(z.len(), out.len(), "a density per state");
        for (i, (out, z)) in out.iter_mut().zip(z).enumerate() {
            let gap = z - if t == 0 { 0.0 } else { factor * previous[i] };
            *out = peak - 0.5 * gap * gap / variance;
        }
    }

    fn log_observations(&self, t: usize, z: &[f64], out: &mut [f64]) {
        let (x, peak) = (self.observations[t], -0.5 * self.noise.ln() - HALF_LOG_TAU);
        for (out, z) in out.iter_mut().zip(z) {
            *out = peak - 0.5 * (x - z) * (x - z) / self.noise;
        }
    }
}

impl GaussianDynamics for LinearGaussian<'_> {
    fn means_into(&self, t: usize, previous: &[f64], means: &mut [f64]) -> f64 {
        let (factor, variance) = self.step(t);
        for (i, mean) in means.iter_mut().enumerate() {
            *mean = if t == 0 { 0.0 } else { factor * previous[i] };
        }
        variance
    }
}

impl Learnable for LinearGaussianSeries {
    type At<'a> = LinearGaussian<'a>;

    fn num_thetas(&self) -> usize {
        3
    }

    fn at<'a>(&'a self, theta: &'a [f64]) -> LinearGaussian<'a> {
        let [phi, log_sigma, log_tau] = *theta else { panic!("three parameters") };
        self.with(LinearGaussianTheta { phi, log_sigma, log_tau })
    }

    fn anywhere(&self) -> LinearGaussian<'_> {
        self.with(LinearGaussianTheta::default())
    }

    fn add_theta_gradients(
        &self,
        theta: &[f64],
        _: &[usize],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
    ) {
        let at = self.at(theta);
        for (j, weight) in weights.iter().enumerate() {
            let z = z.column(j);
            let (mut crosses, mut squares, mut errors) = (0.0, 0.0, 0.0);
            for pair in z.windows(2) {
                let gap = pair[1] - at.phi * pair[0];
                crosses += gap * pair[0];
                squares += gap * gap;
            }
            for (x, z) in self.observations.iter().zip(z) {
                errors += (x - z) * (x - z);
            }
            gradient[0] += weight * crosses / at.variance;
            gradient[1] += weight * (squares / at.variance - (z.len() - 1) as f64);
            gradient[2] += weight * (errors / at.noise - z.len() as f64);
        }
    }
}
