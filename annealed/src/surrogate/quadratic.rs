use super::{Along, PathPoint, Sizes, Surrogate};
use faer::MatRef;
use mcsa_core::{Error, all_finite, checksum, numeric, same_length};

use mcsa_core::finite_matrix;
use mcsa_models::support::positive;

/// Quadratic surrogate: prior `N(m, s^2 I)` and a log likelihood that is a quadratic function.
///
/// ```text
/// g(z; psi) = -|z - m|^2 / (2 s^2) + a . z - z^T B z / 2,   psi = (a, B column by column)
/// ```
///
/// B counts through `(B + B^T) / 2`, and need not be positive definite. A linear regression is of this form, with
/// `a = X^T y / sigma^2` and `B = X^T X / sigma^2`.
///
/// ```
/// use mcsa_annealed::surrogate::{PathPoint, QuadraticSurrogate, Surrogate};
/// let surrogate = QuadraticSurrogate::new(&[1.0, 2.0], faer::mat![[3.0, 0.0], [0.0, 4.0]].as_ref(), vec![0.0; 2], 1.0)?;
/// let mut gradient = [0.0; 2];
/// let at = PathPoint { psi: &surrogate.initial(), memory: &[], z: &[1.0, 1.0] };
/// surrogate.gradient_into(at, &mut gradient, &mut [], &mut []);
/// assert_eq!(gradient, [-3.0, -3.0]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct QuadraticSurrogate {
    initial: Vec<f64>,
    prior_mean: Vec<f64>,
    precision: f64,
}

impl QuadraticSurrogate {
    /// A surrogate whose parameters start at `a` and `b`.
    ///
    /// # Errors
    /// If lengths differ, a number is not finite, or `prior_scale` is not positive.
    pub fn new(a: &[f64], b: MatRef<'_, f64>, prior_mean: Vec<f64>, prior_scale: f64) -> Result<Self, Error> {
        let within = |error: Error| error.within("QuadraticSurrogate");
        let check = || {
            for (name, length) in [("a", a.len()), ("rows of B", b.nrows()), ("columns of B", b.ncols())] {
                same_length(name, prior_mean.len(), length)?;
            }
            all_finite("a", a)?;
            finite_matrix("B", b)?;
            all_finite("prior mean", &prior_mean)?;
            positive("prior scale", prior_scale)
        };
        check().map_err(within)?;
        let columns = (0..b.ncols()).flat_map(|k| b.col(k).iter());
        let initial = a.iter().chain(columns).copied().collect();
        Ok(Self { initial, prior_mean, precision: prior_scale.powi(-2) })
    }

    /// Vector psi of the a and B that the surrogate was made with.
    pub fn initial(&self) -> Vec<f64> {
        self.initial.clone()
    }
}

/// `out -= scale (B + B^T) v / 2`.
fn subtract_product(b: &[f64], v: &[f64], scale: f64, out: &mut [f64]) {
    for (k, column) in b.chunks_exact(v.len()).enumerate() {
        out[k] -= 0.5 * scale * numeric::dot(column, v);
        numeric::axpy(-0.5 * scale * v[k], column, out);
    }
}

impl Surrogate for QuadraticSurrogate {
    fn sizes(&self) -> Sizes {
        Sizes { dim: self.prior_mean.len(), params: self.initial.len(), ..Sizes::default() }
    }

    fn config(&self) -> String {
        let numbers = self.initial.iter().chain(&self.prior_mean).chain([&self.precision]);
        format!("QuadraticSurrogate(data {:016x})", checksum(numbers.flat_map(|x| x.to_le_bytes())))
    }

    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], _: &mut [f64], _: &mut [f64]) {
        let PathPoint { psi, z, .. } = at;
        let (a, b) = psi.split_at(z.len());
        for (((g, a), z), mean) in gradient.iter_mut().zip(a).zip(z).zip(&self.prior_mean) {
            *g = a - self.precision * (z - mean);
        }
        subtract_product(b, z, 1.0, gradient);
    }

    fn add_second(&self, along: Along<'_>, product: &mut [f64], psi_bar: &mut [f64], _: &mut [f64]) {
        let Along { at: PathPoint { psi, z, .. }, u, scale, .. } = along;
        numeric::axpy(-scale * self.precision, u, product);
        subtract_product(&psi[u.len()..], u, scale, product);
        let (of_a, of_b) = psi_bar.split_at_mut(u.len());
        numeric::axpy(scale, u, of_a);
        for ((column, &u_k), &z_k) in of_b.chunks_exact_mut(u.len()).zip(u).zip(z) {
            numeric::axpy(-0.5 * scale * u_k, z, column);
            numeric::axpy(-0.5 * scale * z_k, u, column);
        }
    }
}
