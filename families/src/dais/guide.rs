//! Guide of a path, and the target of its bound.

/// Unnormalised log density `g(z)` along which a path is annealed: log prior and a full, minibatch or surrogate likelihood.
///
/// It may have parameters psi; the reverse sweep needs the gradient of g, and products with its two second derivatives.
pub trait Guide {
    /// Dimension of z.
    fn dim(&self) -> usize;

    /// Number of parameters psi.
    fn num_params(&self) -> usize;

    /// `gradient = d g / dz`.
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64]);

    /// `product += scale * (d^2 g / dz^2) u`, and `params += scale * d/dpsi [u . dg/dz]`.
    fn add_second(&self, z: &[f64], u: &[f64], scale: f64, product: &mut [f64], params: &mut [f64]);
}

/// Log joint density `f(z) = log p(z) + log p(D | z)` at the end of a path, or an unbiased estimate of it.
pub trait Target {
    /// Dimension of z.
    fn dim(&self) -> usize;

    /// Number of parameters theta.
    fn num_params(&self) -> usize;

    /// `f(z)`, with `gradient = df/dz` and `params = df/dtheta`.
    fn value_and_gradient(&self, z: &[f64], gradient: &mut [f64], params: &mut [f64]) -> f64;
}
