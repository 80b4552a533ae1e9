//! Equivalent forms of a target: with a shifted log density, or in affine coordinates.

use std::borrow::Cow;

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Error, Gradient, Guide, LogDensity, Stream, same_length};

/// Target with a constant added to its log density; the distribution is unchanged.
///
/// ```
/// use mcsa_core::LogDensity;
/// let (target, z) = (mcsa_models::Banana::new(1.5, 0.4)?, [0.3, 0.1]);
/// let shifted = mcsa_theory::Shifted { target: &target, constant: 8.0 };
/// assert_eq!(shifted.log_density(&z, &mut []), target.log_density(&z, &mut []) + 8.0);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shifted<'a, P: ?Sized> {
    /// The target.
    pub target: &'a P,
    /// The constant added.
    pub constant: f64,
}

impl<P: LogDensity + ?Sized> LogDensity for Shifted<'_, P> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.target.work_len(columns)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.target.log_density(z, work) + self.constant
    }

    fn constrain(&self, z: &[f64], out: &mut Vec<(Cow<'static, str>, f64)>) {
        self.target.constrain(z, out);
    }
}

impl<P: Gradient + ?Sized> Gradient for Shifted<'_, P> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        self.target.gradient_into(z, gradient, work) + self.constant
    }
}

/// Affine change of coordinates `z = factor y + shift`, with a lower triangular factor.
///
/// ```
/// use faer::mat;
/// let map = mcsa_theory::Affine::new(mat![[2.0, 0.0], [1.0, 4.0]], vec![1.0, 0.0]).unwrap();
/// let mut y = [0.0; 2];
/// map.inverse_into(&[3.0, 5.0], &mut y);
/// assert_eq!(y, [1.0, 1.0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Affine {
    factor: Mat<f64>,
    shift: Vec<f64>,
}

impl Affine {
    /// A map with this factor, whose entries above the diagonal are not read, and this shift.
    ///
    /// # Errors
    /// If the shapes differ, or an entry of the diagonal is zero, subnormal, NaN or infinite.
    pub fn new(factor: Mat<f64>, shift: Vec<f64>) -> Result<Self, Error> {
        same_length("rows of a factor", shift.len(), factor.nrows())?;
        same_length("columns of a factor", shift.len(), factor.ncols())?;
        for i in 0..shift.len() {
            if !factor[(i, i)].is_normal() {
                return Err(Error::parameter("diagonal of a factor", factor[(i, i)], "not zero, and finite"));
            }
        }
        Ok(Self { factor, shift })
    }

    /// Writes `z = factor y + shift`.
    pub fn forward_into(&self, y: &[f64], z: &mut [f64]) {
        for (i, z) in z.iter_mut().enumerate() {
            *z = self.shift[i] + (0..=i).map(|j| self.factor[(i, j)] * y[j]).sum::<f64>();
        }
    }

    /// Writes `y = factor^-1 (z - shift)`.
    pub fn inverse_into(&self, z: &[f64], y: &mut [f64]) {
        for i in 0..z.len() {
            let known: f64 = (0..i).map(|j| self.factor[(i, j)] * y[j]).sum();
            y[i] = (z[i] - self.shift[i] - known) / self.factor[(i, i)];
        }
    }

    /// `log |det factor|`.
    fn log_volume(&self) -> f64 {
        (0..self.shift.len()).map(|i| self.factor[(i, i)].abs().ln()).sum()
    }

    pub(crate) fn each(&self, points: &Mat<f64>, map: fn(&Self, &[f64], &mut [f64])) -> Mat<f64> {
        let mut images = Mat::zeros(points.nrows(), points.ncols());
        for j in 0..points.ncols() {
            map(self, points.col_as_slice(j), images.col_as_slice_mut(j));
        }
        images
    }
}

/// Target in new coordinates: `log p(factor y + shift) + log |det factor|`.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_theory::{Affine, Moved};
/// let map = Affine::new(faer::mat![[2.0]], vec![1.0])?;
/// let (target, mut work) = (mcsa_models::Student::new(vec![0.0], vec![1.0], 3.0)?, [0.0]);
/// let moved = Moved { target: &target, map };
/// let expected = target.log_density(&[2.0], &mut []) + 2.0_f64.ln();
/// assert_eq!(moved.log_density(&[0.5], &mut work), expected);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Moved<'a, P: ?Sized> {
    /// The target.
    pub target: &'a P,
    /// The change of coordinates.
    pub map: Affine,
}

impl<P: LogDensity + ?Sized> LogDensity for Moved<'_, P> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn work_len(&self, columns: usize) -> usize {
        self.target.dim() + self.target.work_len(columns)
    }

    fn log_density(&self, y: &[f64], work: &mut [f64]) -> f64 {
        let (z, work) = work.split_at_mut(y.len());
        self.map.forward_into(y, z);
        self.target.log_density(z, work) + self.map.log_volume()
    }
}

/// Guide in new coordinates: the image of a full-rank family's distribution under the inverse map.
pub(crate) struct MovedGuide<'a> {
    pub(crate) guide: &'a mut dyn Guide,
    pub(crate) map: &'a Affine,
}

impl MovedGuide<'_> {
    fn add_volume(&self, log_q: &mut [f64]) {
        let volume = self.map.log_volume();
        log_q.iter_mut().for_each(|l| *l += volume);
    }
}

impl Guide for MovedGuide<'_> {
    fn dim(&self) -> usize {
        self.guide.dim()
    }

    fn log_probs(&mut self, y: MatRef<'_, f64>, log_q: &mut [f64]) {
        let mut z = Mat::zeros(y.nrows(), y.ncols());
        for j in 0..y.ncols() {
            self.map.forward_into(y.column(j), z.col_as_slice_mut(j));
        }
        self.guide.log_probs(z.as_ref(), log_q);
        self.add_volume(log_q);
    }

    fn sample_into(&mut self, lanes: &mut [Stream], mut y: MatMut<'_, f64>, log_q: &mut [f64]) {
        let mut z = Mat::zeros(y.nrows(), y.ncols());
        self.guide.sample_into(lanes, z.as_mut(), log_q);
        for j in 0..y.ncols() {
            self.map.inverse_into(z.col_as_slice(j), y.column_mut(j));
        }
        self.add_volume(log_q);
    }
}
