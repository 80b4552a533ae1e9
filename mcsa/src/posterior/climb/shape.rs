//! Families of a fit, and the low-rank family of many dimensions.

use faer::{Mat, Side};
use mcsa_core::{Error, Parametric};
use mcsa_families::{
    GaussianFamily, Learned, LowRank, Mixture, MomentMatched, MultivariateT, Normal, kl_gaussian,
};
use mcsa_optim::deterministic::Gaussian;
use serde::{Deserialize, Serialize};

use crate::posterior::Mode;

/// Family of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Gaussian with a low-rank plus diagonal covariance.
    LowRank {
        /// Number of factors.
        rank: usize,
    },
    /// Multivariate Student t with a dense scale matrix and learned degrees of freedom.
    StudentT,
    /// Mixture of such Student t.
    Mixture {
        /// Number of components.
        components: usize,
    },
}

/// Lower bound of the degrees of freedom: with it the covariance is finite.
const FLOOR: f64 = 2.0;
/// Degrees of freedom of a Student t at the start.
pub(crate) const FREEDOM: f64 = 8.0;
/// Components of the first mixture for a posterior that is no Student t.
pub(crate) const BENT: usize = 4;
/// Most components.
pub(crate) const COMPONENTS: usize = 16;

impl Shape {
    /// The Student t in `dim` dimensions.
    pub(crate) fn student_t(dim: usize) -> Result<MultivariateT<Learned>, Error> {
        MultivariateT::learned(dim, FLOOR)
    }

    /// The mixture of `components` Student t in `dim` dimensions.
    pub(crate) fn mixture(dim: usize, components: usize) -> Result<Mixture<MultivariateT<Learned>>, Error> {
        Mixture::new(Self::student_t(dim)?, components)
    }

    /// The next larger family; `None` if there is none, or none whose moments chains determine in `dim` dimensions.
    pub(crate) const fn larger(self, dim: usize) -> Option<Self> {
        match self {
            Self::LowRank { .. } => Some(Self::StudentT),
            _ if dim > DENSE => None,
            Self::StudentT => Some(Self::Mixture { components: BENT }),
            Self::Mixture { components } if 2 * components <= COMPONENTS => {
                Some(Self::Mixture { components: 2 * components })
            }
            Self::Mixture { .. } => None,
        }
    }

    /// Mean and covariance of a family that is not a mixture.
    pub(crate) fn moments(self, dim: usize, params: &[f64]) -> Result<Option<Gaussian>, Error> {
        let covariance = match self {
            Self::LowRank { rank } => Some(LowRank::new(dim, rank).moments(params)?.covariance()),
            Self::StudentT => Self::student_t(dim)?.covariance(params)?,
            Self::Mixture { .. } => None,
        };
        Ok(covariance.map(|covariance| Gaussian { mean: params[..dim].to_vec(), covariance }))
    }

    /// The centre of each component; of a family that is not a mixture its one centre.
    pub(crate) fn centres(self, dim: usize, params: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        let Self::Mixture { components } = self else { return Ok(vec![params[..dim].to_vec()]) };
        let family = Self::mixture(dim, components)?;
        Ok((0..components).map(|k| family.part(params, k)[..dim].to_vec()).collect())
    }

    /// The family in `dim` dimensions, which is fitted by running moments.
    pub(crate) fn build(self, dim: usize) -> Result<Box<dyn MomentMatched>, Error> {
        Ok(match self {
            Self::LowRank { rank } => Box::new(LowRank::new(dim, rank)),
            Self::StudentT => Box::new(Self::student_t(dim)?),
            Self::Mixture { components } => Box::new(Self::mixture(dim, components)?),
        })
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LowRank { rank } => write!(f, "a Gaussian of rank {rank}"),
            Self::StudentT => f.write_str("a Student t"),
            Self::Mixture { components } => write!(f, "a mixture of {components} Student t"),
        }
    }
}

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
