//! Log-Gaussian Cox process on a grid: Poisson counts whose log intensity is a Gaussian field.

use faer::linalg::solvers::Llt;
use faer::{Mat, MatMut, MatRef, Side};
use mcsa_core::{
    Columns, ColumnsMut, Curvature, Error, Gradient, LogDensity, Named, Stream, batch_mut, borrow, numeric,
    one, same_length,
};

use crate::Centring;
use crate::gaussian::Triangle;
use crate::support::{HALF_LOG_TAU, decided};

/// Log-Gaussian Cox process (Møller, Syversveen and Waagepetersen 1998) on `M x M` cells of the unit square:
///
/// ```text
/// x ~ N(m, K),   K_ij = s^2 exp(-|i - j| / (M b)),   s^2 = 1.91,   b = 1/33,   m = log 126 - s^2 / 2
/// log p = log N(x; m, K) + sum_i (x_i y_i - e^(x_i) / M^2)
/// ```
///
/// `|i - j|` is the distance of two cells in sides of a cell, `y_i` the number of points in cell `i`. The prior is normalised; the
/// constants of the Poisson law that do not depend on `x` are left out, as in the literature on normalising constants.
///
/// Coordinates are the log intensities `x` ([`Centring::Centred`]) or `z` with `x = m + L z`, `K = L L^T` ([`Centring::NonCentred`]),
/// which leaves the normaliser as it is. The Cholesky factor is found once; an evaluation costs `d^2` operations, `d = M^2`, and
/// `L` is read once for a batch. The density is log-concave in both.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_models::{Centring, CoxProcess};
/// let target = CoxProcess::new(2, &[3.0, 0.0, 1.0, 2.0], Centring::NonCentred)?;
/// let mut work = vec![0.0; target.work_len(1)];
/// assert!(target.log_density(&[0.0; 4], &mut work).is_finite());
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CoxProcess {
    grid: usize,
    counts: Vec<f64>,
    factor: Triangle,
    coordinates: Centring,
    log_peak: f64,
}

/// `s^2`, `1 / b` and the number of points that the square holds on average.
const VARIANCE: f64 = 1.91;
const INVERSE_RANGE: f64 = 33.0;
const POINTS: f64 = 126.0;

/// `m`.
fn level() -> f64 {
    POINTS.ln() - 0.5 * VARIANCE
}

/// Cell `column + grid * row` of a point.
fn cell(grid: usize, point: [f64; 2]) -> Result<usize, Error> {
    let inside = point.iter().all(|x| (0.0..=1.0).contains(x));
    if !inside {
        let reason = format!("point ({}, {}) is outside the unit square", point[0], point[1]);
        return Err(Error::invalid(reason).within("CoxProcess"));
    }
    let [column, row] = point.map(|x| ((x * grid as f64) as usize).min(grid - 1));
    Ok(column + grid * row)
}

impl CoxProcess {
    /// A process on `grid` times `grid` cells with their counts, row by row.
    ///
    /// # Errors
    /// If there is no cell, the number of counts is not that of cells, or a count is no whole number of at least 0.
    pub fn new(grid: usize, counts: &[f64], coordinates: Centring) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("CoxProcess");
        if grid == 0 {
            return Err(refuse(Error::parameter("grid", 0.0, "at least 1")));
        }
        let dim = grid.saturating_mul(grid);
        same_length("counts", dim, counts.len()).map_err(refuse)?;
        // Written so that NaN is refused.
        if let Some(&count) = counts.iter().find(|count| !(**count >= 0.0 && count.fract() == 0.0)) {
            return Err(refuse(Error::parameter("count", count, "a whole number of at least 0")));
        }
        let covariance = Mat::from_fn(dim, dim, |i, j| Self::covariance_of(grid, i, j));
        let factor = Llt::new(covariance.as_ref(), Side::Lower)
            .map_err(|_| refuse(Error::NotPositiveDefinite { what: "covariance", pivot: 0 }))?;
        let factor = Triangle::new(factor.L());
        let log_det = match coordinates {
            Centring::Centred => factor.log_det(),
            Centring::NonCentred => 0.0,
        };
        let log_peak = -log_det - dim as f64 * HALF_LOG_TAU;
        Ok(Self { grid, counts: counts.to_vec(), factor, coordinates, log_peak })
    }

    /// Counts of points of the unit square in the cells of a grid.
    ///
    /// # Errors
    /// If the grid has no cell, or a point is outside the square.
    pub fn counts(grid: usize, points: &[[f64; 2]]) -> Result<Vec<f64>, Error> {
        if grid == 0 {
            return Err(Error::parameter("grid", 0.0, "at least 1").within("CoxProcess"));
        }
        let mut counts = vec![0.0; grid * grid];
        points.iter().try_for_each(|&point| {
            counts[cell(grid, point)?] += 1.0;
            Ok::<(), Error>(())
        })?;
        Ok(counts)
    }

    /// Points of a fresh field, whatever the counts of this process: the process given that it has `count` points.
    pub fn draw_points(&self, count: usize, stream: &mut Stream) -> Vec<[f64; 2]> {
        let mut field = vec![0.0; self.counts.len()];
        stream.normals_into(&mut field);
        self.factor.colour_each(&mut field);
        let mut point = || {
            let i = stream.choose(&field).unwrap_or(0);
            [i % self.grid, i / self.grid].map(|k| (k as f64 + stream.uniform()) / self.grid as f64)
        };
        (0..count).map(|_| point()).collect()
    }

    /// Entry of `K`.
    fn covariance_of(grid: usize, i: usize, j: usize) -> f64 {
        let apart = |a: usize, b: usize| a.abs_diff(b) as f64;
        let distance = apart(i % grid, j % grid).hypot(apart(i / grid, j / grid));
        VARIANCE * (-distance * INVERSE_RANGE / grid as f64).exp()
    }

    /// Area of a cell.
    fn area(&self) -> f64 {
        1.0 / self.counts.len() as f64
    }

    /// `x - m` in each column of `z`, and the log density of the prior.
    fn fields_into(&self, z: MatRef<'_, f64>, fields: &mut [f64], out: &mut [f64]) {
        let dim = self.counts.len();
        for (j, field) in fields.chunks_exact_mut(dim).enumerate() {
            match self.coordinates {
                Centring::NonCentred => field.copy_from_slice(z.column(j)),
                Centring::Centred => {
                    field.iter_mut().zip(z.column(j)).for_each(|(field, z)| *field = z - level());
                }
            }
        }
        let form = |out: &mut [f64], whites: &[f64]| {
            for (out, white) in out.iter_mut().zip(whites.chunks_exact(dim)) {
                *out = self.log_peak - 0.5 * numeric::dot(white, white);
            }
        };
        match self.coordinates {
            Centring::NonCentred => {
                form(out, fields);
                self.factor.colour_each(fields);
            }
            Centring::Centred => {
                self.factor.whiten(fields);
                form(out, fields);
            }
        }
    }

    /// Log likelihood at the field `x - m`, which becomes the expected counts.
    fn likelihood(&self, field: &mut [f64]) -> f64 {
        field.iter_mut().for_each(|x| *x += level());
        let linear = numeric::dot(field, &self.counts);
        numeric::exp(field);
        let area = self.area();
        field.iter_mut().for_each(|x| *x *= area);
        linear - numeric::sum(field)
    }

    /// `x - m` in place of its coordinates `z`, or of the white numbers of `x`.
    fn centred_into(z: &[f64], field: &mut [f64]) {
        field.iter_mut().zip(z).for_each(|(field, z)| *field = z - level());
    }
}

impl LogDensity for CoxProcess {
    fn dim(&self) -> usize {
        self.counts.len()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.counts.len() * columns.max(1)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        let mut out = [0.0];
        self.log_densities(one(z), &mut out, work);
        out[0]
    }

    fn log_densities(&self, z: MatRef<'_, f64>, out: &mut [f64], mut work: &mut [f64]) {
        assert!(z.ncols() == out.len() && z.nrows() == self.dim(), "a density per column");
        let fields = borrow(&mut work, z.nrows() * z.ncols());
        self.fields_into(z, fields, out);
        for (j, (out, field)) in out.iter_mut().zip(fields.chunks_exact_mut(z.nrows())).enumerate() {
            if matches!(self.coordinates, Centring::Centred) {
                Self::centred_into(z.column(j), field);
            }
            *out = decided(*out + self.likelihood(field), z.column(j));
        }
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        let mut field = z.to_vec();
        match self.coordinates {
            Centring::NonCentred => self.factor.colour_each(&mut field),
            Centring::Centred => Self::centred_into(z, &mut field),
        }
        out.vector("intensity", field.iter().map(|x| (x + level()).exp()));
    }
}

impl Gradient for CoxProcess {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let mut out = [0.0];
        let dim = gradient.len();
        self.gradients_into(one(z), &mut out, batch_mut(gradient, dim, 1), work);
        out[0]
    }

    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        let dim = self.dim();
        assert!(z.ncols() == out.len() && z.nrows() == dim, "a density per column");
        assert!(gradients.ncols() == out.len() && gradients.nrows() == dim, "a gradient per column");
        let fields = borrow(&mut work, dim * z.ncols());
        self.fields_into(z, fields, out);
        if matches!(self.coordinates, Centring::Centred) {
            self.factor.whiten_back(fields);
            for (j, field) in fields.chunks_exact_mut(dim).enumerate() {
                gradients.column_mut(j).iter_mut().zip(&*field).for_each(|(slope, pull)| *slope = -pull);
                Self::centred_into(z.column(j), field);
            }
        }
        for (field, out) in fields.chunks_exact_mut(dim).zip(&mut *out) {
            *out += self.likelihood(field);
            field.iter_mut().zip(&self.counts).for_each(|(expected, count)| *expected = count - *expected);
        }
        if matches!(self.coordinates, Centring::NonCentred) {
            self.factor.colour_back(fields);
        }
        for (j, (out, slopes)) in out.iter_mut().zip(fields.chunks_exact(dim)).enumerate() {
            let (gradient, z) = (gradients.column_mut(j), z.column(j));
            *out = decided(*out, z);
            match self.coordinates {
                _ if *out == f64::NEG_INFINITY => gradient.fill(0.0),
                Centring::Centred => gradient.iter_mut().zip(slopes).for_each(|(g, slope)| *g += slope),
                Centring::NonCentred => {
                    gradient.iter_mut().zip(slopes).zip(z).for_each(|((g, slope), z)| *g = slope - z);
                }
            }
        }
    }
}

/// `-v - L^T diag(e^x / M^2) L v`, or `-K^-1 v - diag(e^x / M^2) v`.
impl Curvature for CoxProcess {
    fn hessian_vector_into(&self, z: &[f64], v: &[f64], out: &mut [f64], mut work: &mut [f64]) {
        let expected = borrow(&mut work, z.len());
        out.copy_from_slice(v);
        match self.coordinates {
            Centring::NonCentred => {
                expected.copy_from_slice(z);
                self.factor.colour_each(expected);
                self.likelihood(expected);
                self.factor.colour_each(out);
                out.iter_mut().zip(&*expected).for_each(|(out, expected)| *out *= expected);
                self.factor.colour_back(out);
                out.iter_mut().zip(v).for_each(|(out, v)| *out = -*out - v);
            }
            Centring::Centred => {
                Self::centred_into(z, expected);
                self.likelihood(expected);
                self.factor.whiten(out);
                self.factor.whiten_back(out);
                out.iter_mut()
                    .zip(&*expected)
                    .zip(v)
                    .for_each(|((out, expected), v)| *out = -*out - expected * v);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;

    #[test]
    fn points_fall_into_their_cells() {
        let points = [[0.0, 0.0], [0.99, 0.1], [0.2, 1.0], [1.0, 1.0], [0.6, 0.6]];
        assert_eq!(CoxProcess::counts(2, &points).unwrap(), [1.0, 1.0, 1.0, 2.0]);
        let refused = CoxProcess::counts(2, &[[0.5, 1.1]]).unwrap_err().to_string();
        assert_eq!(refused, "CoxProcess: point (0.5, 1.1) is outside the unit square");
        let refused = |counts: &[f64]| CoxProcess::new(2, counts, Centring::Centred).unwrap_err().to_string();
        assert_eq!(refused(&[1.0]), "CoxProcess: counts has length 1, expected 4");
        assert_eq!(
            refused(&[1.0, 0.5, 0.0, 0.0]),
            "CoxProcess: count is 0.5, expected a whole number of at least 0"
        );
    }

    #[test]
    fn drawn_points_are_in_the_square() {
        let process = CoxProcess::new(5, &[0.0; 25], Centring::Centred).unwrap();
        let points = process.draw_points(126, &mut Seed::new(3).stream(0, 0));
        let counts = CoxProcess::counts(5, &points).unwrap();
        assert_eq!((points.len(), counts.iter().sum::<f64>()), (126, 126.0));
        // A field of variance 1.91: cells are unequal, and 126 uniform points have no cell with 20.
        assert!(counts.iter().any(|count| *count >= 20.0));
    }
}
