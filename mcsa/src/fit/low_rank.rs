//! Low-rank start of a fit in many dimensions.

use faer::{Mat, Side};
use mcsa_core::{Error, MomentMatched, Parametric};
use mcsa_families::{GaussianFamily, LowRank, Normal, kl_gaussian};

use super::Mode;

/// Largest dimension in which a fit begins with a dense scale matrix.
pub(crate) const DENSE: usize = 100;
/// Ranks that are tried.
const RANKS: [usize; 4] = [4, 8, 16, 32];
/// Largest divergence, in nats, of a low-rank Gaussian from the approximation at the mode.
const LOSS: f64 = 0.5;
/// Iterations of EM per rank.
const ITERATIONS: usize = 30;
/// Smallest share of a variance that the factors leave at the start of EM.
const UNIQUE: f64 = 0.05;

/// Rank and parameters of a low-rank Gaussian near the approximation N(m, S) at a mode: factor analysis of S with the smallest rank for which
///
/// ```text
/// KL(N(m, S) || N(m, D + B B^T)) <= 0.5
/// ```
/// `None` if no rank up to 32 suffices, or in at most 100 dimensions, where a dense scale matrix costs little. Without factors, if `goes_on` is
/// false.
///
/// # Errors
/// If S is not positive definite.
pub(crate) fn low_rank_start(
    mode: &Mode,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<(usize, Vec<f64>)>, Error> {
    let dim = mode.point.len();
    if dim <= DENSE {
        return Ok(None);
    }
    let sds: Vec<f64> = (0..dim).map(|i| mode.covariance[(i, i)].sqrt()).collect();
    let without_factors = || {
        let none = Mat::<f64>::zeros(dim, RANKS[0]);
        LowRank::new(dim, RANKS[0])
            .at(&mode.point, &sds, none.as_ref())
            .map(|params| Some((RANKS[0], params)))
    };
    if !goes_on() {
        return without_factors();
    }
    let (dense, factor) = (Normal::new(mode.point.clone(), mode.covariance.as_ref())?, mode.factor()?);
    let correlation = Mat::from_fn(dim, dim, |i, j| mode.covariance[(i, j)] / (sds[i] * sds[j]));
    let Ok(eigen) = correlation.self_adjoint_eigen(Side::Lower) else { return Ok(None) };
    // Points with the moments of N(m, S).
    let length = (dim as f64).sqrt();
    let points = Mat::from_fn(dim, 2 * dim, |i, j| {
        mode.point[i] + length * if j < dim { factor[(i, j)] } else { -factor[(i, j - dim)] }
    });
    let weights = vec![0.5 / dim as f64; 2 * dim];
    for rank in RANKS {
        // Principal components of the correlations (Tipping & Bishop 1999); eigenvalues ascend.
        let rest = (0..dim - rank).map(|k| eigen.S()[k]).sum::<f64>() / (dim - rank) as f64;
        let loading = |i: usize, k: usize| {
            let k = dim - 1 - k;
            sds[i] * eigen.U()[(i, k)] * (eigen.S()[k] - rest).max(0.0).sqrt()
        };
        let loadings = Mat::from_fn(dim, rank, loading);
        let unique = |i: usize| {
            let shared: f64 = loadings.row(i).iter().map(|b| b * b).sum();
            (sds[i] * sds[i] - shared).max(UNIQUE * sds[i] * sds[i]).sqrt()
        };
        let family = LowRank::new(dim, rank);
        let scales: Vec<f64> = (0..dim).map(unique).collect();
        let mut params = family.at(&mode.point, &scales, loadings.as_ref())?;
        let (mut matched, mut work) = (params.clone(), vec![0.0; family.work_len(2 * dim)]);
        for _ in 0..ITERATIONS {
            if !goes_on() {
                return without_factors();
            }
            if family.match_moments(&params, 1.0, points.as_ref(), &weights, &mut matched, &mut work) {
                std::mem::swap(&mut params, &mut matched);
            }
        }
        if kl_gaussian(&dense, &family.moments(&params)?)? <= LOSS {
            return Ok(Some((rank, params)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(dim: usize, correlation: impl Fn(usize, usize) -> f64) -> Mode {
        let covariance = Mat::from_fn(dim, dim, correlation);
        Mode { point: vec![1.0; dim], covariance, log_evidence: 0.0, reached: 1 }
    }

    /// Two factors, and neighbours that are correlated, for which no small rank suffices.
    #[test]
    fn a_low_rank_is_found_where_there_is_one() {
        let loading = |i: usize, k: usize| ((1 + i) as f64 * (k + 1) as f64).sin();
        let factors = |i: usize, j: usize| {
            (0..2).map(|k| loading(i, k) * loading(j, k)).sum::<f64>()
                + if i == j { 0.2 + 0.01 * i as f64 } else { 0.0 }
        };
        let found = low_rank_start(&mode(120, factors), &|| true).unwrap();
        assert_eq!(found.map(|(rank, _)| rank), Some(4));
        let neighbours = |i: usize, j: usize| 0.8_f64.powi(i.abs_diff(j) as i32);
        assert_eq!(low_rank_start(&mode(120, neighbours), &|| true).unwrap(), None);
        assert_eq!(low_rank_start(&mode(DENSE, factors), &|| true).unwrap(), None);
    }
}
