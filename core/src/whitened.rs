//! Changes of coordinates, the affine one among them, and targets in new coordinates.

use faer::{Mat, MatMut, MatRef};
use serde::{Deserialize, Serialize};

use crate::{
    Columns, ColumnsMut, Error, Gradient, LogDensity, Named, Proposal, Stream, batch, bits, borrow,
    same_length,
};

/// Change of coordinates: a differentiable bijection `z = T(y)` of R^d, with its adjoint. Each method takes one point and allocates
/// nothing.
///
/// A chain that leaves `log p(T(y)) + log |det dT/dy|` invariant in `y` leaves p invariant in `z`, whatever the fixed map is.
pub trait Transport: Send + Sync {
    /// The dimension of the points.
    fn dim(&self) -> usize;

    /// Length of the slice `work` that any method needs.
    fn work_len(&self) -> usize {
        0
    }

    /// Writes the image `z = T(y)` and returns `log |det dT/dy|`.
    fn image_into(&self, y: &[f64], z: &mut [f64], work: &mut [f64]) -> f64;

    /// Writes the point `y` whose image is `z` and returns `log |det dT/dy|` there.
    fn preimage_into(&self, z: &[f64], y: &mut [f64], work: &mut [f64]) -> f64;

    /// Replaces the gradient of `log p` at `T(y)` by the gradient in `y` of `log p(T(y)) + log |det dT/dy|`.
    fn pull_back(&self, y: &[f64], gradient: &mut [f64], work: &mut [f64]);
}

/// Affine map `z = shift + factor y` with a lower triangular factor.
///
/// ```
/// use faer::mat;
/// let map = mcsa_core::AffineMap::new(vec![1.0, 0.0], mat![[2.0, 0.0], [1.0, 4.0]])?;
/// let mut y = [0.0; 2];
/// map.inverse_into(&[3.0, 5.0], &mut y);
/// assert_eq!(y, [1.0, 1.0]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AffineMap {
    #[serde(with = "bits::vector")]
    shift: Vec<f64>,
    #[serde(with = "bits::matrix")]
    factor: Mat<f64>,
    #[serde(with = "bits::scalar")]
    log_volume: f64,
}

impl AffineMap {
    /// A map with this shift and this factor, whose entries above the diagonal are not read.
    ///
    /// # Errors
    /// If the shapes differ, an entry is not finite, or one of the diagonal is zero or subnormal.
    pub fn new(shift: Vec<f64>, factor: Mat<f64>) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("AffineMap");
        same_length("rows of the factor", shift.len(), factor.nrows())
            .and_then(|()| same_length("columns of the factor", shift.len(), factor.ncols()))
            .and_then(|()| crate::all_finite("shift", &shift))
            .map_err(refuse)?;
        for j in 0..shift.len() {
            crate::all_finite("factor", &factor.col_as_slice(j)[j..]).map_err(refuse)?;
            if !factor[(j, j)].is_normal() {
                let error =
                    Error::parameter("diagonal of the factor", factor[(j, j)], "not zero, and finite");
                return Err(refuse(error));
            }
        }
        let log_volume = (0..shift.len()).map(|i| factor[(i, i)].abs().ln()).sum();
        Ok(Self { shift, factor, log_volume })
    }

    /// Writes `z = shift + factor y`.
    pub fn forward_into(&self, y: &[f64], z: &mut [f64]) {
        z.copy_from_slice(&self.shift);
        for (j, &y) in y.iter().enumerate() {
            let column = &self.factor.col_as_slice(j)[j..];
            z[j..].iter_mut().zip(column).for_each(|(z, factor)| *z += factor * y);
        }
    }

    /// Writes `y = factor^-1 (z - shift)`.
    pub fn inverse_into(&self, z: &[f64], y: &mut [f64]) {
        // By columns of the factor: entry i holds its sum over the coordinates before it, until its turn comes.
        y.fill(-0.0);
        for j in 0..z.len() {
            let column = &self.factor.col_as_slice(j)[j..];
            let (found, rest) = y[j..].split_at_mut(1);
            found[0] = (z[j] - self.shift[j] - found[0]) / column[0];
            rest.iter_mut().zip(&column[1..]).for_each(|(known, factor)| *known += factor * found[0]);
        }
    }

    /// `log |det factor|`.
    pub fn log_volume(&self) -> f64 {
        self.log_volume
    }

    /// The images `shift + factor y` of points, one per column.
    pub fn forward(&self, points: MatRef<'_, f64>) -> Mat<f64> {
        self.each(points, Self::forward_into)
    }

    /// The points whose images are the columns of `points`.
    pub fn inverse(&self, points: MatRef<'_, f64>) -> Mat<f64> {
        self.each(points, Self::inverse_into)
    }

    fn each(&self, points: MatRef<'_, f64>, map: fn(&Self, &[f64], &mut [f64])) -> Mat<f64> {
        let (mut images, mut point) = (Mat::zeros(points.nrows(), points.ncols()), vec![0.0; points.nrows()]);
        for j in 0..points.ncols() {
            point.iter_mut().zip(points.col(j).iter()).for_each(|(copy, z)| *copy = *z);
            map(self, &point, images.col_as_slice_mut(j));
        }
        images
    }
}

impl Transport for AffineMap {
    fn dim(&self) -> usize {
        self.shift.len()
    }

    fn image_into(&self, y: &[f64], z: &mut [f64], _: &mut [f64]) -> f64 {
        self.forward_into(y, z);
        self.log_volume
    }

    fn preimage_into(&self, z: &[f64], y: &mut [f64], _: &mut [f64]) -> f64 {
        self.inverse_into(z, y);
        self.log_volume
    }

    fn pull_back(&self, _: &[f64], gradient: &mut [f64], _: &mut [f64]) {
        for j in 0..gradient.len() {
            let column = &self.factor.col_as_slice(j)[j..];
            gradient[j] = column.iter().zip(&gradient[j..]).map(|(factor, slope)| factor * slope).sum();
        }
    }
}

/// Target in the coordinates `y` of a map `z = T(y)`; the usual map is `z = mean + L y`, in units of a given covariance `L L^T`.
///
/// ```text
/// log p_white(y) = log p(mean + L y) + log |det L|
/// ```
/// The rate of an optimiser such as Adam, and the step size of a kernel, are in units of the coordinates. In coordinates with
/// posterior standard deviations of 0.01 and 100, no rate serves both. With mean and covariance of a start, such as a Laplace
/// approximation, all coordinates have standard deviations of about 1, and one rate serves all: 0.01 is one hundredth of a
/// standard deviation. [`map`](Self::map) brings points back.
///
/// ```
/// use faer::mat;
/// use mcsa_core::{AffineMap, LogDensity, Whitened, from_fn};
/// // Standard deviations of 0.01 and 100 about (3, -50).
/// let target = from_fn(2, |z| -0.5 * (((z[0] - 3.0) / 0.01).powi(2) + ((z[1] + 50.0) / 100.0).powi(2)));
/// let white = Whitened::new(&target, AffineMap::new(vec![3.0, -50.0], mat![[0.01, 0.0], [0.0, 100.0]])?)?;
/// let fall = white.log_density(&[0.0, 0.0], &mut [0.0; 4]) - white.log_density(&[1.0, 1.0], &mut [0.0; 4]);
/// assert!((fall - 1.0).abs() < 1e-9);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Whitened<'p, P: ?Sized, M = AffineMap> {
    target: &'p P,
    map: M,
}

impl<'p, P: LogDensity + ?Sized, M: Transport> Whitened<'p, P, M> {
    /// The target `target` in the coordinates `y` of `map`: `z = map(y)`.
    ///
    /// # Errors
    /// If the dimensions differ.
    pub fn new(target: &'p P, map: M) -> Result<Self, Error> {
        same_length("shift", target.dim(), map.dim()).map_err(|error| error.within("Whitened"))?;
        Ok(Self { target, map })
    }

    /// The map from the whitened coordinates to those of the target.
    pub fn map(&self) -> &M {
        &self.map
    }

    /// Images of points, their log-Jacobians, and memory for the map.
    fn images<'w>(
        &self,
        y: MatRef<'_, f64>,
        work: &mut &'w mut [f64],
    ) -> (MatRef<'w, f64>, &'w [f64], &'w mut [f64]) {
        let (dim, columns) = (y.nrows(), y.ncols());
        let (z, log_volumes) = (borrow(work, dim * columns), borrow(work, columns));
        let room = borrow(work, self.map.work_len());
        for (j, log_volume) in log_volumes.iter_mut().enumerate() {
            *log_volume = self.map.image_into(y.column(j), &mut z[j * dim..][..dim], room);
        }
        (batch(z, dim, columns), log_volumes, room)
    }
}

impl<P: LogDensity + ?Sized, M: Transport> LogDensity for Whitened<'_, P, M> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        (self.target.dim() + 1) * columns.max(1) + self.map.work_len() + self.target.work_len(columns)
    }

    fn log_density(&self, y: &[f64], mut work: &mut [f64]) -> f64 {
        let (z, room) = (borrow(&mut work, y.len()), borrow(&mut work, self.map.work_len()));
        let log_volume = self.map.image_into(y, z, room);
        self.target.log_density(z, work) + log_volume
    }

    fn log_densities(&self, y: MatRef<'_, f64>, out: &mut [f64], mut work: &mut [f64]) {
        let (z, log_volumes, _) = self.images(y, &mut work);
        self.target.log_densities(z, out, work);
        out.iter_mut().zip(log_volumes).for_each(|(log_p, log_volume)| *log_p += log_volume);
    }

    fn constrain(&self, y: &[f64], out: &mut Named) {
        let mut z = vec![0.0; y.len()];
        self.map.image_into(y, &mut z, &mut vec![0.0; self.map.work_len()]);
        self.target.constrain(&z, out);
    }
}

impl<P: Gradient + ?Sized, M: Transport> Gradient for Whitened<'_, P, M> {
    fn gradient_into(&self, y: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        let (z, room) = (borrow(&mut work, y.len()), borrow(&mut work, self.map.work_len()));
        let log_volume = self.map.image_into(y, z, room);
        let log_p = self.target.gradient_into(z, gradient, work);
        self.map.pull_back(y, gradient, room);
        log_p + log_volume
    }

    fn gradients_into(
        &self,
        y: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        let (z, log_volumes, room) = self.images(y, &mut work);
        self.target.gradients_into(z, out, gradients.as_mut(), work);
        for (j, log_p) in out.iter_mut().enumerate() {
            *log_p += log_volumes[j];
            self.map.pull_back(y.column(j), gradients.column_mut(j), room);
        }
    }
}

/// Proposal in the coordinates `y` of a map, `z = map(y)`: its log densities are `log q(map(y)) + log |det factor|`.
pub struct WhitenedProposal<'a> {
    /// The proposal of z.
    pub proposal: &'a mut dyn Proposal,
    /// The map from y to z.
    pub map: &'a AffineMap,
}

impl Proposal for WhitenedProposal<'_> {
    fn dim(&self) -> usize {
        self.proposal.dim()
    }

    fn log_probs(&mut self, y: MatRef<'_, f64>, log_q: &mut [f64]) {
        self.proposal.log_probs(self.map.forward(y).as_ref(), log_q);
        log_q.iter_mut().for_each(|log_q| *log_q += self.map.log_volume);
    }

    fn sample_into(&mut self, lanes: &mut [Stream], mut y: MatMut<'_, f64>, log_q: &mut [f64]) {
        self.proposal.sample_into(lanes, y.as_mut(), log_q);
        log_q.iter_mut().for_each(|log_q| *log_q += self.map.log_volume);
        y.copy_from(self.map.inverse(y.as_ref()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_fn;
    use faer::mat;

    fn quartic() -> impl Gradient {
        let log_density = |z: &[f64]| -z[0].powi(4) - z[0] * z[1] - 0.5 * z[1] * z[1];
        from_fn(2, log_density).with_gradient(|z, gradient| {
            gradient.copy_from_slice(&[-4.0 * z[0].powi(3) - z[1], -z[0] - z[1]]);
        })
    }

    fn white<P: Gradient>(target: &P) -> Whitened<'_, P> {
        // What stands above the diagonal is not read.
        let map = AffineMap::new(vec![0.3, -1.0], mat![[0.5, f64::NAN], [-2.0, -3.0]]).unwrap();
        Whitened::new(target, map).unwrap()
    }

    #[test]
    fn density_and_gradient_are_those_of_the_image() {
        let target = quartic();
        let (white, y, mut work) = (white(&target), [0.7, -0.2], [0.0; 8]);
        let z = [0.3 + 0.5 * 0.7, -1.0 - 2.0 * 0.7 + 3.0 * 0.2];
        let expected = target.log_density(&z, &mut []) + 1.5_f64.ln();
        assert!((white.log_density(&y, &mut work) - expected).abs() < 1e-14);
        let (mut gradient, h) = ([0.0; 2], 1e-6);
        assert!((white.gradient_into(&y, &mut gradient, &mut work) - expected).abs() < 1e-14);
        for k in 0..2 {
            let mut at = |step: f64| {
                let mut y = y;
                y[k] += step;
                white.log_density(&y, &mut work)
            };
            assert!((gradient[k] - (at(h) - at(-h)) / (2.0 * h)).abs() < 1e-7, "{k}");
        }
    }

    #[test]
    fn batches_are_bit_identical_to_single_points() {
        let target = quartic();
        let (white, y) = (white(&target), mat![[0.1, 0.7, -2.0], [0.0, -0.2, 5.0]]);
        let mut work = vec![0.0; white.work_len(3)];
        let (mut out, mut slopes, mut plain) = ([0.0; 3], Mat::zeros(2, 3), [0.0; 3]);
        white.log_densities(y.as_ref(), &mut plain, &mut work);
        white.gradients_into(y.as_ref(), &mut out, slopes.as_mut(), &mut work);
        for j in 0..3 {
            let mut gradient = [0.0; 2];
            let log_p = white.gradient_into(y.col_as_slice(j), &mut gradient, &mut work);
            assert_eq!((out[j], plain[j], slopes.col_as_slice(j)), (log_p, log_p, &gradient[..]));
        }
        let there = white.map().forward(y.as_ref());
        let back = white.map().inverse(there.as_ref());
        assert!((0..2).all(|i| (0..3).all(|j| (back[(i, j)] - y[(i, j)]).abs() < 1e-13)));
    }

    #[test]
    fn impossible_maps_are_refused_by_name() {
        let told = |shift: &[f64], factor| AffineMap::new(shift.to_vec(), factor).unwrap_err().to_string();
        assert!(told(&[0.0], Mat::zeros(2, 1)).starts_with("AffineMap: rows of the factor"));
        assert!(told(&[f64::NAN], mat![[1.0]]).contains("shift"));
        assert!(told(&[0.0], mat![[0.0]]).contains("diagonal of the factor"));
        assert!(told(&[0.0; 2], mat![[1.0, 0.0], [f64::INFINITY, 1.0]]).contains("factor"));
        let small = AffineMap::new(vec![0.0], mat![[1.0]]).unwrap();
        assert!(Whitened::new(&quartic(), small).err().unwrap().to_string().starts_with("Whitened: shift"));
    }
}
