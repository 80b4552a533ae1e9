//! Mixture of diagonal Gaussians, `q(z) = sum_k w_k N(z; m_k, diag(sigma_k^2))`, and its running moments.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{
    Columns, Error, Family, Parametric, Stream, all_finite, borrow, each_column, numeric, same_length,
};
use mcsa_numeric::linear::standard;

use crate::MomentMatched;
use crate::gaussian::LN_SQRT_2PI;
use crate::mixture::{Softmax, log_weights};
use crate::{Link, MeanField, Start};

/// Mixture of `K` Gaussians with diagonal covariances.
///
/// ```text
/// q(z) = sum_k w_k N(z; m_k, diag(sigma_k^2)),   w = softmax(a),   sigma_k = link(rho_k)
/// r_k(z) = w_k N(z; m_k, diag(sigma_k^2)) / q(z)                  the responsibility of component k
/// d/da_k log q = r_k - w_k,   d/d(m_k, rho_k) log q = r_k times the score of component k alone
/// ```
/// Packing: `[a; m_0; rho_0; m_1; rho_1; ..]`, `K` logits and then `2 d` numbers per component.
///
/// A mixture can cover several modes; a single Gaussian fitted to the inclusive divergence spreads over all of them.
/// Components that start equal stay equal: start from [`scattered`](Self::scattered) components. Labels can be
/// swapped, so the divergence has many minima.
///
/// The component is chosen through [`Stream::choose`]. Neither the draw nor the entropy is a known smooth
/// function of lambda, so the mixture is not [`Reparameterised`](mcsa_core::Reparameterised).
///
/// Numerics: densities are summed in log space. A point so far out that every component underflows even in log
/// space (`1e154` scales) has log density `-inf` and score zero.
///
/// ```
/// use mcsa_core::{Family, Parametric};
/// use mcsa_families::GaussianMixture;
/// let q = GaussianMixture::new(1, 2)?;
/// let (means, scales) = (faer::mat![[-3.0, 3.0]], faer::mat![[1.0, 0.5]]);
/// let params = q.at(&[0.5, 0.5], means.as_ref(), scales.as_ref())?;
/// let mut work = vec![0.0; q.work_len(1)];
/// let log_ratio = q.log_prob(&params, &[3.0], &mut work) - q.log_prob(&params, &[-3.0], &mut work);
/// assert!((log_ratio - 2.0_f64.ln()).abs() < 1e-6);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GaussianMixture {
    dim: usize,
    components: usize,
    link: Link,
}

/// Quantities shared by all points of a batch, per component: inverse scales, and the weighted log density at the mean; and room
/// for the log density of each component at one point.
pub(crate) struct Components<'a> {
    inverse: &'a mut [f64],
    log_peaks: &'a mut [f64],
    pub(crate) log_parts: &'a mut [f64],
}

impl GaussianMixture {
    /// Mixture of `components` Gaussians in `dim` dimensions, with the softplus link.
    ///
    /// # Errors
    /// If `components` is zero.
    pub fn new(dim: usize, components: usize) -> Result<Self, Error> {
        if components == 0 {
            return Err(Error::parameter("components", 0.0, "at least 1"));
        }
        Ok(Self { dim, components, link: Link::Softplus })
    }

    /// This family with another link.
    #[must_use]
    pub const fn with_link(self, link: Link) -> Self {
        Self { link, ..self }
    }

    /// The number of components.
    pub const fn components(&self) -> usize {
        self.components
    }

    /// Parameters with these weights, means and scales, one column per component. Weights need not sum to one.
    ///
    /// # Errors
    /// If a shape differs, a weight or a scale is not positive and finite, or a mean is not finite.
    pub fn at(
        &self,
        weights: &[f64],
        means: MatRef<'_, f64>,
        scales: MatRef<'_, f64>,
    ) -> Result<Vec<f64>, Error> {
        same_length("weights", self.components, weights.len())?;
        let mut params: Vec<f64> = log_weights(weights)?.collect();
        for (what, matrix) in [("means", means), ("scales", scales)] {
            same_length(what, self.dim, matrix.nrows())?;
            same_length(what, self.components, matrix.ncols())?;
        }
        for k in 0..self.components {
            let place = |error: Error| error.within(format!("component {k}"));
            params.extend((0..self.dim).map(|i| means[(i, k)]));
            for i in 0..self.dim {
                params.push(self.link.inverse(scales[(i, k)]).map_err(place)?);
            }
        }
        all_finite("params", &params)?;
        Ok(params)
    }

    /// Parameters with equal weights and scales, and means drawn from `N(location, scales^2)`, component by component. Components
    /// with equal means would have equal scores for ever.
    ///
    /// # Errors
    /// If a length differs, the location is not finite, or a scale is not positive and finite.
    pub fn scattered(
        &self,
        location: &[f64],
        scales: &[f64],
        stream: &mut Stream,
    ) -> Result<Vec<f64>, Error> {
        same_length("location", self.dim, location.len())?;
        same_length("scales", self.dim, scales.len())?;
        let mut rho = vec![0.0; self.dim];
        self.link.inverses_into(scales, &mut rho)?;
        let mut params = vec![0.0; self.components];
        for _ in 0..self.components {
            params.extend(location.iter().zip(scales).map(|(m, s)| m + s * stream.normal()));
            params.extend_from_slice(&rho);
        }
        all_finite("params", &params)?;
        Ok(params)
    }

    /// Parameters with equal weights, and every component drawn independently from `start`, whose means must be spread.
    ///
    /// # Errors
    /// If [`Start::draw`] refuses `start`.
    pub fn start(&self, start: &Start, stream: &mut Stream) -> Result<Vec<f64>, Error> {
        let mut params = vec![0.0; self.components];
        for _ in 0..self.components {
            params.extend(start.draw(&MeanField { dim: self.dim, link: self.link }, stream)?);
        }
        Ok(params)
    }

    /// The mean `sum_k w_k m_k`.
    ///
    /// # Errors
    /// If `check` fails for `params`.
    pub fn mean(&self, params: &[f64]) -> Result<Vec<f64>, Error> {
        self.check(params)?;
        let softmax = Softmax::of(self.logits(params));
        let mut mean = vec![0.0; self.dim];
        for k in 0..self.components {
            numeric::axpy(softmax.log(params[k]).exp(), self.component(params, k).0, &mut mean);
        }
        Ok(mean)
    }

    /// The covariance `sum_k w_k (diag(sigma_k^2) + (m_k - mean) (m_k - mean)^T)`.
    ///
    /// # Errors
    /// If `check` fails for `params`.
    pub fn covariance(&self, params: &[f64]) -> Result<Mat<f64>, Error> {
        let mean = self.mean(params)?;
        let softmax = Softmax::of(self.logits(params));
        let mut covariance = Mat::zeros(self.dim, self.dim);
        for k in 0..self.components {
            let (centre, rho) = self.component(params, k);
            let weight = softmax.log(params[k]).exp();
            for j in 0..self.dim {
                for i in 0..self.dim {
                    covariance[(i, j)] += weight * (centre[i] - mean[i]) * (centre[j] - mean[j]);
                }
                covariance[(j, j)] += weight * self.link.scale(rho[j]).powi(2);
            }
        }
        Ok(covariance)
    }

    pub(crate) const fn link(&self) -> Link {
        self.link
    }

    pub(crate) fn logits<'a>(&self, params: &'a [f64]) -> &'a [f64] {
        assert_eq!(params.len(), self.num_params(), "logits, means and rhos");
        &params[..self.components]
    }

    /// Mean and rho of component `k`.
    pub(crate) fn component<'a>(&self, params: &'a [f64], k: usize) -> (&'a [f64], &'a [f64]) {
        params[self.components + 2 * self.dim * k..][..2 * self.dim].split_at(self.dim)
    }

    pub(crate) fn prepare<'a>(&self, params: &[f64], work: &mut &'a mut [f64]) -> Components<'a> {
        let softmax = Softmax::of(self.logits(params));
        let inverse = borrow(work, self.components * self.dim);
        let [log_peaks, log_parts] = [(); 2].map(|()| borrow(work, self.components));
        let logs = borrow(work, self.dim);
        for k in 0..self.components {
            let scales = &mut inverse[k * self.dim..][..self.dim];
            self.link.scales_into(self.component(params, k).1, scales);
            let log_volume = standard::sum_of_logs(scales, logs) + self.dim as f64 * LN_SQRT_2PI;
            log_peaks[k] = softmax.log(params[k]) - log_volume;
            scales.iter_mut().for_each(|scale| *scale = 1.0 / *scale);
        }
        Components { inverse, log_peaks, log_parts }
    }

    /// Writes `ln w_k N_k(z)` of each component to `shared.log_parts`, and returns the log density.
    pub(crate) fn log_parts(&self, params: &[f64], shared: &mut Components<'_>, z: &[f64]) -> f64 {
        for (k, log_part) in shared.log_parts.iter_mut().enumerate() {
            let inverse = &shared.inverse[k * self.dim..][..self.dim];
            let square = standard::sum_squares_scaled(z, self.component(params, k).0, inverse);
            *log_part = shared.log_peaks[k] - 0.5 * square;
        }
        numeric::log_sum_exp(shared.log_parts)
    }
}

impl Parametric for GaussianMixture {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        self.components * (1 + 2 * self.dim)
    }

    fn work_len(&self, columns: usize) -> usize {
        // Room of a batch, then slopes or responsibilities.
        self.components * (self.dim + 2 + self.dim.max(columns)) + self.dim
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)?;
        for k in 0..self.components {
            let checked = self.link.check(self.component(params, k).1);
            checked.map_err(|error| error.within(format!("component {k}")))?;
        }
        Ok(())
    }
}

impl Family for GaussianMixture {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let mut shared = self.prepare(params, &mut work);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = self.log_parts(params, &mut shared, z.column(j));
        }
    }

    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let mut shared = self.prepare(params, &mut work);
        each_column(lanes, z, |lane, j, z| {
            // Finite logits always leave a choice; unchecked ones give NaN, which kernels reject.
            let Some(k) = lane.choose(self.logits(params)) else {
                z.fill(f64::NAN);
                log_q[j] = f64::NAN;
                return;
            };
            lane.normals_into(z);
            let inverse = &shared.inverse[k * self.dim..][..self.dim];
            for ((z, mean), inverse) in z.iter_mut().zip(self.component(params, k).0).zip(inverse) {
                *z = mean + *z / inverse;
            }
            log_q[j] = self.log_parts(params, &mut shared, z);
        });
    }

    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let (dim, softmax) = (self.dim, Softmax::of(self.logits(params)));
        let mut shared = self.prepare(params, &mut work);
        let slopes = borrow(&mut work, self.components * dim);
        for k in 0..self.components {
            let slopes = &mut slopes[k * dim..][..dim];
            self.link.derivatives_into(self.component(params, k).1, slopes);
            let inverse = &shared.inverse[k * dim..][..dim];
            slopes.iter_mut().zip(inverse).for_each(|(slope, inverse)| *slope *= inverse);
        }
        let (d_logits, d_components) = gradient.split_at_mut(self.components);
        for (j, &weight) in weights.iter().enumerate() {
            let z = z.column(j);
            let log_q = self.log_parts(params, &mut shared, z);
            if log_q == f64::NEG_INFINITY {
                continue;
            }
            for k in 0..self.components {
                let responsibility = (shared.log_parts[k] - log_q).exp();
                d_logits[k] += weight * (responsibility - softmax.log(params[k]).exp());
                if responsibility == 0.0 {
                    continue; // Its squares may have overflowed.
                }
                let (mean, inverse) = (self.component(params, k).0, &shared.inverse[k * dim..][..dim]);
                let (d_mean, d_rho) = d_components[2 * dim * k..][..2 * dim].split_at_mut(dim);
                for i in 0..dim {
                    let eps = (z[i] - mean[i]) * inverse[i];
                    d_mean[i] += weight * (responsibility * (eps * inverse[i]));
                    d_rho[i] += weight * (responsibility * ((eps * eps - 1.0) * slopes[k * dim + i]));
                }
            }
        }
    }
}

/// Least weight of a component of a running estimate, times the number of components.
const LEAST_WEIGHT: f64 = 1e-3;

/// Online EM (Cappe & Moulines 2009), with the responsibilities at the current lambda.
///
/// ```text
/// r_ik = w_k N_k(z_i) / q(z_i),    E_q[r_k] = w_k,   E_q[r_k (z - m_k)] = 0,   E_q[r_k (z - m_k)^2] = w_k sigma_k^2
/// w_k' = (1 - gain) w_k + gain R_k,   R_k = sum_i weight_i r_ik
/// m_k' and sigma_k' as those of MeanField with gain  gain R_k / w_k'  and weights  weight_i r_ik / R_k
/// ```
/// At gain one the step never decreases `E_p[log q]`. It is not a natural-gradient step: where components overlap, EM is slow.
///
/// A component without points loses weight and stays where it is. Its weight stays at least `0.001 / K`, so that some proposals
/// are still drawn from it and it can return. A fixed point is a stationary point of `KL(p || q)` if all its weights are above
/// that.
impl MomentMatched for GaussianMixture {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        mut work: &mut [f64],
    ) -> bool {
        let (dim, count) = (self.dim(), self.components());
        assert_eq!((points.nrows(), points.ncols()), (dim, weights.len()), "a weight per column");
        assert_eq!(matched.len(), params.len(), "logits, means and rhos");
        let softmax = Softmax::of(self.logits(params));
        let mut shared = self.prepare(params, &mut work);
        let shares = borrow(&mut work, count * weights.len());
        for ((j, &weight), shares) in weights.iter().enumerate().zip(shares.chunks_exact_mut(count)) {
            if weight == 0.0 {
                shares.fill(0.0);
                continue;
            }
            let log_q = self.log_parts(params, &mut shared, points.column(j));
            for (share, log_part) in shares.iter_mut().zip(&*shared.log_parts) {
                *share = weight * (log_part - log_q).exp();
            }
        }
        let (logits, components) = matched.split_at_mut(count);
        let share = |k: usize| shares.iter().skip(k).step_by(count).copied();
        for (k, logit) in logits.iter_mut().enumerate() {
            let arrived = gain * share(k).sum::<f64>();
            *logit = (1.0 - gain) * softmax.log(params[k]).exp() + arrived;
            let (mean, rho) = self.component(params, k);
            let (matched_mean, matched_rho) = components[2 * dim * k..][..2 * dim].split_at_mut(dim);
            let (part, total) = (arrived / *logit, arrived / gain);
            for i in 0..dim {
                let scale = self.link().scale(rho[i]);
                let away = |j: usize| points[(i, j)] - mean[i];
                let (mut delta, mut spread) = (0.0, 0.0);
                if total > 0.0 {
                    delta = share(k).enumerate().map(|(j, share)| share * away(j)).sum::<f64>() / total;
                    let square = |(j, share): (usize, f64)| share * (away(j) - delta) * (away(j) - delta);
                    spread = share(k).enumerate().map(square).sum::<f64>() / total;
                }
                let variance = (1.0 - part) * (scale * scale + part * (delta * delta)) + part * spread;
                matched_mean[i] = mean[i] + part * delta;
                let Ok(rho) = self.link().inverse(variance.sqrt()) else { return false };
                matched_rho[i] = rho;
            }
        }
        keep_alive(logits);
        matched.iter().all(|number| number.is_finite())
    }
}

/// Raises weights to the least that is allowed, at the cost of the others, and takes their logarithms.
fn keep_alive(weights: &mut [f64]) {
    let least = LEAST_WEIGHT / weights.len() as f64;
    let (mut raised, mut others) = (0.0, 0.0);
    for weight in &*weights {
        if *weight < least { raised += least } else { others += weight }
    }
    for weight in weights {
        *weight = if *weight < least { least } else { *weight * ((1.0 - raised) / others) }.ln();
    }
}
