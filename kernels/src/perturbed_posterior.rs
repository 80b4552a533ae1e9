//! Perturbed posteriors: log likelihoods estimated from some rows, with second-order Taylor control variates.

use faer::Mat;
use mcsa_core::{Error, Gradient, LogDensity, Subsampled, all_finite, borrow, numeric, same_length};

/// Second-order Taylor expansion of every likelihood term at a point `z*`, summed over all data.
///
/// ```text
/// q_i(z) = l_i(z*) + g_i . d + d . H_i d / 2,   d = z - z*
/// sum_i q_i(z) = A + g . d + d . H d / 2
/// ```
///
/// The sums `A`, `g` and `H` are computed once, from all data. The expansion is a control variate for the subsampled log likelihood
/// (Bardenet, Doucet & Holmes 2017; Quiroz, Kohn, Villani & Tran 2019): choose `z*` near the mode of the posterior.
#[derive(Debug, Clone, PartialEq)]
pub struct TaylorExpansion {
    point: Vec<f64>,
    log_likelihood: f64,
    gradient: Vec<f64>,
    hessian: Mat<f64>,
}

impl TaylorExpansion {
    /// The expansion of `target` at `point`: one gradient and `d` products with the Hessian, over all data.
    ///
    /// # Errors
    /// If the point has another dimension or is not finite, or a sum is not finite there.
    pub fn new(target: &dyn Subsampled, point: Vec<f64>) -> Result<Self, Error> {
        Self::sums(target, point).map_err(|error| error.within("TaylorExpansion"))
    }

    fn sums(target: &dyn Subsampled, point: Vec<f64>) -> Result<Self, Error> {
        let dim = target.dim();
        same_length("the point of an expansion", dim, point.len())?;
        all_finite("the point of an expansion", &point)?;
        let rows: Vec<usize> = (0..target.num_data()).collect();
        let mut work = vec![0.0; target.rows_work_len(rows.len())];
        let (mut gradient, mut hessian, mut unit) = (vec![0.0; dim], Mat::zeros(dim, dim), vec![0.0; dim]);
        let log_likelihood = target.add_gradient_at(&rows, 1.0, &point, &mut gradient, &mut work);
        for j in 0..dim {
            unit[j] = 1.0;
            target.add_hessian_vector_at(&rows, 1.0, &point, &unit, hessian.col_as_slice_mut(j), &mut work);
            unit[j] = 0.0;
            all_finite("the Hessian of the log likelihood", hessian.col_as_slice(j))?;
        }
        all_finite("the log likelihood", &[log_likelihood])?;
        all_finite("the gradient of the log likelihood", &gradient)?;
        Ok(Self { point, log_likelihood, gradient, hessian })
    }

    /// The point `z*`.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// Writes `H d` and returns `A + g . d + d . H d / 2`.
    fn value(&self, d: &[f64], product: &mut [f64]) -> f64 {
        product.fill(0.0);
        for (j, &d) in d.iter().enumerate() {
            numeric::axpy(d, self.hessian.col_as_slice(j), product);
        }
        self.log_likelihood + numeric::dot(&self.gradient, d) + 0.5 * numeric::dot(product, d)
    }
}

/// Estimate of a log likelihood from some rows, with its estimated variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DifferenceEstimate {
    /// The estimate; unbiased if the rows are drawn uniformly with replacement.
    pub log_likelihood: f64,
    /// The variance of the estimate, itself estimated from the rows.
    pub variance: f64,
}

impl DifferenceEstimate {
    /// The perturbed log likelihood: the estimate less half its variance.
    pub fn perturbed(&self) -> f64 {
        self.log_likelihood - 0.5 * self.variance
    }
}

/// Perturbed posterior at `m` fixed rows `u`, a target on `z` that costs `m` likelihood terms instead of `N`.
///
/// ```text
/// d_k = l_{u_k}(z) - q_{u_k}(z),   lhat = sum_i q_i(z) + N mean(d),   s2 = N^2 / m Var(d)
/// log p(z, u) = log prior(z) + lhat - s2 / 2
/// ```
///
/// `Var` divides by `m`. The difference estimate `lhat` is unbiased over rows drawn uniformly with replacement; the perturbation
/// `-s2 / 2` removes the bias of `exp(lhat)` where `lhat` is normal and `s2` its variance. What remains is of order `1 / m^2` in z's
/// marginal (Quiroz, Kohn, Villani & Tran 2019; Dang, Quiroz, Kohn, Tran & Villani 2019): the marginal is near the posterior, not
/// equal to it.
#[derive(Clone, Copy)]
pub struct PerturbedPosterior<'a> {
    target: &'a dyn Subsampled,
    expansion: &'a TaylorExpansion,
    rows: &'a [usize],
}

/// Sums over rows, with the first difference subtracted from all, which keeps the variance accurate.
#[derive(Default)]
struct Sums {
    first: f64,
    total: f64,
    squares: f64,
}

impl<'a> PerturbedPosterior<'a> {
    /// The perturbed posterior of `target` with the terms of `rows`; a row listed twice counts twice.
    ///
    /// # Errors
    /// If there is no row, a row is not less than the number of data, or the expansion has another dimension.
    pub fn new(
        target: &'a dyn Subsampled,
        expansion: &'a TaylorExpansion,
        rows: &'a [usize],
    ) -> Result<Self, Error> {
        let data = target.num_data();
        let check = || {
            same_length("the point of the expansion", target.dim(), expansion.point.len())?;
            if rows.is_empty() {
                return Err(Error::invalid("no row"));
            }
            match rows.iter().find(|&&row| row >= data) {
                Some(row) => Err(Error::invalid(format!("row {row}: the target has {data} data"))),
                None => Ok(Self { target, expansion, rows }),
            }
        };
        check().map_err(|error: Error| error.within("PerturbedPosterior"))
    }

    /// The perturbed posterior, of parts that have been checked.
    pub(crate) fn of(target: &'a dyn Subsampled, expansion: &'a TaylorExpansion, rows: &'a [usize]) -> Self {
        Self { target, expansion, rows }
    }

    /// The difference estimate of the log likelihood at `z`.
    pub fn difference_estimate(&self, z: &[f64], work: &mut [f64]) -> DifferenceEstimate {
        self.estimate(z, None, work)
    }

    /// The perturbed log likelihood `lhat - s2 / 2` at `z`.
    pub fn perturbed_log_likelihood(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.difference_estimate(z, work).perturbed()
    }

    /// Writes the gradient of the perturbed log likelihood, which it returns.
    pub fn perturbed_gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.fill(0.0);
        self.estimate(z, Some(gradient), work).perturbed()
    }

    /// The estimate; the gradient of its perturbed log likelihood is added to `gradient`.
    ///
    /// ```text
    /// g + H d + N/m sum_k e_k - N^2/m^2 sum_k (d_k - mean(d)) e_k,   e_k = d/dz d_k
    /// ```
    fn estimate(&self, z: &[f64], gradient: Option<&mut [f64]>, mut work: &mut [f64]) -> DifferenceEstimate {
        let Self { target, expansion, rows } = *self;
        let (dim, data, count) = (z.len(), target.num_data() as f64, rows.len() as f64);
        let [d, product, slope, bend, plain, weighted] = std::array::from_fn(|_| borrow(&mut work, dim));
        for ((d, z), point) in d.iter_mut().zip(z).zip(&expansion.point) {
            *d = z - point;
        }
        plain.fill(0.0);
        weighted.fill(0.0);
        let mut sums = Sums::default();
        for (k, row) in rows.iter().enumerate() {
            let row = std::slice::from_ref(row);
            slope.fill(0.0);
            bend.fill(0.0);
            let there = target.add_gradient_at(row, 1.0, &expansion.point, slope, work);
            target.add_hessian_vector_at(row, 1.0, &expansion.point, d, bend, work);
            let expanded = there + numeric::dot(slope, d) + 0.5 * numeric::dot(bend, d);
            let here = if gradient.is_some() {
                slope.iter_mut().zip(&*bend).for_each(|(slope, bend)| *slope = -*slope - bend);
                target.add_gradient_at(row, 1.0, z, slope, work)
            } else {
                target.log_likelihood_at(row, z, work)
            };
            if k == 0 {
                sums.first = here - expanded;
            }
            let difference = here - expanded - sums.first;
            sums.total += difference;
            sums.squares += difference * difference;
            if gradient.is_some() {
                numeric::axpy(1.0, slope, plain);
                numeric::axpy(difference, slope, weighted);
            }
        }
        let mean = sums.total / count;
        let value = expansion.value(d, product);
        if let Some(gradient) = gradient {
            let scale = data / count;
            for (i, gradient) in gradient.iter_mut().enumerate() {
                let covariance = weighted[i] - mean * plain[i];
                *gradient +=
                    expansion.gradient[i] + product[i] + scale * plain[i] - scale * scale * covariance;
            }
        }
        DifferenceEstimate {
            log_likelihood: value + data * (sums.first + mean),
            variance: data * data / count * (sums.squares / count - mean * mean).max(0.0),
        }
    }
}

impl LogDensity for PerturbedPosterior<'_> {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn work_len(&self, _: usize) -> usize {
        6 * self.target.dim() + self.target.rows_work_len(1)
    }

    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        self.target.log_prior(z, work) + self.perturbed_log_likelihood(z, work)
    }
}

impl Gradient for PerturbedPosterior<'_> {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        let prior = self.target.prior_gradient_into(z, gradient, work);
        prior + self.estimate(z, Some(gradient), work).perturbed()
    }
}
