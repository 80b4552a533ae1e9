//! Families fitted by running moments: natural-gradient and online EM steps.

use faer::MatRef;

use mcsa_core::Family;

/// Family that is determined by the moments `E_q[T]` of a statistic T, such as mean and covariance of a Gaussian, with the
/// natural-gradient step of the inclusive divergence.
///
/// ```text
/// E_q'[T] = (1 - gain) E_q[T] + gain sum_i w_i T(z_i)
/// ```
/// In an exponential family the natural gradient of `-KL(p || q)` in lambda moves `E_q[T]` along `E_p[T] - E_q[T]`. So the step above
/// is a natural-gradient step of length `gain`, with the weighted points in the place of p, and a running mean of moments.
///
/// Other families take T to be the expected statistic of an exponential family with latent variables, given the point and lambda:
/// the step is one of online EM (Cappe & Moulines 2009). In both cases the lambdas that the expected step leaves where they are, as
/// `gain` goes to zero, are the stationary points of `KL(p || q)`.
pub trait MomentMatched: Family {
    /// Writes lambda after a step of length `gain` in `(0, 1]` from `params` to `matched`. The weights of the columns of `points` are
    /// not negative and sum to one; `work` is as for a batch of as many columns.
    ///
    /// Returns false if no member of the family has these moments, or none that [`check`](mcsa_core::Parametric::check) admits; the
    /// contents of `matched` are then undefined.
    ///
    /// # Panics
    /// If the shapes differ.
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        work: &mut [f64],
    ) -> bool;
}
