//! Gaussian base of a path.

use mcsa_core::numeric::dot;
use mcsa_core::{Error, same_length};

/// Form of the scale of a [`Base`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// d standard deviations: the mean-field base.
    Diagonal,
    /// Lower-triangular factor L of the covariance `L L^T`, d rows of d entries: the full-rank base.
    Lower,
}

/// Gaussian `N(mean, L L^T)` that draws the first point of a path, `z_0 = mean + L eps`.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    pub(super) mean: Vec<f64>,
    pub(super) shape: Shape,
    pub(super) scale: Vec<f64>,
}

impl Base {
    /// Base with a diagonal `scale` of d entries, or a lower-triangular one of `d * d`.
    ///
    /// # Errors
    /// If lengths differ, an entry is not finite, the diagonal is not positive or an entry above it is not zero.
    pub fn new(mean: Vec<f64>, shape: Shape, scale: Vec<f64>) -> Result<Self, Error> {
        let d = mean.len();
        if d == 0 {
            return Err(Error::invalid("the base has dimension 0"));
        }
        same_length("scale of the base", if shape == Shape::Diagonal { d } else { d * d }, scale.len())?;
        if let Some(&x) = mean.iter().find(|x| !x.is_finite()) {
            return Err(Error::parameter("mean of the base", x, "finite"));
        }
        for (k, &x) in scale.iter().enumerate() {
            let (row, column) = if shape == Shape::Diagonal { (k, k) } else { (k / d, k % d) };
            let (right, expected) = match row.cmp(&column) {
                std::cmp::Ordering::Less => (x == 0.0, "zero above the diagonal"),
                std::cmp::Ordering::Equal => (x > 0.0 && x.is_finite(), "positive and finite"),
                std::cmp::Ordering::Greater => (x.is_finite(), "finite"),
            };
            if !right {
                return Err(Error::parameter("scale of the base", x, expected));
            }
        }
        Ok(Self { mean, shape, scale })
    }

    pub(super) fn dim(&self) -> usize {
        self.mean.len()
    }

    /// `z = mean + L eps`.
    pub(super) fn draw(&self, eps: &[f64], z: &mut [f64]) {
        let d = self.dim();
        for i in 0..d {
            z[i] = self.mean[i]
                + match self.shape {
                    Shape::Diagonal => self.scale[i] * eps[i],
                    Shape::Lower => dot(&self.scale[i * d..=i * d + i], &eps[..=i]),
                };
        }
    }

    /// `log q(mean + L eps) = -|eps|^2 / 2 - sum_i log L_ii - d log(2 pi) / 2`.
    pub(super) fn log_density(&self, eps: &[f64]) -> f64 {
        let d = self.dim();
        let stride = if self.shape == Shape::Diagonal { 1 } else { d + 1 };
        let log_scale: f64 = self.scale.iter().step_by(stride).map(|x| x.ln()).sum();
        -0.5 * dot(eps, eps) - log_scale - 0.5 * d as f64 * std::f64::consts::TAU.ln()
    }

    /// `out = d log q(z) / dz = -L^-T L^-1 (z - mean)`; `whitened = L^-1 (z - mean)`.
    pub(super) fn gradient_into(&self, z: &[f64], whitened: &mut [f64], out: &mut [f64]) {
        for ((w, z), mean) in whitened.iter_mut().zip(z).zip(&self.mean) {
            *w = z - mean;
        }
        self.solve(whitened);
        out.copy_from_slice(whitened);
        self.solve_transposed(out);
        out.iter_mut().for_each(|x| *x = -*x);
    }

    /// Second derivatives of `log q(z)`, times `share`: adds `-share * L^-T L^-1 u` to `product`, and the derivatives of
    /// `share * (u . d log q(z) / dz)` to `mean` and `scale`. `rooms` are four vectors of length d.
    pub(super) fn add_second(
        &self,
        (z, u, share): (&[f64], &[f64], f64),
        product: &mut [f64],
        (mean, scale): (&mut [f64], &mut [f64]),
        rooms: &mut [f64],
    ) {
        let d = self.dim();
        let (whitened, rest) = rooms.split_at_mut(d);
        let (gradient, rest) = rest.split_at_mut(d);
        let (half, rest) = rest.split_at_mut(d);
        let whole = &mut rest[..d];
        self.gradient_into(z, whitened, gradient);
        half.copy_from_slice(u);
        self.solve(half);
        whole.copy_from_slice(half);
        self.solve_transposed(whole);
        for i in 0..d {
            product[i] -= share * whole[i];
            mean[i] += share * whole[i];
        }
        // d/dL_ij of -u . L^-T L^-1 (z - mean).
        match self.shape {
            Shape::Diagonal => {
                for i in 0..d {
                    scale[i] += share * (whole[i] * whitened[i] - gradient[i] * half[i]);
                }
            }
            Shape::Lower => {
                for i in 0..d {
                    for j in 0..=i {
                        scale[i * d + j] += share * (whole[i] * whitened[j] - gradient[i] * half[j]);
                    }
                }
            }
        }
    }

    /// Derivatives of the draw and of `-log q(z_0)`: `mean += bar`, `scale += tril(bar eps^T) + diag(1 / L_ii)`.
    pub(super) fn add_draw(&self, bar: &[f64], eps: &[f64], mean: &mut [f64], scale: &mut [f64]) {
        let d = self.dim();
        for i in 0..d {
            mean[i] += bar[i];
            match self.shape {
                Shape::Diagonal => scale[i] += bar[i] * eps[i] + 1.0 / self.scale[i],
                Shape::Lower => {
                    for j in 0..=i {
                        scale[i * d + j] += bar[i] * eps[j];
                    }
                    scale[i * d + i] += 1.0 / self.scale[i * d + i];
                }
            }
        }
    }

    /// `x = L^-1 x`.
    fn solve(&self, x: &mut [f64]) {
        let d = self.dim();
        for i in 0..d {
            match self.shape {
                Shape::Diagonal => x[i] /= self.scale[i],
                Shape::Lower => {
                    let known = dot(&self.scale[i * d..i * d + i], &x[..i]);
                    x[i] = (x[i] - known) / self.scale[i * d + i];
                }
            }
        }
    }

    /// `x = L^-T x`.
    fn solve_transposed(&self, x: &mut [f64]) {
        let d = self.dim();
        for i in (0..d).rev() {
            match self.shape {
                Shape::Diagonal => x[i] /= self.scale[i],
                Shape::Lower => {
                    let known: f64 = (i + 1..d).map(|k| self.scale[k * d + i] * x[k]).sum();
                    x[i] = (x[i] - known) / self.scale[i * d + i];
                }
            }
        }
    }
}
