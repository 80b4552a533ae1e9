//! Link functions, and log likelihoods of binary labels.

use std::fmt::Debug;
use std::marker::PhantomData;

use faer::MatRef;
use mcsa_core::{Columns, Error, all_finite, borrow, finite_matrix, numeric, same_length};
use mcsa_numeric::design::{GROUP, MINIBATCH, Panels};

use crate::support::{sweep, zeros_and_ones};

/// Link function of a binary regression: a symmetric distribution function `F`; label `y` has probability `F((2 y - 1) f)`.
///
/// The functions take margins `t = (2 y - 1) f`.
pub trait Link: Debug + Clone + Copy + Default + Send + Sync + 'static {
    /// Name of the regression model with this link, for error messages.
    const NAME: &'static str;
    /// `sum_i log F(t_i)`.
    const SUM_LOG: fn(&[f64]) -> f64;
    /// Writes the sums over columns of `t`, bit-identical to [`SUM_LOG`](Link::SUM_LOG): over the first `rows` of each `stride` numbers.
    const SUMS_LOG: fn(&[f64], usize, usize, &mut [f64]);
    /// [`SUM_LOG`](Link::SUM_LOG); the derivatives `(log F)'(t_i)` are written to the slopes.
    const SUM_LOG_WITH_SLOPES: fn(&[f64], &mut [f64]) -> f64;
    /// `t_i <- log F(t_i)`.
    const LOGS: fn(&mut [f64]);

    /// `t_i <- (log F)''(t_i)`; `work` has the length of `t`.
    fn curvatures(t: &mut [f64], work: &mut [f64]);

    /// Log odds of label 1 when `f` is normal: the logit of `E[F(f)]`, or an approximation of it.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64;
}

/// Logistic link, `F(t) = 1 / (1 + e^-t)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Logistic;

impl Link for Logistic {
    const NAME: &'static str = "LogisticRegression";
    const SUM_LOG: fn(&[f64]) -> f64 = numeric::sum_log_sigmoid;
    const SUMS_LOG: fn(&[f64], usize, usize, &mut [f64]) = numeric::sums_log_sigmoid;
    const SUM_LOG_WITH_SLOPES: fn(&[f64], &mut [f64]) -> f64 = numeric::sum_log_sigmoid_with_slopes;
    const LOGS: fn(&mut [f64]) = numeric::log_sigmoid;

    fn curvatures(t: &mut [f64], work: &mut [f64]) {
        numeric::sigmoid_into(t, work);
        for (t, s) in t.iter_mut().zip(work) {
            *t = -*s * (1.0 - *s);
        }
    }

    /// `mean / sqrt(1 + pi variance / 8)` (MacKay 1992): the logistic function is replaced by the normal distribution function of
    /// equal slope at 0, whose expectation is known.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64 {
        mean / (1.0 + std::f64::consts::PI * variance / 8.0).sqrt()
    }
}

/// Probit link, `F(t) = Phi(t)`, the distribution function of the standard normal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Probit;

impl Link for Probit {
    const NAME: &'static str = "ProbitRegression";
    const SUM_LOG: fn(&[f64]) -> f64 = numeric::sum_log_ndtr;
    const SUMS_LOG: fn(&[f64], usize, usize, &mut [f64]) = numeric::sums_log_ndtr;
    const SUM_LOG_WITH_SLOPES: fn(&[f64], &mut [f64]) -> f64 = numeric::sum_log_ndtr_with_slopes;
    const LOGS: fn(&mut [f64]) = numeric::log_ndtr;

    fn curvatures(t: &mut [f64], work: &mut [f64]) {
        numeric::ndtr_hazard_into(t, work);
        for (t, h) in t.iter_mut().zip(work) {
            // Far left the hazard is -t + 1/|t| - .. and the product is 1 - 1/t^2: the sum has no digit left.
            *t = if *t < -1e5 { -1.0 } else { -*h * (*h + *t) };
        }
    }

    /// Log odds of `P(1) = Phi(m)`, `m = mean / sqrt(1 + variance)`, exactly.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64 {
        let m = mean / (1.0 + variance).sqrt();
        numeric::scalar::log_ndtr(m) - numeric::scalar::log_ndtr(-m)
    }
}

/// Log likelihood `sum_i log F(s_i x_i' w)`. Rows are stored multiplied by the label's sign `s_i`, so that a product gives margins.
#[derive(Debug, Clone)]
pub(crate) struct Likelihood<L> {
    signed: Panels,
    link: PhantomData<L>,
}

/// Number of rows whose margins are held at once, a multiple of the rows of a panel: with their features they stay in the second
/// cache, so that each row is read once from further away.
const BLOCK: usize = 1024;

impl<L: Link> Likelihood<L> {
    /// A likelihood of the rows of `x`, each followed by a 1 if there is an `intercept`, and of labels 0 or 1.
    pub(crate) fn new(x: MatRef<'_, f64>, labels: &[f64], intercept: bool) -> Result<Self, Error> {
        same_length("labels", x.nrows(), labels.len())?;
        finite_matrix("features", x)?;
        all_finite("labels", labels)?;
        zeros_and_ones(labels)?;
        let entry = |i: usize, k: usize| {
            let sign = 2.0 * labels[i] - 1.0;
            if k < x.ncols() { sign * x[(i, k)] } else { sign }
        };
        let signed = Panels::from_fn(x.nrows(), x.ncols() + usize::from(intercept), entry);
        Ok(Self { signed, link: PhantomData })
    }

    pub(crate) fn rows(&self) -> usize {
        self.signed.rows()
    }

    /// Number of weights, the intercept included.
    pub(crate) fn weights(&self) -> usize {
        self.signed.columns()
    }

    /// Number of rows of a block, those that fill the last panel included.
    fn block_rows(&self) -> usize {
        self.signed.view().padded_rows().min(BLOCK)
    }

    /// Length of the lent memory that any method needs for a batch of `columns`; a product with the Hessian needs that of two
    /// columns.
    pub(crate) fn work_len(&self, columns: usize) -> usize {
        let group = columns.clamp(2, GROUP);
        2 * (self.block_rows() + self.weights()) * group + self.signed.view().multiply_work_len()
    }

    /// Adds the log likelihood at the weights `z[from..]` of each column to the entry of `out`.
    pub(crate) fn add_logs(&self, z: MatRef<'_, f64>, from: usize, out: &mut [f64], mut work: &mut [f64]) {
        let d = self.weights();
        let packed = borrow(&mut work, self.signed.view().multiply_work_len());
        for (g, out) in out.chunks_mut(GROUP).enumerate() {
            for block in self.signed.view().blocks(BLOCK) {
                let stride = block.padded_rows();
                let margins = &mut work[..stride * out.len()];
                let weights = (0..out.len()).map(|c| &z.column(g * GROUP + c)[from..from + d]);
                block.multiply(weights, margins, packed);
                let mut sums = [0.0; GROUP];
                L::SUMS_LOG(margins, stride, block.rows(), &mut sums[..out.len()]);
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
            }
        }
    }

    /// Adds the log likelihood at `z[from..]` of each column to the entry of `out`, and calls `accept` with each column's gradient.
    pub(crate) fn add_gradients(
        &self,
        z: MatRef<'_, f64>,
        from: usize,
        out: &mut [f64],
        mut accept: impl FnMut(usize, &[f64]),
        mut work: &mut [f64],
    ) {
        let (d, most) = (self.weights(), z.ncols().min(GROUP));
        let packed = borrow(&mut work, self.signed.view().multiply_work_len());
        let [margins, slopes] = [(); 2].map(|()| borrow(&mut work, self.block_rows() * most));
        let [gradients, sums] = [(); 2].map(|()| borrow(&mut work, d * most));
        for (g, out) in out.chunks_mut(GROUP).enumerate() {
            let columns = out.len();
            let (gradients, sums) = (&mut gradients[..d * columns], &mut sums[..d * columns]);
            sums.fill(0.0);
            for block in self.signed.view().blocks(BLOCK) {
                let stride = block.padded_rows();
                let weights = (0..columns).map(|c| &z.column(g * GROUP + c)[from..from + d]);
                block.multiply(weights, &mut margins[..stride * columns], packed);
                for (c, out) in out.iter_mut().enumerate() {
                    let place = c * stride..(c + 1) * stride;
                    let (margins, slopes) = (&mut margins[place.clone()], &mut slopes[place]);
                    let (slopes, padding) = slopes.split_at_mut(block.rows());
                    padding.fill(0.0);
                    *out += L::SUM_LOG_WITH_SLOPES(&margins[..slopes.len()], slopes);
                }
                block.pull_back(&slopes[..stride * columns], columns, gradients);
                sums.iter_mut().zip(&*gradients).for_each(|(sum, gradient)| *sum += gradient);
            }
            for c in 0..columns {
                accept(g * GROUP + c, &sums[c * d..(c + 1) * d]);
            }
        }
    }

    /// Product of the Hessian at the weights `w` with the vector `v`, written to `out`.
    pub(crate) fn hessian_vector_into(&self, w: &[f64], v: &[f64], out: &mut [f64], mut work: &mut [f64]) {
        let packed = borrow(&mut work, self.signed.view().multiply_work_len());
        let products = borrow(&mut work, 2 * self.block_rows());
        let memory = borrow(&mut work, self.block_rows());
        let part = borrow(&mut work, out.len());
        out.fill(0.0);
        for block in self.signed.view().blocks(BLOCK) {
            let stride = block.padded_rows();
            block.multiply([w, v].into_iter(), &mut products[..2 * stride], packed);
            let (margins, along) = products[..2 * stride].split_at_mut(stride);
            L::curvatures(margins, &mut memory[..stride]);
            for (along, curvature) in along.iter_mut().zip(margins) {
                *along *= *curvature;
            }
            block.pull_back(along, 1, part);
            out.iter_mut().zip(&*part).for_each(|(out, part)| *out += part);
        }
    }

    /// Sum of the log likelihood terms of the data in `rows`.
    pub(crate) fn log_at(&self, rows: &[usize], w: &[f64]) -> f64 {
        let mut total = 0.0;
        let each = |_, [margins]: [&mut [f64]; 1]| total += L::SUM_LOG(margins);
        sweep(self.signed.by_row(), Some(rows), [w], None, each);
        total
    }

    /// Adds `scale` times the gradient of the log likelihood terms of the data in `rows` to `gradient`; returns their sum.
    pub(crate) fn add_gradient_at(&self, rows: &[usize], scale: f64, w: &[f64], gradient: &mut [f64]) -> f64 {
        let (mut total, mut slopes) = (0.0, [0.0; MINIBATCH]);
        sweep(self.signed.by_row(), Some(rows), [w], Some(gradient), |_, [margins]| {
            let slopes = &mut slopes[..margins.len()];
            total += L::SUM_LOG_WITH_SLOPES(margins, slopes);
            margins.iter_mut().zip(slopes).for_each(|(margin, slope)| *margin = scale * *slope);
        });
        total
    }

    /// Adds to `out` `scale` times the product of `v` with the Hessian of the log likelihood terms of the data in `rows`.
    pub(crate) fn add_hessian_vector_at(
        &self,
        rows: &[usize],
        scale: f64,
        w: &[f64],
        v: &[f64],
        out: &mut [f64],
    ) {
        let mut memory = [0.0; MINIBATCH];
        sweep(self.signed.by_row(), Some(rows), [v, w], Some(out), |_, [along, margins]| {
            L::curvatures(margins, &mut memory[..along.len()]);
            along.iter_mut().zip(margins).for_each(|(along, curvature)| *along *= scale * *curvature);
        });
    }
}
