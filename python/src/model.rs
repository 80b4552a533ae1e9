//! Models of the library, with data as arrays.

use std::sync::Arc;

use mcsa::core::{Error, Gradient, Seed, Separable};
use mcsa::faer::{Mat, MatRef};
use mcsa::models::{
    Banana, Centring, EightSchools, Funnel, Gaussian, GaussianProcessClassification, HierarchicalLogistic,
    LinearRegression, LocalRobustRegression, LogisticRegression, Mixture, NeuralRegression,
    PoissonRegression, ProbitRegression, Radon, RobustGaussianProcess, ScalePrior, SkewNormal,
    StockVolatility, Student, StudentNoise, StudentRegression,
};
use mcsa::particles::{FxVolatility, Theta};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::sparse::SparseProcess;
use crate::value_error;

/// Posterior of a model of the library.
#[pyclass(frozen, weakref, module = "mcsa._mcsa")]
pub(crate) struct Model {
    pub(crate) target: Arc<dyn Gradient>,
    separable: Option<Arc<dyn Separable>>,
    title: &'static str,
}

type Matrix<'py> = PyReadonlyArray2<'py, f64>;
type Vector<'py> = PyReadonlyArray1<'py, f64>;

fn of(title: &'static str, target: Result<impl Gradient + 'static, Error>) -> PyResult<Model> {
    let target = target.map_err(|error| value_error(error.within(title)))?;
    Ok(Model { target: Arc::new(target), separable: None, title })
}

/// A model with a likelihood term for each datum.
fn by_rows(
    title: &'static str,
    target: Result<impl Gradient + Separable + 'static, Error>,
) -> PyResult<Model> {
    let target = Arc::new(target.map_err(|error| value_error(error.within(title)))?);
    Ok(Model { target: target.clone(), separable: Some(target), title })
}

fn matrix(x: &Matrix<'_>) -> Mat<f64> {
    let x = x.as_array();
    Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[[i, j]])
}

fn vector(y: &Vector<'_>) -> Vec<f64> {
    y.as_array().to_vec()
}

/// Features of a regression, in the precision in which they are stored.
#[derive(FromPyObject)]
enum Features<'py> {
    Double(Matrix<'py>),
    Single(PyReadonlyArray2<'py, f32>),
}

/// A regression on features of either precision, which are not copied before the model stores them.
macro_rules! regression {
    ($title:literal, $model:ident, $x:ident, $y:ident, $prior_scale:ident) => {
        match &$x {
            Features::Double(x) => by_rows($title, $model::new(in_rows(x)?, &vector(&$y), $prior_scale)),
            Features::Single(x) => by_rows($title, $model::new(in_rows(x)?, &vector(&$y), $prior_scale)),
        }
    };
}

/// The matrix of an array in C order.
fn in_rows<'a, E: numpy::Element>(x: &'a PyReadonlyArray2<'_, E>) -> PyResult<MatRef<'a, E>> {
    let shape = x.as_array().raw_dim();
    Ok(MatRef::from_row_major_slice(x.as_slice()?, shape[0], shape[1]))
}

const fn centring(centred: bool) -> Centring {
    if centred { Centring::Centred } else { Centring::NonCentred }
}

#[pymethods]
impl Model {
    #[staticmethod]
    fn gaussian(mean: Vector<'_>, covariance: Matrix<'_>) -> PyResult<Self> {
        of("gaussian", Gaussian::new(vector(&mean), matrix(&covariance).as_ref()))
    }

    /// Gaussian with independent coordinates of random mean and variance.
    #[staticmethod]
    fn diagonal_gaussian(dim: usize, seed: u64) -> PyResult<Self> {
        mcsa::core::square_fits_in_memory("dim", dim).map_err(value_error)?;
        let mut stream = Seed::new(seed).named("diagonal-gaussian").stream(0, 0);
        of("diagonal gaussian", Gaussian::random_diagonal(dim, &mut stream))
    }

    /// Gaussian with a random covariance.
    #[staticmethod]
    fn wishart_gaussian(dim: usize, freedom: f64, seed: u64) -> PyResult<Self> {
        mcsa::core::square_fits_in_memory("dim", dim).map_err(value_error)?;
        let mut stream = Seed::new(seed).named("wishart-gaussian").stream(0, 0);
        of("wishart gaussian", Gaussian::random_wishart(dim, freedom, &mut stream))
    }

    #[staticmethod]
    fn student(location: Vector<'_>, scale: Vector<'_>, freedom: f64) -> PyResult<Self> {
        of("student", Student::new(vector(&location), vector(&scale), freedom))
    }

    #[staticmethod]
    fn skew_normal(location: f64, scale: f64, slant: f64) -> PyResult<Self> {
        of("skew normal", SkewNormal::new(location, scale, slant))
    }

    #[staticmethod]
    fn banana(width: f64, bend: f64) -> PyResult<Self> {
        of("banana", Banana::new(width, bend))
    }

    #[staticmethod]
    fn funnel(dim: usize, scale: f64) -> PyResult<Self> {
        of("funnel", Funnel::new(dim, scale))
    }

    #[staticmethod]
    fn moons(per_moon: usize, noise: f64) -> PyResult<Self> {
        of("moons", Mixture::moons(per_moon, noise))
    }

    #[staticmethod]
    fn modes(dim: usize, distance: f64, share: f64) -> PyResult<Self> {
        of("modes", Mixture::modes(dim, distance, share))
    }

    /// Mixture of Gaussians: weights, means as rows, and a covariance for each.
    #[staticmethod]
    fn mixture(weights: Vector<'_>, means: Matrix<'_>, covariances: Vec<Matrix<'_>>) -> PyResult<Self> {
        let means = means.as_array();
        if covariances.len() != means.nrows() {
            let said = format!("mixture: {} covariances for {} means", covariances.len(), means.nrows());
            return Err(PyValueError::new_err(said));
        }
        let parts = covariances.iter().zip(means.rows());
        let parts: Result<Vec<_>, _> =
            parts.map(|(cov, mean)| Gaussian::new(mean.to_vec(), matrix(cov).as_ref())).collect();
        of("mixture", parts.and_then(|parts| Mixture::new(&vector(&weights), parts)))
    }

    #[staticmethod]
    fn eight_schools(effects: Vector<'_>, errors: Vector<'_>, centred: bool) -> PyResult<Self> {
        let built = EightSchools::new(vector(&effects), vector(&errors), centring(centred));
        by_rows("eight schools", built)
    }

    #[staticmethod]
    fn radon(
        counties: usize,
        county: Vec<usize>,
        floor: Vector<'_>,
        log_radon: Vector<'_>,
    ) -> PyResult<Self> {
        by_rows("radon", Radon::new(counties, county, vector(&floor), vector(&log_radon)))
    }

    #[staticmethod]
    fn logistic_regression(x: Features<'_>, y: Vector<'_>, prior_scale: f64) -> PyResult<Self> {
        regression!("logistic regression", LogisticRegression, x, y, prior_scale)
    }

    #[staticmethod]
    fn poisson_regression(x: Features<'_>, y: Vector<'_>, prior_scale: f64) -> PyResult<Self> {
        regression!("Poisson regression", PoissonRegression, x, y, prior_scale)
    }

    #[staticmethod]
    fn probit_regression(x: Features<'_>, y: Vector<'_>, prior_scale: f64) -> PyResult<Self> {
        regression!("probit regression", ProbitRegression, x, y, prior_scale)
    }

    #[staticmethod]
    fn hierarchical_logistic(x: Matrix<'_>, y: Vector<'_>, inverse_gamma: bool) -> PyResult<Self> {
        let prior = if inverse_gamma { ScalePrior::InverseGamma } else { ScalePrior::HalfNormal };
        let built = HierarchicalLogistic::new(matrix(&x).as_ref(), &vector(&y), prior);
        by_rows("hierarchical logistic regression", built)
    }

    #[staticmethod]
    fn linear_regression(x: Matrix<'_>, y: Vector<'_>, noise_scale: f64, prior_scale: f64) -> PyResult<Self> {
        let built = LinearRegression::new(matrix(&x).as_ref(), &vector(&y), noise_scale, prior_scale);
        by_rows("linear regression", built)
    }

    /// Linear regression with Student t errors, whose scale and freedom are known or, if `None`, parameters.
    #[staticmethod]
    fn student_regression(
        x: Matrix<'_>,
        y: Vector<'_>,
        prior_scale: f64,
        known: Option<(f64, f64)>,
    ) -> PyResult<Self> {
        let noise =
            known.map_or(StudentNoise::Latent, |(scale, freedom)| StudentNoise::Known { scale, freedom });
        let built = StudentRegression::new(matrix(&x).as_ref(), &vector(&y), noise, prior_scale);
        by_rows("Student t regression", built)
    }

    /// Linear regression with Student t errors, written with a local precision for each datum.
    #[staticmethod]
    fn local_regression(x: Matrix<'_>, y: Vector<'_>, freedom: f64, prior_scale: f64) -> PyResult<Self> {
        let built = LocalRobustRegression::new(matrix(&x).as_ref(), &vector(&y), freedom, prior_scale);
        of("local regression", built)
    }

    #[staticmethod]
    fn neural_regression(x: Matrix<'_>, y: Vector<'_>, hidden: usize) -> PyResult<Self> {
        by_rows("neural regression", NeuralRegression::new(matrix(&x).as_ref(), &vector(&y), hidden))
    }

    #[staticmethod]
    fn gp_classification(x: Matrix<'_>, y: Vector<'_>) -> PyResult<Self> {
        let built = GaussianProcessClassification::new(matrix(&x).as_ref(), &vector(&y));
        of("Gaussian process classification", built)
    }

    #[staticmethod]
    fn robust_gp(x: Matrix<'_>, y: Vector<'_>) -> PyResult<Self> {
        of("robust Gaussian process", RobustGaussianProcess::new(matrix(&x).as_ref(), &vector(&y)))
    }

    /// Sparse Gaussian process: classification, or, with a scale and a freedom, regression with Student t errors.
    #[staticmethod]
    fn sparse_process(
        x: Matrix<'_>,
        y: Vector<'_>,
        inducing: Matrix<'_>,
        lengths: Vector<'_>,
        noise: Option<(f64, f64)>,
    ) -> PyResult<Self> {
        let (x, inducing) = (matrix(&x), matrix(&inducing));
        let built = SparseProcess::new(x.as_ref(), &vector(&y), inducing.as_ref(), &vector(&lengths), noise);
        by_rows("sparse Gaussian process", built)
    }

    #[staticmethod]
    fn stock_volatility(series: Vector<'_>) -> PyResult<Self> {
        by_rows("stock volatility", StockVolatility::new(vector(&series)))
    }

    #[staticmethod]
    fn fx_volatility(returns: Vector<'_>) -> PyResult<Self> {
        by_rows("exchange rate volatility", FxVolatility::new(vector(&returns), Theta::default()))
    }

    /// The dimension.
    #[getter]
    fn dim(&self) -> usize {
        self.target.dim()
    }

    /// Number of data with a likelihood term each; None if the model has no such terms.
    #[getter]
    fn num_data(&self) -> Option<usize> {
        self.separable.as_ref().map(|target| target.num_data())
    }

    /// Log density at each row of an array `(N, d)`.
    fn log_density<'py>(&self, py: Python<'py>, z: Matrix<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let columns = self.columns(&z)?;
        let mut work = vec![0.0; self.target.work_len(columns.ncols())];
        let mut out = vec![0.0; columns.ncols()];
        py.detach(|| self.target.log_densities(columns.as_ref(), &mut out, &mut work));
        Ok(PyArray1::from_vec(py, out))
    }

    /// Log likelihood of every datum at each row of an array `(N, d)`, as an array `(N, num_data)`.
    fn log_likelihood<'py>(&self, py: Python<'py>, z: Matrix<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = self.columns(&z)?;
        let Some(target) = &self.separable else {
            return Err(PyValueError::new_err(format!("{} has no likelihood terms of data", self.title)));
        };
        let rows = target.num_data();
        mcsa::core::fits_in_memory("log likelihoods", columns.ncols(), rows).map_err(value_error)?;
        let values = py.detach(|| {
            let mut work = vec![0.0; target.work_len(1)];
            let mut values = Vec::with_capacity(columns.ncols() * rows);
            for j in 0..columns.ncols() {
                let z = columns.col_as_slice(j);
                values.extend((0..rows).map(|row| target.log_likelihood_at(&[row], z, &mut work)));
            }
            values
        });
        PyArray1::from_vec(py, values).reshape([columns.ncols(), rows])
    }

    fn __repr__(&self) -> String {
        format!("<mcsa model: {}, {} dimensions>", self.title, self.target.dim())
    }
}

impl Model {
    /// Points as columns.
    fn columns(&self, z: &Matrix<'_>) -> PyResult<Mat<f64>> {
        let z = z.as_array();
        if z.ncols() != self.target.dim() {
            let dim = self.target.dim();
            let said = format!("points have {} coordinates; the model has {dim}", z.ncols());
            return Err(PyValueError::new_err(said));
        }
        Ok(Mat::from_fn(z.ncols(), z.nrows(), |i, j| z[[j, i]]))
    }
}
