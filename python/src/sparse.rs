//! Sparse Gaussian process with its hyperparameters.

use mcsa::annealed::{InducingCoordinates, SparseGaussianProcess, SparsePosterior};
use mcsa::core::{Error, Gradient, LogDensity, Named, Separable};
use mcsa::faer::MatRef;

/// Posterior of the whitened values of a sparse Gaussian process at its inducing points, at fixed hyperparameters.
pub(crate) struct SparseProcess {
    process: SparseGaussianProcess,
    theta: Vec<f64>,
    rows: Vec<usize>,
    memory: Vec<f64>,
}

impl SparseProcess {
    /// The process on all rows. Without `noise` the responses are labels 0 and 1; with it, its scale and degrees of freedom are those of
    /// Student t errors.
    ///
    /// # Errors
    /// If sizes differ, or a number is invalid.
    pub(crate) fn new(
        x: MatRef<'_, f64>,
        y: &[f64],
        inducing: MatRef<'_, f64>,
        lengths: &[f64],
        noise: Option<(f64, f64)>,
    ) -> Result<Self, Error> {
        let positive =
            |name: &'static str, value: f64, least: f64, said| match value > least && value.is_finite() {
                true => Ok((value - least).ln()),
                false => Err(Error::parameter(name, value, said)),
            };
        let lengths: Vec<f64> = lengths
            .iter()
            .map(|length| positive("length", *length, 0.0, "positive and finite"))
            .collect::<Result<_, _>>()?;
        let (made, noise) = match noise {
            None => (SparseGaussianProcess::classification(x, y, inducing.nrows())?, Vec::new()),
            Some((scale, freedom)) => {
                let scale = positive("scale", scale, 0.0, "positive and finite")?;
                let freedom = positive("freedom", freedom, 2.0, "above 2 and finite")?;
                (SparseGaussianProcess::robust(x, y, inducing.nrows())?, vec![scale, freedom])
            }
        };
        let process = made.with_coordinates(InducingCoordinates::Whitened);
        let theta = process.theta(0.0, &lengths, &noise, inducing)?;
        let rows: Vec<usize> = (0..process.num_data()).collect();
        let mut memory = vec![0.0; process.memory_len(rows.len())];
        process.prepare_into(&theta, &rows, &mut memory)?;
        Ok(Self { process, theta, rows, memory })
    }

    fn posterior(&self) -> SparsePosterior<'_> {
        self.process.posterior(&self.theta, &self.rows, &self.memory)
    }
}

impl LogDensity for SparseProcess {
    fn dim(&self) -> usize {
        self.posterior().dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.posterior().work_len(columns)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.posterior().log_density(z, work)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        self.posterior().constrain(z, out);
    }
}

impl Gradient for SparseProcess {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.posterior().gradient_into(z, gradient, work)
    }
}

impl Separable for SparseProcess {
    fn num_data(&self) -> usize {
        self.posterior().num_data()
    }

    fn log_prior(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.posterior().log_prior(z, work)
    }

    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], work: &mut [f64]) -> f64 {
        self.posterior().log_likelihood_at(rows, z, work)
    }
}
