//! Product of Student t distributions: a heavy-tailed mean-field family.

use faer::{MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Error, Family, Parametric, Reparameterised, Stream, borrow};

use crate::student::Student;
use crate::{Dof, Fixed, Learned, Link, MeanField, Start, dof};
use mcsa_core::each_column;
use mcsa_numeric::linear::standard;

/// Student t with independent coordinates and common degrees of freedom `nu`.
///
/// ```text
/// q(z) = prod_i t_nu(u_i) / sigma_i,   u_i = (z_i - m_i) / sigma_i,   sigma = link(rho)
/// log t_nu(u) = c(nu) - (nu + 1)/2 ln(1 + u^2/nu),   c(nu) = ln Gamma((nu+1)/2) - ln Gamma(nu/2) - ln(nu pi)/2
/// d/dm_i   log q = (nu + 1) u_i / (nu + u_i^2) / sigma_i
/// d/drho_i log q = ((nu + 1) u_i^2 / (nu + u_i^2) - 1) / sigma_i * link'(rho_i)
/// d/dnu    log q = sum_i c'(nu) - ln(1 + u_i^2/nu)/2 + (nu + 1)/(2 nu) u_i^2 / (nu + u_i^2)
/// ```
/// Lambda is `[m; rho]`, for `StudentT<Learned>` `[m; rho; parameter of nu]`, see [`Learned`].
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentT<D> {
    /// The dimension.
    pub dim: usize,
    /// The map from `rho` to the scale.
    pub link: Link,
    /// The degrees of freedom.
    pub dof: D,
}

impl StudentT<Fixed> {
    /// Family in `dim` dimensions with the softplus link and `dof` degrees of freedom.
    ///
    /// # Errors
    /// If `dof` is not finite, or below 0.1, as in [`Fixed::new`].
    pub fn fixed(dim: usize, dof: f64) -> Result<Self, Error> {
        Ok(Self { dim, link: Link::Softplus, dof: Fixed::new(dof)? })
    }

    /// Parameters with this location and these scales; the standard t has location 0 and scales 1.
    ///
    /// # Errors
    /// If a length differs, the location is not finite, or a scale is not positive and finite.
    pub fn at(&self, location: &[f64], scales: &[f64]) -> Result<Vec<f64>, Error> {
        self.frame().at(location, scales)
    }

    /// Initial parameters: location and scales of a Gaussian drawn from `start`.
    ///
    /// # Errors
    /// If [`Start::draw`] refuses `start`.
    pub fn start(&self, start: &Start, stream: &mut Stream) -> Result<Vec<f64>, Error> {
        start.draw(&self.frame(), stream)
    }
}

impl StudentT<Learned> {
    /// Family in `dim` dimensions with the softplus link and learned degrees of freedom, greater than `floor`.
    ///
    /// # Errors
    /// If `floor` is not finite, or below 0.1, as in [`Learned::above`].
    pub fn learned(dim: usize, floor: f64) -> Result<Self, Error> {
        Ok(Self { dim, link: Link::Softplus, dof: Learned::above(floor)? })
    }

    /// Parameters with this location, these scales and `dof` degrees of freedom.
    ///
    /// # Errors
    /// As [`StudentT::<Fixed>::at`], or if `dof` is not finite and above the floor.
    pub fn at(&self, location: &[f64], scales: &[f64], dof: f64) -> Result<Vec<f64>, Error> {
        let mut params = self.frame().at(location, scales)?;
        params.push(self.dof.param(dof)?);
        Ok(params)
    }

    /// Initial parameters: location and scales of a Gaussian drawn from `start`, and `dof` degrees of freedom.
    ///
    /// # Errors
    /// If [`Start::draw`] refuses `start`, or `dof` is not finite and above the floor.
    pub fn start(&self, start: &Start, dof: f64, stream: &mut Stream) -> Result<Vec<f64>, Error> {
        let mut params = start.draw(&self.frame(), stream)?;
        params.push(self.dof.param(dof)?);
        Ok(params)
    }
}

impl<D: Dof> StudentT<D> {
    /// This family with another link.
    #[must_use]
    pub fn with_link(self, link: Link) -> Self {
        Self { link, ..self }
    }

    /// The degrees of freedom at `params`.
    ///
    /// # Panics
    /// If `params` does not have `num_params` entries.
    pub fn dof_at(&self, params: &[f64]) -> f64 {
        self.parts(params).2.dof
    }

    /// The mean; `None` if `nu <= 1`, where it does not exist.
    ///
    /// # Errors
    /// If `check` refuses `params`.
    pub fn mean(&self, params: &[f64]) -> Result<Option<Vec<f64>>, Error> {
        self.check(params)?;
        let (location, _, student) = self.parts(params);
        Ok((student.dof > 1.0).then(|| location.to_vec()))
    }

    /// The variances `sigma_i^2 nu / (nu - 2)`; `None` if `nu <= 2`, where they do not exist.
    ///
    /// # Errors
    /// If `check` refuses `params`.
    pub fn variances(&self, params: &[f64]) -> Result<Option<Vec<f64>>, Error> {
        self.check(params)?;
        let (_, rho, student) = self.parts(params);
        let variance = |&rho: &f64| self.link.scale(rho).powi(2) * student.dof / (student.dof - 2.0);
        Ok((student.dof > 2.0).then(|| rho.iter().map(variance).collect()))
    }

    /// The entropy, in closed form: `sum_i ln sigma_i` plus `dim` times the entropy of the standard t on the line.
    pub fn entropy(&self, params: &[f64], mut work: &mut [f64]) -> f64 {
        let (_, rho, student) = self.parts(params);
        let scales = borrow(&mut work, self.dim);
        self.link.scales_into(rho, scales);
        self.dim as f64 * student.entropy(1) + standard::sum_of_logs(scales, borrow(&mut work, self.dim))
    }

    /// Gaussian family with the same location and scales: both map noise `u` to `m + sigma u`.
    fn frame(&self) -> MeanField {
        MeanField { dim: self.dim, link: self.link }
    }

    pub(crate) fn parts<'a>(&self, params: &'a [f64]) -> (&'a [f64], &'a [f64], Student) {
        assert_eq!(params.len(), 2 * self.dim + D::NUM_PARAMS, "location, rho and degrees of freedom");
        let (location, rest) = params.split_at(self.dim);
        let (rho, dof) = rest.split_at(self.dim);
        (location, rho, Student::new(self.dof.dof(dof)))
    }

    /// Writes the scales, and returns the log density at the location; `logs` is scratch memory.
    fn peak(&self, student: Student, rho: &[f64], scales: &mut [f64], logs: &mut [f64]) -> f64 {
        self.link.scales_into(rho, scales);
        self.dim as f64 * student.log_peak(1) - standard::sum_of_logs(scales, logs)
    }
}

impl<D: Dof> Parametric for StudentT<D> {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        2 * self.dim + D::NUM_PARAMS
    }

    fn work_len(&self, _columns: usize) -> usize {
        2 * self.dim
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        dof::check(&self.dof, params, self.num_params())?;
        self.link.check(&params[self.dim..2 * self.dim])
    }
}

impl<D: Dof> Family for StudentT<D> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        let (location, rho, student) = self.parts(params);
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let inverse = borrow(&mut work, self.dim);
        let peak = self.peak(student, rho, inverse, borrow(&mut work, self.dim));
        inverse.iter_mut().for_each(|scale| *scale = 1.0 / *scale);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let z = z.column(j);
            let fall = student.total_fall(self.dim, |i| (z[i] - location[i]) * inverse[i]);
            *log_q = peak - 0.5 * (student.dof + 1.0) * fall;
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
        let (location, rho, student) = self.parts(params);
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let scales = borrow(&mut work, self.dim);
        let peak = self.peak(student, rho, scales, borrow(&mut work, self.dim));
        each_column(lanes, z, |lane, j, z| {
            z.iter_mut().for_each(|z| *z = student.draw(lane));
            log_q[j] = peak - 0.5 * (student.dof + 1.0) * student.total_fall(self.dim, |i| z[i]);
            for ((z, location), scale) in z.iter_mut().zip(location).zip(&*scales) {
                *z = location + scale * *z;
            }
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
        let (location, rho, student) = self.parts(params);
        assert_eq!((z.nrows(), z.ncols()), (self.dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let (inverse, slope) = (borrow(&mut work, self.dim), borrow(&mut work, self.dim));
        self.link.scales_into(rho, inverse);
        self.link.log_derivatives_into(rho, inverse, slope);
        inverse.iter_mut().for_each(|scale| *scale = 1.0 / *scale);
        let (d_location, rest) = gradient.split_at_mut(self.dim);
        let (d_rho, d_dof) = rest.split_at_mut(self.dim);
        let peak_slope = self.dim as f64 * student.log_peak_slope(1);
        for (j, &weight) in weights.iter().enumerate() {
            let z = z.column(j);
            let mut claims = 0.0;
            for i in 0..self.dim {
                let u = (z[i] - location[i]) * inverse[i];
                let (pull, claim) = student.pull_and_claim(u);
                claims += claim;
                d_location[i] += weight * ((student.dof + 1.0) * pull * inverse[i]);
                d_rho[i] += weight * (((student.dof + 1.0) * claim - 1.0) * slope[i]);
            }
            if let [d_dof] = d_dof {
                let fall = student.total_fall(self.dim, |i| (z[i] - location[i]) * inverse[i]);
                let rise = 0.5 * (1.0 + 1.0 / student.dof) * claims;
                let slope = self.dof.derivative(&params[2 * self.dim..]);
                *d_dof += weight * ((peak_slope - 0.5 * fall + rise) * slope);
            }
        }
    }

    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        standard::reflect(&params[..self.dim], z);
        true
    }
}

impl Reparameterised for StudentT<Fixed> {
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        assert_eq!(noise.nrows(), self.dim, "noise has the dimension of z");
        let student = Student::new(self.dof.value());
        each_column(lanes, noise, |lane, _, noise| noise.iter_mut().for_each(|u| *u = student.draw(lane)));
    }

    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, z: MatMut<'_, f64>, work: &mut [f64]) {
        self.frame().transport(params, noise, z, work);
    }

    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.frame().add_pullbacks(params, noise, cotangents, gradient, work);
    }

    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        mut slopes: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        let (location, rho, student) = self.parts(params);
        standard::assert_slopes(self.dim, z, slopes.as_ref());
        let scales = borrow(&mut work, self.dim);
        self.link.scales_into(rho, scales);
        for j in 0..z.ncols() {
            let (slope, z) = (slopes.column_mut(j), z.column(j));
            for i in 0..self.dim {
                let (pull, _) = student.pull_and_claim((z[i] - location[i]) / scales[i]);
                slope[i] -= weight * ((student.dof + 1.0) * pull / scales[i]);
            }
        }
    }

    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        StudentT::entropy(self, params, work)
    }

    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]) {
        // The entropies of the t and of the Gaussian frame differ by a constant in lambda.
        self.frame().add_entropy_gradient(params, weight, gradient, work);
    }
}
