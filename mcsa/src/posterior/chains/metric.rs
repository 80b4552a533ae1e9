//! Coordinates of chains, learnt from their draws and gradients.

use faer::{Mat, MatRef, Side};
use mcsa_core::{AffineMap, Columns, Transport, bits};
use mcsa_families::ConditionalMap;
use serde::{Deserialize, Serialize};

/// Coordinates y in which chains move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Metric {
    /// `z = s y`, a scale per parameter.
    Scales(#[serde(with = "bits::vector")] Vec<f64>),
    /// `z = L y`, a triangular factor.
    Factor(AffineMap),
    /// Some parameters set location and scale of the others.
    Conditional(ConditionalMap),
}

/// Smallest and largest scale, so that products with gradients stay finite.
const SCALES: [f64; 2] = [1e-100, 1e100];
/// Ridge of covariances, in units of their mean eigenvalue.
const RIDGE: f64 = 1e-5;

impl Metric {
    /// Scales from the gradients at some points, `|g|^-1/2`: on a Gaussian `g = -z / s^2`, so that a point of unit size has `s`.
    pub(crate) fn of_gradients(gradients: &Mat<f64>) -> Self {
        let scale = |i: usize| {
            let steep = gradients.row(i).iter().filter(|g| g.is_finite() && **g != 0.0);
            bounded(median(steep.map(|g| g.abs().sqrt().recip()).collect()).unwrap_or(1.0))
        };
        Self::Scales((0..gradients.nrows()).map(scale).collect())
    }

    /// Scales from draws and gradients of chains in these coordinates, chain after chain: each scale times
    ///
    /// ```text
    /// median over chains of sqrt(sd y_i / sd g_i)
    /// ```
    /// which on a Gaussian with independent coordinates is its scale, whatever the number of draws. The median over chains is that of
    /// the typical chain where one has not arrived.
    pub(crate) fn rescaled(self, points: MatRef<'_, f64>, slopes: MatRef<'_, f64>, chains: usize) -> Self {
        let Self::Scales(mut scales) = self else { return self };
        let length = points.ncols() / chains;
        let sd = |values: MatRef<'_, f64>, i: usize, j: usize| {
            let values = || (j * length..(j + 1) * length).map(|c| values[(i, c)]);
            let mean = values().sum::<f64>() / length as f64;
            values().map(|x| (x - mean).powi(2)).sum::<f64>().sqrt()
        };
        for (i, scale) in scales.iter_mut().enumerate() {
            let ratios = (0..chains).map(|j| (sd(points, i, j) / sd(slopes, i, j)).sqrt());
            *scale = bounded(
                *scale * median(ratios.filter(|r| r.is_finite() && *r > 0.0).collect()).unwrap_or(1.0),
            );
        }
        Self::Scales(scales)
    }

    /// The dense metric from draws and gradients of chains that agree, in these coordinates: `S = R R'` with
    ///
    /// ```text
    /// S B S = A,    A, B covariances of draws and of gradients
    /// ```
    /// the geometric mean of A and `B^-1`. On a Gaussian it is the covariance of p, whatever the draws, if they span the space.
    pub(crate) fn dense(&self, points: MatRef<'_, f64>, slopes: MatRef<'_, f64>) -> Option<Self> {
        let mean = geometric_mean(&covariance(points), &covariance(slopes))?;
        let mut root = mean.llt(Side::Lower).ok()?.L().to_owned();
        for j in 0..root.ncols() {
            let mut column = root.col(j).iter().copied().collect::<Vec<f64>>();
            match self {
                Self::Scales(scales) => {
                    column.iter_mut().zip(scales).for_each(|(entry, scale)| *entry *= scale)
                }
                Self::Factor(map) => {
                    let (direction, mut image) = (column.clone(), vec![0.0; column.len()]);
                    map.forward_into(&direction, &mut image);
                    column = image;
                }
                Self::Conditional(_) => return None,
            }
            root.col_as_slice_mut(j).copy_from_slice(&column);
        }
        AffineMap::new(vec![0.0; root.nrows()], root).ok().map(Self::Factor)
    }
}

impl Transport for Metric {
    fn dim(&self) -> usize {
        match self {
            Self::Scales(scales) => scales.len(),
            Self::Factor(map) => map.dim(),
            Self::Conditional(map) => map.dim(),
        }
    }

    fn work_len(&self) -> usize {
        match self {
            Self::Scales(_) => 0,
            Self::Factor(map) => map.work_len(),
            Self::Conditional(map) => map.work_len(),
        }
    }

    fn image_into(&self, y: &[f64], z: &mut [f64], work: &mut [f64]) -> f64 {
        match self {
            Self::Scales(scales) => {
                z.iter_mut().zip(y).zip(scales).for_each(|((z, y), scale)| *z = scale * y);
                0.0
            }
            Self::Factor(map) => map.image_into(y, z, work),
            Self::Conditional(map) => map.image_into(y, z, work),
        }
    }

    fn preimage_into(&self, z: &[f64], y: &mut [f64], work: &mut [f64]) -> f64 {
        match self {
            Self::Scales(scales) => {
                y.iter_mut().zip(z).zip(scales).for_each(|((y, z), scale)| *y = z / scale);
                0.0
            }
            Self::Factor(map) => map.preimage_into(z, y, work),
            Self::Conditional(map) => map.preimage_into(z, y, work),
        }
    }

    fn pull_back(&self, y: &[f64], gradient: &mut [f64], work: &mut [f64]) {
        match self {
            Self::Scales(scales) => gradient.iter_mut().zip(scales).for_each(|(g, scale)| *g *= scale),
            Self::Factor(map) => map.pull_back(y, gradient, work),
            Self::Conditional(map) => map.pull_back(y, gradient, work),
        }
    }
}

fn bounded(scale: f64) -> f64 {
    scale.clamp(SCALES[0], SCALES[1])
}

/// The middle of some numbers; `None` of none.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Sums of squares and products of the columns about their mean, with a ridge.
fn covariance(points: MatRef<'_, f64>) -> Mat<f64> {
    let dim = points.nrows();
    let mut mean = vec![0.0; dim];
    for j in 0..points.ncols() {
        mean.iter_mut().zip(points.column(j)).for_each(|(mean, x)| *mean += x / points.ncols() as f64);
    }
    let centred = Mat::from_fn(dim, points.ncols(), |i, j| points[(i, j)] - mean[i]);
    let mut found = &centred * centred.transpose();
    let ridge = RIDGE * (0..dim).map(|i| found[(i, i)]).sum::<f64>() / dim as f64;
    (0..dim).for_each(|i| found[(i, i)] += ridge);
    found
}

/// The solution S of `S B S = A`: `A^1/2 (A^1/2 B A^1/2)^-1/2 A^1/2`.
fn geometric_mean(a: &Mat<f64>, b: &Mat<f64>) -> Option<Mat<f64>> {
    let root = power(a, 0.5)?;
    let middle = power(&(&root * b * &root), -0.5)?;
    let found = &root * middle * &root;
    Some(Mat::from_fn(found.nrows(), found.ncols(), |i, j| 0.5 * (found[(i, j)] + found[(j, i)])))
}

/// A power of a positive definite matrix; `None` if it is not.
fn power(matrix: &Mat<f64>, exponent: f64) -> Option<Mat<f64>> {
    let eigen = matrix.self_adjoint_eigen(Side::Lower).ok()?;
    let (axes, values, dim) = (eigen.U(), eigen.S(), matrix.nrows());
    if !(0..dim).all(|k| values[k] > 0.0 && values[k].is_finite()) {
        return None;
    }
    let scaled = Mat::from_fn(dim, dim, |i, k| axes[(i, k)] * values[k].powf(exponent));
    Some(scaled * axes.transpose())
}
