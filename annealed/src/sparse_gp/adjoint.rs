//! Derivatives in the parameters of a sparse Gaussian process.
//!
//! For one datum let `l(m, v)` be its averaged log likelihood, `m = A' u`, `r = dl/dm`, `kappa = d^2 l/dm^2`. The functions
//!
//! ```text
//! S = log N(u; 0, K) + sum_n l_n,        T = x' d/du S = -x' K^-1 u + sum_n r_n (A_n' x)
//! ```
//! depend on theta through `A_n`, `v_n`, `K` and the noise. With `p = K^-1 u`, `q = K^-1 x` and the bars
//!
//! ```text
//! S:  A_n bar = a_n u,            a_n = r_n,                  v_n bar = dl_n/dv
//! T:  A_n bar = a_n u + b_n x,    a_n = kappa_n (A_n' x),  b_n = r_n,   v_n bar = (A_n' x) dr_n/dv
//! ```
//! `A_n = K^-1 k_n` and `v_n = c - k_n' A_n` give
//!
//! ```text
//! k_n bar = a_n p + b_n q - 2 v_n bar A_n
//! K bar   = sum_n v_n bar A_n A_n' - p (sum_n a_n A_n)' - q (sum_n b_n A_n)' + (p p' - K^-1)/2 for S, p q' for T
//! ```
//! In whitened coordinates, `W_n = L^-1 k_n` has the bar `w_n = a_n e + b_n x - 2 v_n bar W_n`, and with `C = sum_n w_n W_n'`, its lower
//! triangle with half the diagonal `Phi(C)`:
//!
//! ```text
//! k_n bar = L^-T w_n,   K bar = -L^-T Phi(C) L^-1
//! ```

use mcsa_core::{borrow, numeric};

use super::average::BLOCK;
use super::posterior::{Batch, SparsePosterior};
use super::process::{Kernel, KernelSlopes, LEAST, SparseGaussianProcess};
use mcsa_numeric::design::RowsRef;

impl SparseGaussianProcess {
    /// Length of the slice `work` that derivatives in theta need for as many rows.
    pub(super) fn theta_work_len(&self, rows: usize) -> usize {
        let (m, d) = (self.num_inducing(), self.features().columns());
        2 * m * m + 6 * m + m * d + 3 * rows
    }
}

impl SparsePosterior<'_> {
    /// The derivative of the prior, weighted, plus those of the batch, each with its factor: of the log density, or of the product of its
    /// gradient in `u` with `x`. Returns the sum of the batch's log likelihoods.
    pub(super) fn add_theta(
        &self,
        x: Option<&[f64]>,
        batch: &Batch<impl Fn(usize) -> usize, impl Fn(usize) -> f64>,
        z: &[f64],
        weight: f64,
        theta_bar: &mut [f64],
        mut work: &mut [f64],
    ) -> f64 {
        let (m, d) = (z.len(), self.memory.rates.len());
        let [a, b, v] = [(); 3].map(|()| borrow(&mut work, batch.count));
        let [p, q, sum_a, sum_b, row, weighted] = [(); 6].map(|()| borrow(&mut work, m));
        let (k_bar, product) = (borrow(&mut work, m * m), borrow(&mut work, m * m));
        let points = borrow(&mut work, m * d);
        let (value, noise) = self.likelihood_bars(x, batch, z, [&mut *a, &mut *b, &mut *v]);
        self.prior_direction(z, p, row);
        q.fill(0.0);
        if let Some(x) = x {
            self.prior_direction(x, q, row);
        }
        for (sum, bar) in [(&mut *sum_a, &*a), (&mut *sum_b, &*b)] {
            sum.fill(0.0);
            self.basis().add_pull_back_at(&batch.at, bar, sum);
        }
        self.outer_products(&batch.at, v, k_bar);
        match self.is_whitened() {
            true => self.whitened_bar(z, x, [&*sum_a, &*sum_b], k_bar, product, row),
            false => self.plain_bar(x.is_some(), weight, [&*p, &*q, &*sum_a, &*sum_b], k_bar, row, weighted),
        }
        let kernel =
            Kernel { log_amplitude: self.theta[0], rates: self.memory.rates, scaled: self.memory.scaled };
        points.fill(0.0);
        let amplitude = self.theta[0].exp() * numeric::sum(v);
        let log_lengths = &mut theta_bar[1..=d];
        let mut slopes = KernelSlopes { log_amplitude: amplitude, log_lengths, points };
        for (i, k_bar) in k_bar.chunks_exact(m).enumerate() {
            let point = |k: usize| kernel.scaled[k * m + i];
            kernel.values_into(point, row);
            weighted.iter_mut().zip(k_bar).zip(&*row).for_each(|((w, bar), k)| *w = bar * k);
            kernel.pull_back(point, weighted, 2.0, &mut slopes);
        }
        for n in 0..batch.count {
            let features = self.process.features().row(self.rows[(batch.at)(n)]);
            let datum = |k: usize| features[k] * kernel.rates[k];
            let (a, b, twice) = (a[n], b[n], 2.0 * v[n]);
            kernel.values_into(datum, row);
            let products = row.iter().zip(self.weights((batch.at)(n))).zip(&*p).zip(&*q);
            for (w, (((k, weight), p), q)) in weighted.iter_mut().zip(products) {
                *w = k * (a * p + b * q - twice * weight);
            }
            kernel.pull_back(datum, weighted, 1.0, &mut slopes);
        }
        theta_bar[0] += slopes.log_amplitude;
        let (scales, inducing) = theta_bar.split_at_mut(self.process.first_inducing());
        scales[1 + d..].iter_mut().zip(noise).for_each(|(bar, noise)| *bar += noise);
        for (i, bar) in inducing.chunks_exact_mut(d).enumerate() {
            bar.iter_mut().enumerate().for_each(|(k, bar)| *bar += points[k * m + i]);
        }
        value
    }

    /// Writes the bars of means and variances, `A_n bar = a_n u + b_n x` and `v_n bar`; returns the sum of the log likelihoods, and the
    /// bar of the noise.
    fn likelihood_bars(
        &self,
        x: Option<&[f64]>,
        batch: &Batch<impl Fn(usize) -> usize, impl Fn(usize) -> f64>,
        z: &[f64],
        [a, b, v]: [&mut [f64]; 3],
    ) -> (f64, [f64; 2]) {
        let Batch { at, factor, .. } = batch;
        [&mut *a, &mut *b, &mut *v].into_iter().for_each(|bar| bar.fill(0.0));
        let (mut along, mut noise) = ([0.0; BLOCK], [0.0; 2]);
        let value = self.each_block(batch, true, z, |first, averages| {
            if let Some(x) = x {
                self.basis().multiply_at(|b| at(first + b), x, &mut along[..averages.len()]);
            }
            for (i, (average, &t)) in averages.iter().zip(&along).enumerate() {
                let n = first + i;
                let factor = factor(n);
                let (of_variance, of_noise) = match x {
                    None => {
                        a[n] = factor * average.slope;
                        (factor * average.of_variance, average.of_noise.map(|of_one| factor * of_one))
                    }
                    Some(_) => {
                        (a[n], b[n]) = (factor * t * average.bend, factor * average.slope);
                        let t = factor * t;
                        (t * average.slope_of_variance, average.slope_of_noise.map(|of_one| t * of_one))
                    }
                };
                v[n] = if self.memory.variances[at(n)] > LEAST { of_variance } else { 0.0 };
                noise.iter_mut().zip(of_noise).for_each(|(noise, of_one)| *noise += of_one);
            }
        });
        (value, noise)
    }

    /// `out <- sum_n v_n A_n A_n'`, a few data at a time, which stay in the fastest memory.
    fn outer_products(&self, at: &impl Fn(usize) -> usize, v: &[f64], out: &mut [f64]) {
        let (basis, mut slopes) = (self.basis(), [0.0; 2 * BLOCK]);
        out.fill(0.0);
        for (group, v) in v.chunks(2 * BLOCK).enumerate() {
            let (first, slopes) = (group * 2 * BLOCK, &mut slopes[..v.len()]);
            for (i, out) in out.chunks_exact_mut(self.process.num_inducing()).enumerate() {
                for (b, (slope, v)) in slopes.iter_mut().zip(v).enumerate() {
                    *slope = v * basis.row(at(first + b))[i];
                }
                basis.add_pull_back_at(|b| at(first + b), slopes, out);
            }
        }
    }

    /// Completes `K bar` from `sum_n v_n bar A_n A_n'`, of T if `is_along` a direction, else of S.
    fn plain_bar(
        &self,
        is_along: bool,
        weight: f64,
        [p, q, sum_a, sum_b]: [&[f64]; 4],
        k_bar: &mut [f64],
        row: &mut [f64],
        column: &mut [f64],
    ) {
        let inverse = self.memory.inverse;
        for (i, k_bar) in k_bar.chunks_exact_mut(p.len()).enumerate() {
            for (j, bar) in k_bar.iter_mut().enumerate() {
                *bar -= 0.5 * (p[i] * sum_a[j] + p[j] * sum_a[i] + q[i] * sum_b[j] + q[j] * sum_b[i]);
                *bar += 0.5 * weight * if is_along { p[i] * q[j] + p[j] * q[i] } else { p[i] * p[j] };
            }
            if !is_along {
                // Row i of K^-1 is that of L^-T L^-1.
                column.iter_mut().enumerate().for_each(|(j, c)| *c = inverse.row(j)[i]);
                row.fill(0.0);
                inverse.add_pull_back_at(|j| j, column, row);
                numeric::axpy(-0.5 * weight, row, k_bar);
            }
        }
    }

    /// Completes `K bar` from `sum_n v_n bar W_n W_n'`.
    fn whitened_bar(
        &self,
        z: &[f64],
        x: Option<&[f64]>,
        [sum_a, sum_b]: [&[f64]; 2],
        k_bar: &mut [f64],
        product: &mut [f64],
        column: &mut [f64],
    ) {
        let (m, inverse) = (z.len(), self.memory.inverse);
        for i in 0..m {
            for j in 0..=i {
                let along = x.map_or(0.0, |x| x[i] * sum_b[j]);
                let half = 0.5 * (z[i] * sum_a[j] + along) - k_bar[i * m + j];
                (k_bar[i * m + j], k_bar[j * m + i]) = (half, half);
            }
        }
        for (half, product) in k_bar.chunks_exact(m).zip(product.chunks_exact_mut(m)) {
            product.fill(0.0);
            inverse.add_pull_back_at(|j| j, half, product);
        }
        for (i, k_bar) in k_bar.chunks_exact_mut(m).enumerate() {
            column.iter_mut().enumerate().for_each(|(j, c)| *c = -inverse.row(j)[i]);
            k_bar.fill(0.0);
            RowsRef::new(product, m).add_pull_back_at(|j| j, column, k_bar);
        }
    }
}
