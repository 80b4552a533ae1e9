//! Minibatches that are drawn once per path.

use faer::Mat;
use mcsa_core::{LogDensity, Minibatch, Separable, Subsampled, Surrogate};
use mcsa_models::surrogate::MinibatchSurrogate;

use super::differences::{check, dot, matrix, normals};

/// Line through the origin with unit noise and a standard normal prior.
pub(super) struct Line {
    x: Mat<f64>,
    y: Vec<f64>,
}

impl Line {
    fn error(&self, row: usize, z: &[f64]) -> f64 {
        self.y[row] - (0..z.len()).map(|k| self.x[(row, k)] * z[k]).sum::<f64>()
    }
}

impl LogDensity for Line {
    fn dim(&self) -> usize {
        self.x.ncols()
    }
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let rows: Vec<usize> = (0..self.y.len()).collect();
        self.log_prior(z, work) + self.log_likelihood_at(&rows, z, work)
    }
}

impl Separable for Line {
    fn num_data(&self) -> usize {
        self.y.len()
    }
    fn log_prior(&self, z: &[f64], _: &mut [f64]) -> f64 {
        -0.5 * dot(z, z)
    }
    fn log_likelihood_at(&self, rows: &[usize], z: &[f64], _: &mut [f64]) -> f64 {
        rows.iter().map(|&row| -0.5 * self.error(row, z).powi(2)).sum()
    }
}

impl Subsampled for Line {
    fn prior_gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(z).for_each(|(g, z)| *g = -z);
        self.log_prior(z, work)
    }
    fn add_gradient_at(&self, rows: &[usize], scale: f64, z: &[f64], g: &mut [f64], work: &mut [f64]) -> f64 {
        for &row in rows {
            (0..z.len()).for_each(|k| g[k] += scale * self.error(row, z) * self.x[(row, k)]);
        }
        self.log_likelihood_at(rows, z, work)
    }
    fn prior_hessian_vector_into(&self, _: &[f64], v: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.iter_mut().zip(v).for_each(|(out, v)| *out = -v);
    }
    fn add_hessian_vector_at(
        &self,
        rows: &[usize],
        scale: f64,
        _: &[f64],
        v: &[f64],
        out: &mut [f64],
        _: &mut [f64],
    ) {
        for &row in rows {
            let along: f64 = (0..v.len()).map(|k| self.x[(row, k)] * v[k]).sum();
            (0..v.len()).for_each(|k| out[k] -= scale * along * self.x[(row, k)]);
        }
    }
}

pub(super) fn line() -> Line {
    Line { x: matrix(30, 3, 1), y: normals(30, 2) }
}

#[test]
fn minibatch_surrogates_have_the_derivatives_of_their_minibatch() {
    let target = line();
    let surrogate = MinibatchSurrogate::new(&target, 8).unwrap();
    let mut memory = vec![f64::NAN; surrogate.memory_len()];
    surrogate.prepare(&[], &normals(1, 40), &mut memory);
    let rows = surrogate.rows(&memory);
    let minibatch = Minibatch::new(&target, rows).unwrap();
    let formula = |_: &[f64], z: &[f64]| minibatch.log_density(z, &mut vec![0.0; minibatch.work_len(1)]);
    assert_eq!(check(&surrogate, &[], &formula), Ok(()));
    let first: Vec<usize> = (0..8).collect();
    let other = Minibatch::new(&target, &first).unwrap();
    let formula = |_: &[f64], z: &[f64]| other.log_density(z, &mut vec![0.0; other.work_len(1)]);
    assert!(check(&surrogate, &[], &formula).is_err());
}

/// Rows depend on the noise alone, are distinct, and each is drawn with frequency B / N: within 5 standard errors at this fixed seed
/// (false alarm below 2e-5 over 30 rows).
#[test]
fn minibatches_are_uniform_subsets_of_the_rows() {
    let target = line();
    let surrogate = MinibatchSurrogate::new(&target, 8).unwrap();
    let (mut memory, mut hits, paths) = (vec![0.0; surrogate.memory_len()], [0.0_f64; 30], 4000);
    let mut previous = Vec::new();
    for noise in normals(paths, 9) {
        surrogate.prepare(&[], &[noise], &mut memory);
        let mut rows = surrogate.rows(&memory).to_vec();
        surrogate.prepare(&[], &[noise], &mut memory);
        assert_eq!(surrogate.rows(&memory), rows);
        assert_ne!(rows, previous);
        previous.clone_from(&rows);
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), 8);
        rows.iter().for_each(|&row| hits[row] += 1.0);
    }
    let (mean, n) = (8.0 / 30.0, paths as f64);
    let error = (n * mean * (1.0 - mean)).sqrt();
    assert!(hits.iter().all(|hits| (hits - n * mean).abs() < 5.0 * error), "{hits:?}");
}
