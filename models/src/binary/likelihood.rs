//! Log likelihoods of labels and of counts, given linear predictors.

use std::cell::RefCell;
use std::fmt::Debug;
use std::marker::PhantomData;

use faer::MatRef;
use mcsa_core::numeric::scalar::ln_gamma;
use mcsa_core::{Columns, Error, all_finite, borrow, finite_matrix, numeric, same_length};
use mcsa_numeric::design::{Entry, GROUP, MINIBATCH, Panels, View, padded};
use rayon::prelude::*;

use crate::support::{sweep, zeros_and_ones};

/// Factor `F(t)` of the likelihood of a datum. The margin `t` is the linear predictor `f`, or `-f` for a label 0.
pub trait Factor: Debug + Clone + Copy + Default + Send + Sync + 'static {
    /// Name of the regression model with this factor, for error messages.
    const NAME: &'static str;
    /// `sum_i log F(t_i)`.
    const SUM_LOG: fn(&[f64]) -> f64;
    /// Called with `(t, stride, rows, out)`: writes the sum of `log F` over the first `rows` of each `stride` numbers of `t` to
    /// `out`. Each sum is bit-identical to that of [`SUM_LOG`](Factor::SUM_LOG).
    const SUMS_LOG: fn(&[f64], usize, usize, &mut [f64]);
    /// [`SUM_LOG`](Factor::SUM_LOG); the derivatives `(log F)'(t_i)` are written to the slopes.
    const SUM_LOG_WITH_SLOPES: fn(&[f64], &mut [f64]) -> f64;
    /// `t_i <- log F(t_i)`.
    const LOGS: fn(&mut [f64]);

    /// `t_i <- (log F)''(t_i)`; `work` has the length of `t`.
    fn curvatures(t: &mut [f64], work: &mut [f64]);
}

/// Link function of a binary regression: a symmetric distribution function `F`; label `y` has probability `F((2 y - 1) f)`.
pub trait Link: Factor {
    /// Log odds of label 1 when `f` is normal: the logit of `E[F(f)]`, or an approximation of it.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64;
}

/// Logistic link, `F(t) = 1 / (1 + e^-t)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Logistic;

impl Factor for Logistic {
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
}

impl Link for Logistic {
    /// `mean / sqrt(1 + pi variance / 8)` (MacKay 1992): the logistic function is replaced by the normal distribution function of
    /// equal slope at 0, whose expectation is known.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64 {
        mean / (1.0 + std::f64::consts::PI * variance / 8.0).sqrt()
    }
}

/// Probit link, `F(t) = Phi(t)`, the distribution function of the standard normal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Probit;

impl Factor for Probit {
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
}

impl Link for Probit {
    /// Log odds of `P(1) = Phi(m)`, `m = mean / sqrt(1 + variance)`, exactly.
    fn log_odds_of_normal(mean: f64, variance: f64) -> f64 {
        let m = mean / (1.0 + variance).sqrt();
        numeric::scalar::log_ndtr(m) - numeric::scalar::log_ndtr(-m)
    }
}

/// Factor `F(t) = exp(-e^t)` of a count with the mean `e^t`: its probability is `F(t) e^(y t) / y!`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count;

impl Factor for Count {
    const NAME: &'static str = "PoissonRegression";
    const SUM_LOG: fn(&[f64]) -> f64 = numeric::sum_minus_exp;
    const SUMS_LOG: fn(&[f64], usize, usize, &mut [f64]) = numeric::sums_minus_exp;
    const SUM_LOG_WITH_SLOPES: fn(&[f64], &mut [f64]) -> f64 = numeric::sum_minus_exp_with_slopes;
    const LOGS: fn(&mut [f64]) = |t| {
        numeric::exp(t);
        t.iter_mut().for_each(|t| *t = -*t);
    };

    fn curvatures(t: &mut [f64], _: &mut [f64]) {
        Self::LOGS(t);
    }
}

/// Log likelihood `sum_i log F(s_i x_i' w) + y_i x_i' w - log y_i!`.
///
/// Rows of labels are stored multiplied by the label's sign `s_i`, so that a product gives margins, and have no counts `y_i`.
#[derive(Debug, Clone)]
pub(crate) struct Likelihood<L, E = f64> {
    signed: Panels<E>,
    /// Each count, and the logarithm of its factorial; none for labels.
    counts: Vec<(f64, f64)>,
    /// Sum of `y_i x_i`, and that of the `log y_i!`.
    pull: Vec<f64>,
    log_factorials: f64,
    factor: PhantomData<L>,
}

/// Number of rows whose margins are held at once, a multiple of the rows of a panel: with their features they stay in the second
/// cache, so that each row is read once from further away.
const BLOCK: usize = 1024;

/// Most columns of a sweep over the blocks: each is read from far away once for all of them.
const SWEEP: usize = 6 * GROUP;

/// Most blocks whose results are held at once.
const WAVE: usize = 64;

/// Number of features from which on the blocks are shared among the present threads: 8 MB.
const MANY: usize = 1 << 20;

thread_local! {
    /// Memory of a block in a thread that shares the rows.
    static SCRATCH: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

impl<E: Entry> Likelihood<Count, E> {
    /// A likelihood of the rows of `x` and of counts.
    pub(crate) fn of_counts(x: MatRef<'_, E>, counts: &[f64]) -> Result<Self, Error> {
        same_length("counts", x.nrows(), counts.len())?;
        finite_matrix("features", x)?;
        if let Some(&other) = counts.iter().find(|&&y| !(y >= 0.0 && y.fract() == 0.0)) {
            return Err(Error::parameter("count", other, "0, 1, 2, .."));
        }
        let signed = Panels::from_fn(x.nrows(), x.ncols(), |i, k| x[(i, k)]);
        let pull = (0..x.ncols()).map(|k| x.col(k).iter().zip(counts).map(|(&x, y)| y * x.into()).sum());
        let counts: Vec<_> = counts.iter().map(|&y| (y, ln_gamma(y + 1.0))).collect();
        let log_factorials = counts.iter().map(|(_, log)| log).sum();
        Ok(Self { signed, pull: pull.collect(), counts, log_factorials, factor: PhantomData })
    }
}

impl<L: Factor, E: Entry> Likelihood<L, E> {
    /// A likelihood of the rows of `x`, each followed by a 1 if there is an `intercept`, and of labels 0 or 1.
    pub(crate) fn of_labels(x: MatRef<'_, E>, labels: &[f64], intercept: Option<E>) -> Result<Self, Error> {
        same_length("labels", x.nrows(), labels.len())?;
        finite_matrix("features", x)?;
        all_finite("labels", labels)?;
        zeros_and_ones(labels)?;
        let entry = |i: usize, k: usize| {
            let entry = if k < x.ncols() { x[(i, k)] } else { intercept.unwrap_or_default() };
            if labels[i] == 1.0 { entry } else { -entry }
        };
        let signed = Panels::from_fn(x.nrows(), x.ncols() + usize::from(intercept.is_some()), entry);
        Ok(Self { signed, counts: Vec::new(), pull: Vec::new(), log_factorials: 0.0, factor: PhantomData })
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
        padded(self.rows()).min(BLOCK)
    }

    /// Length of the weights packed for a product.
    fn packed_len(&self) -> usize {
        self.weights() * GROUP
    }

    /// `sum_i y_i x_i' w - log y_i!`
    fn linear(&self, w: &[f64]) -> f64 {
        if self.pull.is_empty() { 0.0 } else { numeric::dot(&self.pull, w) - self.log_factorials }
    }

    /// True if the blocks are shared among the present threads: the features are many more than a cache holds.
    pub(crate) fn shares_rows(&self) -> bool {
        self.rows() * self.weights() >= MANY
    }

    /// Number of blocks whose results are held at once.
    fn wave(&self) -> usize {
        self.rows().div_ceil(BLOCK).min(WAVE)
    }

    /// Length of the memory of one block, for a group of columns.
    fn block_len(&self, group: usize) -> usize {
        self.packed_len() + self.signed.block_work_len(BLOCK) + 2 * self.block_rows() * group
    }

    /// Length of the lent memory that any method needs for a batch of `columns`; a product with the Hessian needs that of two
    /// columns.
    pub(crate) fn work_len(&self, columns: usize) -> usize {
        let (group, sweep) = (columns.clamp(2, GROUP), columns.clamp(2, SWEEP));
        self.block_len(group) + (1 + self.weights()) * sweep * (1 + self.wave())
    }

    /// Calls `evaluate` with each block, the place of its `len` results and memory, and then `add` with the results of each block in order:
    /// sums do not depend on the threads.
    fn each_block(
        &self,
        len: usize,
        (results, memory): (&mut [f64], &mut [f64]),
        evaluate: impl Fn(View<'_>, &mut [f64], &mut [f64]) + Sync,
        mut add: impl FnMut(&[f64]),
    ) {
        for first in (0..self.rows()).step_by(BLOCK * self.wave().max(1)) {
            let count = (self.rows() - first).div_ceil(BLOCK).min(self.wave());
            let results = &mut results[..count * len];
            let one = |(b, result): (usize, &mut [f64]), mut memory: &mut [f64]| {
                let wide = borrow(&mut memory, self.signed.block_work_len(BLOCK));
                evaluate(self.signed.block(first + b * BLOCK, BLOCK, wide), result, memory);
            };
            if self.shares_rows() && rayon::current_num_threads() > 1 {
                results.par_chunks_mut(len).enumerate().for_each(|block| {
                    SCRATCH.with_borrow_mut(|scratch| {
                        scratch.resize(scratch.len().max(self.block_len(GROUP)), 0.0);
                        one(block, scratch);
                    });
                });
            } else {
                results.chunks_mut(len).enumerate().for_each(|block| one(block, memory));
            }
            results.chunks(len).for_each(&mut add);
        }
    }

    /// Adds the log likelihood at the weights `z[from..]` of each column to the entry of `out`.
    pub(crate) fn add_logs(&self, z: MatRef<'_, f64>, from: usize, out: &mut [f64], mut work: &mut [f64]) {
        let results = borrow(&mut work, self.wave() * out.len().min(SWEEP));
        for (s, out) in out.chunks_mut(SWEEP).enumerate() {
            let weights = |c: usize| &z.column(s * SWEEP + c)[from..from + self.weights()];
            for (c, out) in out.iter_mut().enumerate() {
                *out += self.linear(weights(c));
            }
            let evaluate = |block: View<'_>, sums: &mut [f64], mut memory: &mut [f64]| {
                let packed = borrow(&mut memory, self.packed_len());
                let stride = block.padded_rows();
                for (g, sums) in sums.chunks_mut(GROUP).enumerate() {
                    let margins = &mut memory[..stride * sums.len()];
                    block.multiply((0..sums.len()).map(|c| weights(g * GROUP + c)), margins, packed);
                    L::SUMS_LOG(margins, stride, block.rows(), sums);
                }
            };
            self.each_block(out.len(), (&mut *results, &mut *work), evaluate, |sums| {
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
            });
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
        let (d, most) = (self.weights(), z.ncols().min(SWEEP));
        let results = borrow(&mut work, self.wave() * (1 + d) * most);
        let gradients = borrow(&mut work, d * most);
        for (s, out) in out.chunks_mut(SWEEP).enumerate() {
            let columns = out.len();
            let gradients = &mut gradients[..d * columns];
            let weights = |c: usize| &z.column(s * SWEEP + c)[from..from + d];
            gradients.fill(0.0);
            for (c, out) in out.iter_mut().enumerate() {
                *out += self.linear(weights(c));
                gradients[c * d..][..self.pull.len()].copy_from_slice(&self.pull);
            }
            let evaluate = |block: View<'_>, results: &mut [f64], mut memory: &mut [f64]| {
                let packed = borrow(&mut memory, self.packed_len());
                let stride = block.padded_rows();
                let [margins, slopes] = [(); 2].map(|()| borrow(&mut memory, stride * columns.min(GROUP)));
                let (sums, gradients) = results.split_at_mut(columns);
                for (g, sums) in sums.chunks_mut(GROUP).enumerate() {
                    let (first, group) = (g * GROUP, sums.len());
                    let [margins, slopes] =
                        [&mut *margins, &mut *slopes].map(|part| &mut part[..stride * group]);
                    block.multiply((0..group).map(|c| weights(first + c)), margins, packed);
                    let of_columns = margins.chunks(stride).zip(slopes.chunks_mut(stride));
                    for (sum, (margins, slopes)) in sums.iter_mut().zip(of_columns) {
                        let (slopes, padding) = slopes.split_at_mut(block.rows());
                        padding.fill(0.0);
                        *sum = L::SUM_LOG_WITH_SLOPES(&margins[..slopes.len()], slopes);
                    }
                    block.pull_back(slopes, group, &mut gradients[first * d..(first + group) * d]);
                }
            };
            self.each_block((1 + d) * columns, (&mut *results, &mut *work), evaluate, |results| {
                let (sums, parts) = results.split_at(columns);
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
                gradients.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            });
            for c in 0..columns {
                accept(s * SWEEP + c, &gradients[c * d..(c + 1) * d]);
            }
        }
    }

    /// Product of the Hessian at the weights `w` with the vector `v`, written to `out`.
    pub(crate) fn hessian_vector_into(&self, w: &[f64], v: &[f64], out: &mut [f64], mut work: &mut [f64]) {
        let packed = borrow(&mut work, self.packed_len());
        let wide = borrow(&mut work, self.signed.block_work_len(BLOCK));
        let products = borrow(&mut work, 2 * self.block_rows());
        let memory = borrow(&mut work, self.block_rows());
        let part = borrow(&mut work, out.len());
        out.fill(0.0);
        for first in (0..self.rows()).step_by(BLOCK) {
            let block = self.signed.block(first, BLOCK, wide);
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

    /// The counts of the data in `rows`, and the logarithms of their factorials, from number `first` on.
    fn counts_at<'a>(&'a self, rows: &'a [usize], first: usize) -> impl Iterator<Item = (f64, f64)> + 'a {
        let rows = if self.counts.is_empty() { &[] } else { &rows[first..] };
        rows.iter().map(|&row| self.counts[row])
    }

    /// Sum of the log likelihood terms of the data in `rows`.
    pub(crate) fn log_at(&self, rows: &[usize], w: &[f64]) -> f64 {
        let mut total = 0.0;
        let each = |first, [margins]: [&mut [f64]; 1]| {
            total += L::SUM_LOG(margins);
            for ((y, log), f) in self.counts_at(rows, first).zip(margins) {
                total += y * *f - log;
            }
        };
        sweep(self.signed.by_row(), Some(rows), [w], None, each);
        total
    }

    /// Adds `scale` times the gradient of the log likelihood terms of the data in `rows` to `gradient`; returns their sum.
    pub(crate) fn add_gradient_at(&self, rows: &[usize], scale: f64, w: &[f64], gradient: &mut [f64]) -> f64 {
        let (mut total, mut slopes) = (0.0, [0.0; MINIBATCH]);
        sweep(self.signed.by_row(), Some(rows), [w], Some(gradient), |first, [margins]| {
            let slopes = &mut slopes[..margins.len()];
            total += L::SUM_LOG_WITH_SLOPES(margins, slopes);
            for (((y, log), f), slope) in self.counts_at(rows, first).zip(&*margins).zip(&mut *slopes) {
                total += y * f - log;
                *slope += y;
            }
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
