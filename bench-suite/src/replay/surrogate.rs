//! Log prior with a likelihood or its surrogate, which guides a path or ends it.

use mcsa_annealed::Surrogate;
use mcsa_core::numeric::dot;

use super::regression::Rows;

/// Prior `N(mean, scale^2 I)`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prior {
    pub(super) mean: Vec<f64>,
    pub(super) scale: f64,
}

/// Prior and log likelihood of a path's guide or target.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Joint {
    pub(super) prior: Prior,
    pub(super) likelihood: Likelihood,
}

/// Log likelihood, or a function in place of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Likelihood {
    /// Weighted rows.
    Rows(Rows),
    /// `a . z - z^T B z / 2`.
    Quadratic { a: Vec<f64>, b: Vec<f64> },
}

/// The parameters are those that the value itself holds, on their constrained scale; `psi` is not read.
impl Surrogate for Joint {
    fn dim(&self) -> usize {
        self.prior.mean.len()
    }

    fn num_params(&self) -> usize {
        match &self.likelihood {
            Likelihood::Rows(rows) => rows.num_params(),
            Likelihood::Quadratic { a, b } => a.len() + b.len(),
        }
    }

    fn gradient_into(
        &self,
        _: &[f64],
        _: &[f64],
        z: &[f64],
        gradient: &mut [f64],
        _: &mut [f64],
        _: &mut [f64],
    ) {
        let precision = 1.0 / (self.prior.scale * self.prior.scale);
        for (g, (z, mean)) in gradient.iter_mut().zip(z.iter().zip(&self.prior.mean)) {
            *g = -precision * (z - mean);
        }
        match &self.likelihood {
            Likelihood::Rows(rows) => rows.add_gradient(z, gradient),
            Likelihood::Quadratic { a, b } => {
                gradient.iter_mut().zip(a).for_each(|(g, a)| *g += a);
                add_symmetric(b, z, -1.0, gradient);
            }
        }
    }

    fn add_second(
        &self,
        _: &[f64],
        _: &[f64],
        _: &[f64],
        z: &[f64],
        u: &[f64],
        scale: f64,
        product: &mut [f64],
        params: &mut [f64],
        _: &mut [f64],
    ) {
        let precision = 1.0 / (self.prior.scale * self.prior.scale);
        product.iter_mut().zip(u).for_each(|(p, u)| *p -= scale * precision * u);
        match &self.likelihood {
            Likelihood::Rows(rows) => rows.add_second(z, u, scale, product, &mut rows.params(params)),
            Likelihood::Quadratic { a, b } => {
                add_symmetric(b, u, -scale, product);
                let d = a.len();
                let (a_bar, b_bar) = params.split_at_mut(d);
                for i in 0..d {
                    a_bar[i] += scale * u[i];
                    for j in 0..d {
                        b_bar[i * d + j] -= 0.5 * scale * (u[i] * z[j] + z[i] * u[j]);
                    }
                }
            }
        }
    }
}

/// `out += scale * (B + B^T) x / 2`.
fn add_symmetric(b: &[f64], x: &[f64], scale: f64, out: &mut [f64]) {
    let d = x.len();
    for i in 0..d {
        let column: f64 = (0..d).map(|j| b[j * d + i] * x[j]).sum();
        out[i] += 0.5 * scale * (dot(&b[i * d..(i + 1) * d], x) + column);
    }
}

impl Joint {
    /// Numbers in place of psi, which is not read.
    pub(super) fn own(&self) -> Vec<f64> {
        vec![0.0; self.num_params()]
    }

    /// Log joint density with its gradient; `params` is its derivative for the deviation of a linear regression.
    pub(super) fn value_and_gradient(&self, z: &[f64], gradient: &mut [f64], params: &mut [f64]) -> f64 {
        params.fill(0.0);
        let (scale, mean) = (self.prior.scale, &self.prior.mean);
        let squares: f64 = z.iter().zip(mean).map(|(z, mean)| (z - mean) * (z - mean)).sum();
        let log_scale = scale.ln() + 0.5 * std::f64::consts::TAU.ln();
        let log_prior = -0.5 * squares / (scale * scale) - z.len() as f64 * log_scale;
        match &self.likelihood {
            Likelihood::Rows(rows) => {
                for (g, (z, mean)) in gradient.iter_mut().zip(z.iter().zip(mean)) {
                    *g = -(z - mean) / (scale * scale);
                }
                log_prior + rows.add_value(z, gradient, params)
            }
            Likelihood::Quadratic { a, b } => {
                self.gradient_into(&[], &[], z, gradient, &mut [], &mut []);
                let d = z.len();
                let bent: f64 = (0..d).map(|i| z[i] * dot(&b[i * d..(i + 1) * d], z)).sum();
                log_prior + dot(a, z) - 0.5 * bent
            }
        }
    }
}
