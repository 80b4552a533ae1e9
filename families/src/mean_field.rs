//! Families with independent coordinates: the mean-field Gaussian and the product of Student t distributions.

use faer::reborrow::{Reborrow, ReborrowMut};
use faer::{MatMut, MatRef};
use mcsa_core::numeric::vectorised;
use mcsa_core::{
    Columns, ColumnsMut, Error, Family, Reparameterised, Stream, all_finite, borrow, each_column, same_length,
};
use mcsa_numeric::linear::standard::{self, AddScores};

use crate::law::Radial;
use crate::location_scale::sealed;
use crate::student::Student;
use crate::{Gauss, KnownLaw, Law, Link, LocationScale, Shape};

/// Mean-field Gaussian (diagonal covariance), the family of all published score climbing experiments.
///
/// ```text
/// q(z) = prod_i N(z_i; m_i, sigma_i^2),   sigma = link(rho),   lambda = [m; rho]
/// d/dm_i   log q = (z_i - m_i) / sigma_i^2
/// d/drho_i log q = ((z_i - m_i)^2 / sigma_i^2 - 1) / sigma_i * link'(rho_i)
/// ```
/// KL(p || q) is least at the target's means and marginal variances, whatever the target's
/// correlations. Where the target's tails are heavier than Gaussian, importance weights are unbounded.
///
/// A `rho` whose scale is not a positive normal number fails `check`. Dimension 0 is the point mass on
/// the empty vector: log density 0, entropy 0.
///
/// ```
/// use mcsa_core::{Family, Parametric};
/// use mcsa_families::MeanField;
/// let q = MeanField::new(2);
/// let params = q.at(&[1.0, 2.0], &[1.0, 1.0])?;
/// let mut work = vec![0.0; q.work_len(1)];
/// let log_q = q.log_prob(&params, &[1.0, 2.0], &mut work);
/// assert!((log_q + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-14);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub type MeanField = LocationScale<Diagonal, Gauss>;

/// Student t with independent coordinates and common degrees of freedom `nu`.
///
/// ```text
/// q(z) = prod_i t_nu(u_i) / sigma_i,   u_i = (z_i - m_i) / sigma_i,   sigma = link(rho)
/// log t_nu(u) = c(nu) - (nu + 1)/2 ln(1 + u^2/nu),   c(nu) = ln Gamma((nu+1)/2) - ln Gamma(nu/2) - ln(nu pi)/2
/// d/dm_i   log q = (nu + 1) u_i / (nu + u_i^2) / sigma_i
/// d/drho_i log q = ((nu + 1) u_i^2 / (nu + u_i^2) - 1) / sigma_i * link'(rho_i)
/// d/dnu    log q = sum_i c'(nu) - ln(1 + u_i^2/nu)/2 + (nu + 1)/(2 nu) u_i^2 / (nu + u_i^2)
/// ```
/// Lambda is `[m; rho]`, for `StudentT<Learned>` `[m; rho; parameter of nu]`, see [`Learned`](crate::Learned).
/// With heavier tails than the target the importance weights are bounded, so independent
/// Metropolis-Hastings is uniformly ergodic; a Gaussian does not guarantee this.
///
/// [`Reparameterised`] for fixed degrees of freedom only (the noise is a standard t). The mean exists for `nu > 1`, the
/// variance for `nu > 2`. In dimension 0 log density and entropy are 0.
///
/// ```
/// use mcsa_core::{Family, Parametric};
/// use mcsa_families::StudentT;
/// let q = StudentT::fixed(1, 1.0)?; // Cauchy
/// let params = q.at(&[0.0], &[1.0])?;
/// let log_q = q.log_prob(&params, &[0.0], &mut vec![0.0; q.work_len(1)]);
/// assert!((log_q + std::f64::consts::PI.ln()).abs() < 1e-14);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub type StudentT<D> = LocationScale<Diagonal, D>;

/// Diagonal scale, with parameters `rho`: the coordinates are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Diagonal;

impl Shape for Diagonal {}

impl sealed::Shape for Diagonal {
    const NAMES: [&'static str; 2] = ["MeanField", "StudentT"];

    type Scale<'a> = &'a [f64];

    fn params(link: Link, dim: usize, location: &[f64], scales: &[f64]) -> Result<Vec<f64>, Error> {
        same_length("mean", dim, location.len())?;
        same_length("scales", dim, scales.len())?;
        all_finite("mean", location)?;
        let mut params = [location, scales].concat();
        link.inverses_into(scales, &mut params[dim..])?;
        Ok(params)
    }

    fn num_params(dim: usize) -> usize {
        dim
    }

    fn work_len(dim: usize, _: usize) -> usize {
        3 * dim + 1
    }

    fn check(link: Link, _: usize, rho: &[f64]) -> Result<(), Error> {
        link.check(rho)
    }

    fn log_det(link: Link, dim: usize, rho: &[f64], mut work: &mut [f64]) -> f64 {
        let scales = borrow(&mut work, dim);
        link.scales_into(rho, scales);
        standard::sum_of_logs(scales, borrow(&mut work, dim))
    }

    fn draw(law: Radial, lane: &mut Stream, u: &mut [f64]) {
        match law.0 {
            None => lane.normals_into(u),
            Some(student) => u.iter_mut().for_each(|u| *u = student.draw(lane)),
        }
    }

    fn entropy(student: Student, dim: usize) -> f64 {
        dim as f64 * student.entropy(1)
    }
}

impl<L: Law> LocationScale<Diagonal, L> {
    /// Writes what depends on the params alone to the start of the memory: the scales, and the log density at the location.
    fn prepare(&self, law: Radial, rho: &[f64], work: &mut [f64]) {
        let (scales, rest) = work.split_at_mut(self.dim);
        let (log_normalizer, logs) = rest.split_at_mut(1);
        self.link.scales_into(rho, scales);
        let peak = match law.0 {
            None => law.log_peak(self.dim),
            Some(student) => self.dim as f64 * student.log_peak(1),
        };
        log_normalizer[0] = peak - standard::sum_of_logs(scales, &mut logs[..self.dim]);
    }
}

impl<L: Law> Family for LocationScale<Diagonal, L> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) {
        let (_, rho, law) = self.parts(params);
        self.prepare(law, rho, work);
        self.log_probs_again(params, z, log_q, work);
    }

    fn log_probs_again(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        let (location, _, law) = self.parts(params);
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let scales = borrow(&mut work, self.dim);
        let (log_normalizer, inverse) = (borrow(&mut work, 1)[0], borrow(&mut work, self.dim));
        inverse.iter_mut().zip(&*scales).for_each(|(inverse, scale)| *inverse = 1.0 / scale);
        match law.0 {
            None => standard::sums_squares_scaled(z, location, inverse, log_q),
            Some(student) => student.total_falls(z, log_q, |i, z| (z - location[i]) * inverse[i]),
        }
        log_q.iter_mut().for_each(|log_q| *log_q = log_normalizer - 0.5 * *log_q);
    }

    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        let (location, rho, law) = self.parts(params);
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        self.prepare(law, rho, work);
        let (scales, log_normalizer) = (&work[..self.dim], work[self.dim]);
        each_column(lanes, z.rb_mut(), |lane, _, z| <Diagonal as sealed::Shape>::draw(law, lane, z));
        match law.0 {
            None => standard::sums_squares(z.rb(), log_q),
            Some(student) => student.total_falls(z.rb(), log_q, |_, u| u),
        }
        log_q.iter_mut().for_each(|log_q| *log_q = log_normalizer - 0.5 * *log_q);
        vectorised(
            #[inline(always)]
            || {
                for j in 0..z.ncols() {
                    for ((z, location), scale) in z.column_mut(j).iter_mut().zip(location).zip(scales) {
                        *z = location + scale * *z;
                    }
                }
            },
        );
    }

    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        let (_, rho, _) = self.parts(params);
        self.link.scales_into(rho, &mut work[..self.dim]);
        self.add_scores_again(params, z, weights, gradient, work);
    }

    fn add_scores_again(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (location, rho, law) = self.parts(params);
        assert_eq!((z.nrows(), z.ncols()), (self.dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let (scales, _) = (borrow(&mut work, self.dim), borrow(&mut work, 1));
        let (inverse, slope) = (borrow(&mut work, self.dim), borrow(&mut work, self.dim));
        self.link.log_derivatives_into(rho, scales, slope);
        inverse.iter_mut().zip(&*scales).for_each(|(inverse, scale)| *inverse = 1.0 / scale);
        let (d_mean, rest) = gradient.split_at_mut(self.dim);
        let (d_rho, d_dof) = rest.split_at_mut(self.dim);
        let Some(student) = law.0 else {
            return AddScores { z, weights, mean: location, inverse, slope, d_mean, d_rho }.run();
        };
        let peak_slope = self.dim as f64 * student.log_peak_slope(1);
        for (j, &weight) in weights.iter().enumerate() {
            let z = z.column(j);
            let mut claims = 0.0;
            for i in 0..self.dim {
                let (pull, claim) = student.pull_and_claim((z[i] - location[i]) * inverse[i]);
                claims += claim;
                d_mean[i] += weight * ((student.dof + 1.0) * pull * inverse[i]);
                d_rho[i] += weight * (((student.dof + 1.0) * claim - 1.0) * slope[i]);
            }
            if let [d_dof] = d_dof {
                let fall = student.total_fall(self.dim, |i| (z[i] - location[i]) * inverse[i]);
                let rise = 0.5 * (1.0 + 1.0 / student.dof) * claims;
                let slope = self.law.slope(&params[2 * self.dim..]);
                *d_dof += weight * ((peak_slope - 0.5 * fall + rise) * slope);
            }
        }
    }

    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        standard::reflect(&params[..self.dim], z);
        true
    }
}

impl<L: KnownLaw> Reparameterised for LocationScale<Diagonal, L> {
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        assert_eq!(noise.nrows(), self.dim, "noise has the dimension of z");
        let law = self.law.at(&[]);
        each_column(lanes, noise, |lane, _, noise| <Diagonal as sealed::Shape>::draw(law, lane, noise));
    }

    fn transport(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        let (location, rho, _) = self.parts(params);
        assert_eq!((noise.nrows(), noise.ncols()), (self.dim, z.ncols()), "a noise per column");
        assert_eq!(z.nrows(), self.dim, "a point has the dimension of the family");
        let scales = borrow(&mut work, self.dim);
        self.link.scales_into(rho, scales);
        for j in 0..z.ncols() {
            let (z, noise) = (z.column_mut(j), noise.column(j));
            for i in 0..self.dim {
                z[i] = location[i] + scales[i] * noise[i];
            }
        }
    }

    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (_, rho, _) = self.parts(params);
        assert_eq!((noise.nrows(), noise.ncols()), (self.dim, cotangents.ncols()), "a noise per column");
        assert_eq!(cotangents.nrows(), self.dim, "a cotangent has the dimension of z");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let slope = borrow(&mut work, self.dim);
        self.link.derivatives_into(rho, slope);
        let (d_mean, d_rho) = gradient.split_at_mut(self.dim);
        for j in 0..noise.ncols() {
            let (noise, cotangent) = (noise.column(j), cotangents.column(j));
            for i in 0..self.dim {
                d_mean[i] += cotangent[i];
                d_rho[i] += cotangent[i] * (noise[i] * slope[i]);
            }
        }
    }

    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        mut slopes: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        let (location, rho, law) = self.parts(params);
        standard::assert_slopes(self.dim, z, slopes.as_ref());
        let [scales, inverse] = [(); 2].map(|()| borrow(&mut work, self.dim));
        self.link.scales_into(rho, scales);
        inverse.iter_mut().zip(&*scales).for_each(|(inverse, scale)| *inverse = 1.0 / scale);
        for j in 0..z.ncols() {
            let (slope, z) = (slopes.column_mut(j), z.column(j));
            for i in 0..self.dim {
                let away = z[i] - location[i];
                slope[i] -= weight
                    * law.0.map_or(away * inverse[i] * inverse[i], |student| {
                        (student.dof + 1.0) * student.pull_and_claim(away / scales[i]).0 / scales[i]
                    });
            }
        }
    }

    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        LocationScale::entropy(self, params, work)
    }

    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], mut work: &mut [f64]) {
        let (_, rho, _) = self.parts(params);
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let (scales, slope) = (borrow(&mut work, self.dim), borrow(&mut work, self.dim));
        self.link.scales_into(rho, scales);
        self.link.log_derivatives_into(rho, scales, slope);
        for (gradient, slope) in gradient[self.dim..].iter_mut().zip(slope) {
            *gradient += weight * *slope;
        }
    }
}
