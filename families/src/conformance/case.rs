//! A family at one lambda, under examination.

use faer::{Mat, MatRef};
use mcsa::{Family, Seed, Stream};

use super::Map;

/// A family at one lambda, under examination.
///
/// ```
/// use mcsa_families::{MeanField, conformance::Case};
/// let q = MeanField::new(1);
/// let case = Case::new(q, q.at(&[0.0], &[2.0])?);
/// assert_eq!(case.family.dim, 1);
/// # Ok::<(), mcsa::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Case<F> {
    /// The family.
    pub family: F,
    /// Lambda.
    pub params: Vec<f64>,
    /// How quadrature covers the line; [`Map::SinhSinh`] for tails heavier than exponential.
    pub map: Map,
    /// Where the points come from at which the laws are tried.
    pub seed: Seed,
}

impl<F> Case<F> {
    /// With light tails and seed 1.
    pub fn new(family: F, params: Vec<f64>) -> Self {
        Self { family, params, map: Map::Sinh, seed: Seed::new(1) }
    }

    /// The same, integrated on another map of the line.
    #[must_use]
    pub fn with_map(self, map: Map) -> Self {
        Self { map, ..self }
    }

    /// The same, tried at other points.
    #[must_use]
    pub fn with_seed(self, seed: Seed) -> Self {
        Self { seed, ..self }
    }

    pub(super) fn stream(&self, name: &str) -> Stream {
        self.seed.named(name).stream(0, 0)
    }
}

impl<F: Family> Case<F> {
    /// Lent memory, full of NaN.
    pub(super) fn work(&self, columns: usize) -> Vec<f64> {
        vec![f64::NAN; self.family.work_len(columns)]
    }

    pub(super) fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>) -> Vec<f64> {
        let mut log_q = vec![f64::NAN; z.ncols()];
        self.family.log_probs(params, z, &mut log_q, &mut self.work(z.ncols()));
        log_q
    }

    /// The score of each column.
    pub(super) fn scores(&self, z: MatRef<'_, f64>) -> Vec<Vec<f64>> {
        (0..z.ncols())
            .map(|j| {
                let mut score = vec![0.0; self.family.num_params()];
                let column = z.subcols(j, 1);
                self.family.add_scores(&self.params, column, &[1.0], &mut score, &mut self.work(1));
                score
            })
            .collect()
    }

    /// Draws by one lane, and their log densities.
    pub(super) fn draw(&self, columns: usize, stream: &mut Stream) -> (Mat<f64>, Vec<f64>) {
        let mut z = Mat::full(self.family.dim(), columns, f64::NAN);
        let mut log_q = vec![f64::NAN; columns];
        let lanes = std::slice::from_mut(stream);
        self.family.sample_into(&self.params, lanes, z.as_mut(), &mut log_q, &mut self.work(columns));
        (z, log_q)
    }

    /// Points to try the laws at: draws, every second one moved half as far again from the origin.
    pub(super) fn points(&self, columns: usize) -> Mat<f64> {
        let (z, _) = self.draw(columns, &mut self.stream("points"));
        Mat::from_fn(z.nrows(), z.ncols(), |i, j| if j % 2 == 1 { 1.5 * z[(i, j)] } else { z[(i, j)] })
    }
}

/// Standard normals, as a matrix.
pub(super) fn normals(rows: usize, columns: usize, stream: &mut Stream) -> Mat<f64> {
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}
