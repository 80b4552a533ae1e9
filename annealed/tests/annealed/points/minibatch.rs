//! Minibatches that are drawn once per path.

use mcsa_annealed::Surrogate;

use mcsa_annealed::surrogate::MinibatchSurrogate;
use mcsa_core::{LogDensity, Minibatch};
use mcsa_models::LogisticRegression;

use super::differences::{check, labels, matrix, normals};

pub(super) fn regression(data: usize) -> LogisticRegression {
    LogisticRegression::new(matrix(data, 3, 1).as_ref(), &labels(data), 1.3).unwrap()
}

#[test]
fn minibatch_surrogates_have_the_derivatives_of_their_minibatch() {
    let target = regression(30);
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
    let target = regression(30);
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
