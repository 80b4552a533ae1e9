//! Means and second moments of score estimators on finitely many atoms, from every start.

use faer::Mat;

/// `K^n f`: the mean of `f` after `n` steps, from every start.
///
/// # Panics
/// If there is not a value per atom.
pub fn after(matrix: &Mat<f64>, f: &[f64], n: usize) -> Vec<f64> {
    assert_eq!(matrix.nrows(), f.len(), "a value per atom");
    let mut f = f.to_vec();
    for _ in 0..n {
        f = (0..f.len()).map(|z| (0..f.len()).map(|y| matrix[(z, y)] * f[y]).sum()).collect();
    }
    f
}
