use std::f64::consts::PI;

use faer::MatRef;
use mcsa_core::{Error, Gradient, LogDensity, Named, all_finite, borrow, numeric, same_length};

use super::field::Slopes;
use super::prediction::{predict, predict_each};
use super::{Field, Scales};
use crate::support::{decided, zeros_and_ones};
use crate::{Link, Logistic};

/// Gaussian process classification with logistic link and Matern 5/2 covariance. (MCMC-SE)
///
/// ```text
/// log a, log s, log l_k ~ N(0, 1),   f ~ N(0, a^2 k(x / l) + (s^2 + 1e-6) I),   P(y_i = 1) = 1/(1 + e^-f_i)
/// k = (1 + r sqrt 5 + 5 r^2/3) e^(-r sqrt 5),   r^2 = sum_k (x_ik - x_jk)^2 / l_k^2
/// z = (log a, log s, log l, f),   dimension 2 + d + n;  the priors are on logarithms: no Jacobian
/// ```
///
/// Unlike the paper, `r` is the root of the sum of squares and the amplitude is squared, as in the source code.
///
/// `-inf`, with gradient 0, where the covariance has no Cholesky factor in double precision (an amplitude of more than
/// some 1e4 with long lengths and a small nugget), or `log a` or `log s` is above 300.
///
/// ```
/// use mcsa_core::LogDensity;
/// use mcsa_models::GaussianProcessClassification;
/// let x = faer::mat![[0.0], [1.0], [2.5]];
/// let target = GaussianProcessClassification::new(x.as_ref(), &[1.0, 1.0, 0.0])?;
/// assert_eq!(target.dim(), 2 + 1 + 3);
/// let mut work = vec![0.0; target.work_len(1)];
/// assert!(target.log_density(&[0.0, 0.0, 0.0, 0.5, 0.5, -0.5], &mut work).is_finite());
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GaussianProcessClassification {
    field: Field,
    signs: Vec<f64>,
}

impl GaussianProcessClassification {
    /// A model of features `x` (one row per datum) and labels 0 or 1.
    ///
    /// # Errors
    /// If the number of labels is not the number of rows, a label is neither 0 nor 1, a number is not finite, or there are more
    /// than 8128 rows, no row, or no feature.
    pub fn new(x: MatRef<'_, f64>, labels: &[f64]) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("GaussianProcessClassification");
        same_length("labels", x.nrows(), labels.len()).map_err(refuse)?;
        all_finite("labels", labels).map_err(refuse)?;
        zeros_and_ones(labels).map_err(refuse)?;
        let field = Field::new(x).map_err(refuse)?;
        Ok(Self { field, signs: labels.iter().map(|y| 2.0 * y - 1.0).collect() })
    }

    /// Index in `z` of the first field value, after the scales.
    fn first(&self) -> usize {
        2 + self.field.features()
    }

    fn scales<'a>(&self, z: &'a [f64]) -> Scales<'a> {
        Scales { amplitude: z[0], nugget: z[1], lengths: &z[2..self.first()] }
    }

    /// `log N(.; 0, I)` of the scales.
    fn hyperprior(&self, z: &[f64]) -> f64 {
        let scales = &z[..self.first()];
        -0.5 * (numeric::dot(scales, scales) + scales.len() as f64 * (2.0 * PI).ln())
    }

    fn margins<'a>(&self, f: &[f64], margins: &'a mut [f64]) -> &'a mut [f64] {
        for ((t, f), sign) in margins.iter_mut().zip(f).zip(&self.signs) {
            *t = f * sign;
        }
        margins
    }

    /// Predictive log odds of label 1 at each row of `x`, from the means and variances of `z` under an approximation `q`.
    ///
    /// ```text
    /// m* = k*' K^-1 m_f,   v* = a^2 + s^2 + 1e-6 - k*' K^-1 k* + k*' K^-1 S_f K^-1 k*,   odds m* / sqrt(1 + pi v*/8)
    /// ```
    /// The scales are fixed at their means. Unlike the source code of the paper, the variance of `f` under `q` adds to the
    /// variance of a prediction; one version left it out, in another a broader `q` gave a narrower prediction.
    ///
    /// # Errors
    /// If the covariance at the mean has no Cholesky factor.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn log_odds_from_moments(
        &self,
        x: MatRef<'_, f64>,
        mean: &[f64],
        variance: &[f64],
        out: &mut [f64],
    ) -> Result<(), Error> {
        assert!(mean.len() == self.dim() && variance.len() == self.dim(), "a moment per coordinate");
        let (scales, first) = (self.scales(mean), self.first());
        let moments = predict(&self.field, scales, &mean[first..], &variance[first..], x)
            .map_err(|error| error.within("GaussianProcessClassification"))?;
        for (out, (m, v)) in out.iter_mut().zip(moments) {
            *out = Logistic::log_odds_of_normal(m, v);
        }
        Ok(())
    }

    /// Predictive log odds of label 1 at each row of `x`, from draws of `z` (one per column, scales included): the log odds of the
    /// probability averaged over draws.
    ///
    /// # Errors
    /// If the covariance at a draw has no Cholesky factor.
    ///
    /// # Panics
    /// If the shapes differ, or there is no draw.
    pub fn log_odds_from_draws(
        &self,
        x: MatRef<'_, f64>,
        draws: MatRef<'_, f64>,
        out: &mut [f64],
    ) -> Result<(), Error> {
        assert!(draws.nrows() == self.dim() && x.nrows() == out.len(), "shapes agree");
        let each = predict_each(&self.field, |z| self.scales(z), |z| &z[self.first()..], draws, x)
            .map_err(|error| error.within("GaussianProcessClassification"))?;
        for (i, out) in out.iter_mut().enumerate() {
            let odds = each.iter().map(|moments| Logistic::log_odds_of_normal(moments[i].0, moments[i].1));
            let (mut one, mut zero): (Vec<f64>, Vec<f64>) = odds.map(|odds| (odds, -odds)).unzip();
            Logistic::logs(&mut one);
            Logistic::logs(&mut zero);
            *out = numeric::log_sum_exp(&one) - numeric::log_sum_exp(&zero);
        }
        Ok(())
    }
}

impl LogDensity for GaussianProcessClassification {
    fn dim(&self) -> usize {
        self.first() + self.field.inputs()
    }

    fn work_len(&self, columns: usize) -> usize {
        let _ = columns;
        self.field.work_len() + 2 * self.signs.len()
    }

    fn log_density(&self, z: &[f64], mut work: &mut [f64]) -> f64 {
        assert_eq!(z.len(), self.dim(), "a point of the target's dimension");
        let f = &z[self.first()..];
        let margins = borrow(&mut work, f.len());
        let field = self.field.log_density(self.scales(z), f, None, work);
        decided(self.hyperprior(z) + field + Logistic::sum_log(self.margins(f, margins)), z)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        out.push("amplitude", z[0].exp());
        out.push("nugget", z[1].exp());
        let (lengths, f) = z[2..].split_at(self.field.features());
        out.vector("length", lengths.iter().map(|l| l.exp()));
        out.vector("f", f.iter().copied());
    }
}

impl Gradient for GaussianProcessClassification {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], mut work: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim() && gradient.len() == self.dim(), "points of the target's dimension");
        let (first, f) = (self.first(), &z[self.first()..]);
        let margins = borrow(&mut work, f.len());
        let likelihood = borrow(&mut work, f.len());
        let (head, of_f) = gradient.split_at_mut(first);
        let mut slopes = Slopes { amplitude: 0.0, nugget: 0.0, lengths: &mut head[2..], f: of_f };
        let field = self.field.log_density(self.scales(z), f, Some(&mut slopes), work);
        let (amplitude, nugget) = (slopes.amplitude, slopes.nugget);
        let sum = Logistic::sum_log_with_slopes(self.margins(f, margins), likelihood, f.len());
        let log_p = decided(self.hyperprior(z) + field + sum, z);
        if log_p == f64::NEG_INFINITY {
            gradient.fill(0.0);
            return log_p;
        }
        (head[0], head[1]) = (amplitude, nugget);
        for (g, z) in head.iter_mut().zip(z) {
            *g -= z;
        }
        for ((g, slope), sign) in of_f.iter_mut().zip(likelihood).zip(&self.signs) {
            *g += *slope * sign;
        }
        log_p
    }
}
