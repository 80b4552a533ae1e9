//! Test case: a family at fixed parameters, with the settings of the laws.

use std::fmt;
use std::sync::Arc;

use crate::law::LeftOut;
use faer::{Mat, MatRef};
use mcsa_core::numeric::quadrature::Map;
use mcsa_core::{Columns, Error, Family, Parametric, Reparameterised, Seed, Stream};

use super::LAWS;

/// Function `knots(params, z, i)`: values of coordinate `i` at which the score has a kink or a jump on the line through `z` along that
/// coordinate, in any order.
pub type Knots = Arc<dyn Fn(&[f64], &[f64], usize) -> Vec<f64>>;

/// Test case of the laws: a family at fixed parameters lambda, with settings.
#[derive(Clone)]
pub struct Case<F: ?Sized> {
    /// Lambda.
    pub params: Vec<f64>,
    /// Map of the line for quadrature; [`Map::SinhSinh`] for tails heavier than exponential.
    pub map: Map,
    /// Seed of the points at which the laws are tested.
    pub seed: Seed,
    /// Kinks and jumps of the score, at which quadrature splits and which differences avoid. In two dimensions the knots of the
    /// second coordinate must not depend on the first.
    pub knots: Option<Knots>,
    /// Largest number of draws with which a law may try to detect an error of one per cent in the scale of draws, or of 1e-3 in
    /// `log q`.
    pub draws: usize,
    /// Laws that [`check`](super::check), [`report`](super::report) and [`family_suite!`](crate::family_suite) leave out.
    pub left_out: LeftOut,
    /// The family. It is the last field, so that a reference to a case of any family is one to a case of a trait object: the laws are
    /// compiled once for all families.
    pub family: F,
}

impl<F: ?Sized> fmt::Debug for Case<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { params, left_out, .. } = self;
        f.debug_struct("Case").field("params", params).field("left_out", left_out).finish_non_exhaustive()
    }
}

impl<F> Case<F> {
    /// Case with settings for light tails, seed 1, no knots, at most 2^18 draws, and all laws.
    pub fn new(family: F, params: Vec<f64>) -> Self {
        let (map, seed, left_out) = (Map::Sinh, Seed::new(1), LeftOut::default());
        Self { params, map, seed, knots: None, draws: 1 << 18, left_out, family }
    }

    /// This case for a score that has kinks or jumps, at `knots(family, params, z, i)`; see [`Knots`].
    #[must_use]
    pub fn with_knots(self, knots: fn(&F, &[f64], &[f64], usize) -> Vec<f64>) -> Self
    where
        F: Clone + 'static,
    {
        let family = self.family.clone();
        Self { knots: Some(Arc::new(move |params, z, i| knots(&family, params, z, i))), ..self }
    }

    /// This case without one law, for a reason that the report repeats.
    ///
    /// # Errors
    /// If no law has this name, or the reason is empty.
    pub fn without(mut self, law: &str, reason: &'static str) -> Result<Self, Error> {
        self.left_out.add(LAWS, law, reason)?;
        Ok(self)
    }

    /// This case integrated on another map of the line.
    #[must_use]
    pub fn with_map(self, map: Map) -> Self {
        Self { map, ..self }
    }
}

impl<F: ?Sized> Case<F> {
    pub(super) fn stream(&self, name: &str) -> Stream {
        self.seed.named(name).stream(0, 0)
    }
}

impl<F: Parametric + ?Sized> Case<F> {
    /// Lent memory, filled with NaN.
    pub(super) fn work(&self, columns: usize) -> Vec<f64> {
        vec![f64::NAN; self.family.work_len(columns)]
    }
}

impl<F: Family + ?Sized> Case<F> {
    pub(super) fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>) -> Vec<f64> {
        let mut log_q = vec![f64::NAN; z.ncols()];
        self.family.log_probs(params, z, &mut log_q, &mut self.work(z.ncols()));
        log_q
    }

    /// The score at each column of `z`.
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

    /// Draws of one lane, and their log densities.
    pub(super) fn draw(&self, columns: usize, stream: &mut Stream) -> (Mat<f64>, Vec<f64>) {
        let mut z = Mat::full(self.family.dim(), columns, f64::NAN);
        let mut log_q = vec![f64::NAN; columns];
        let lanes = std::slice::from_mut(stream);
        self.family.sample_into(&self.params, lanes, z.as_mut(), &mut log_q, &mut self.work(columns));
        (z, log_q)
    }

    /// Points at which the laws are tested: draws, every second one multiplied by 1.5, all at a distance from the knots.
    pub(super) fn points(&self, columns: usize) -> Mat<f64> {
        let (z, _) = self.draw(columns, &mut self.stream("points"));
        let mut z =
            Mat::from_fn(z.nrows(), z.ncols(), |i, j| if j % 2 == 1 { 1.5 * z[(i, j)] } else { z[(i, j)] });
        if self.knots.is_some() {
            let spreads = self.spreads();
            for j in 0..columns {
                for (i, &(_, width)) in spreads.iter().enumerate() {
                    let knots = self.knots_at(z.as_ref().column(j), i);
                    z[(i, j)] = away(z[(i, j)], &knots, width / 16.0);
                }
            }
        }
        z
    }

    /// The knots of coordinate `i` on the line through `z`, sorted.
    pub(super) fn knots_at(&self, z: &[f64], i: usize) -> Vec<f64> {
        let mut knots = self.knots.as_ref().map_or_else(Vec::new, |knots| knots(&self.params, z, i));
        knots.sort_by(f64::total_cmp);
        knots.dedup();
        knots
    }

    /// Median and interquartile range of each coordinate, over 1025 draws.
    pub(super) fn spreads(&self) -> Vec<(f64, f64)> {
        let (z, _) = self.draw(1025, &mut self.stream("spread"));
        (0..z.nrows()).map(|i| spread((0..z.ncols()).map(|j| z[(i, j)]).collect())).collect()
    }
}

/// Median and interquartile range; the range is replaced by one if it is not positive and finite.
pub(super) fn spread(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |share: usize| values[share * (values.len() - 1) / 4];
    let width = at(3) - at(1);
    (at(2), if width > 0.0 && width.is_finite() { width } else { 1.0 })
}

/// The point nearest to `x` whose distance to every knot (sorted) is at least `margin`, or a quarter of the gap between two knots.
fn away(x: f64, knots: &[f64], margin: f64) -> f64 {
    let above = knots.partition_point(|&knot| knot <= x);
    let (low, high) = (above.checked_sub(1).map(|k| knots[k]), knots.get(above).copied());
    let margin = low.zip(high).map_or(margin, |(low, high)| margin.min(0.25 * (high - low)));
    let x = low.map_or(x, |low| x.max(low + margin));
    high.map_or(x, |high| x.min(high - margin))
}

/// Draws of the noise, and the points to which it is transported.
pub(super) fn transported(
    case: &Case<dyn Reparameterised + '_>,
    columns: usize,
    stream: &mut Stream,
) -> (Mat<f64>, Mat<f64>) {
    let family = &case.family;
    let mut noise = Mat::full(family.noise_dim(), columns, f64::NAN);
    let mut z = Mat::full(family.dim(), columns, f64::NAN);
    family.sample_noise_into(std::slice::from_mut(stream), noise.as_mut());
    family.transport(&case.params, noise.as_ref(), z.as_mut(), &mut case.work(columns));
    (noise, z)
}

/// Matrix of standard normals.
pub(super) fn normals(rows: usize, columns: usize, stream: &mut Stream) -> Mat<f64> {
    Mat::from_fn(rows, columns, |_, _| stream.normal())
}
