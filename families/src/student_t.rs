//! Student t families: degrees of freedom, what all of them share, and the product of t distributions.

use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Error, Family, Parametric, Reparameterised, Stream, all_finite, borrow, each_column,
    same_length,
};
use mcsa_numeric::linear::standard;

use crate::MomentMatched;
use crate::student::{Student, check_dof};
use crate::{GaussianFamily, Link, MeanField, Start};

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
pub type StudentT<D> = FramedT<MeanField, D>;

impl<D: Dof> StudentT<D> {
    /// The variances `sigma_i^2 nu / (nu - 2)`; `None` if `nu <= 2`, where they do not exist.
    ///
    /// # Errors
    /// If `check` fails for `params`.
    pub fn variances(&self, params: &[f64]) -> Result<Option<Vec<f64>>, Error> {
        self.check(params)?;
        let (_, rho, student) = self.split(params);
        let variance = |&rho: &f64| self.frame.link.scale(rho).powi(2) * student.dof / (student.dof - 2.0);
        Ok((student.dof > 2.0).then(|| rho.iter().map(variance).collect()))
    }

    /// Writes the scales, and returns the log density at the location; `logs` is scratch memory.
    fn log_normalizer(&self, student: Student, rho: &[f64], scales: &mut [f64], logs: &mut [f64]) -> f64 {
        self.frame.link.scales_into(rho, scales);
        self.frame.dim as f64 * student.log_peak(1) - standard::sum_of_logs(scales, logs)
    }

    /// Location, rho, and the standard t.
    fn split<'a>(&self, params: &'a [f64]) -> (&'a [f64], &'a [f64], Student) {
        let (frame, student) = self.parts(params);
        let (location, rho) = frame.split_at(self.frame.dim);
        (location, rho, student)
    }
}

impl sealed::OfT for MeanField {
    const NAME: &'static str = "StudentT";

    fn draw(student: Student, lane: &mut Stream, noise: &mut [f64]) {
        noise.iter_mut().for_each(|u| *u = student.draw(lane));
    }

    fn standard_entropy(student: Student, dim: usize) -> f64 {
        dim as f64 * student.entropy(1)
    }

    fn sum_of_log_scales(&self, params: &[f64], mut work: &mut [f64]) -> f64 {
        let scales = borrow(&mut work, self.dim);
        self.link.scales_into(&params[self.dim..], scales);
        standard::sum_of_logs(scales, borrow(&mut work, self.dim))
    }

    fn add_slopes_of_t(
        &self,
        student: Student,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        mut slopes: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        let (location, rho) = params.split_at(self.dim);
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
}

impl<D: Dof> Family for StudentT<D> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        let (location, rho, student) = self.split(params);
        assert_eq!((z.nrows(), z.ncols()), (self.frame.dim, log_q.len()), "a density per column");
        let inverse = borrow(&mut work, self.frame.dim);
        let log_normalizer = self.log_normalizer(student, rho, inverse, borrow(&mut work, self.frame.dim));
        inverse.iter_mut().for_each(|scale| *scale = 1.0 / *scale);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let z = z.column(j);
            let fall = student.total_fall(self.frame.dim, |i| (z[i] - location[i]) * inverse[i]);
            *log_q = log_normalizer - 0.5 * (student.dof + 1.0) * fall;
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
        let (location, rho, student) = self.split(params);
        assert_eq!((z.nrows(), z.ncols()), (self.frame.dim, log_q.len()), "a density per column");
        let scales = borrow(&mut work, self.frame.dim);
        let log_normalizer = self.log_normalizer(student, rho, scales, borrow(&mut work, self.frame.dim));
        each_column(lanes, z, |lane, j, z| {
            z.iter_mut().for_each(|z| *z = student.draw(lane));
            log_q[j] =
                log_normalizer - 0.5 * (student.dof + 1.0) * student.total_fall(self.frame.dim, |i| z[i]);
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
        let (location, rho, student) = self.split(params);
        assert_eq!((z.nrows(), z.ncols()), (self.frame.dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let (inverse, slope) = (borrow(&mut work, self.frame.dim), borrow(&mut work, self.frame.dim));
        self.frame.link.scales_into(rho, inverse);
        self.frame.link.log_derivatives_into(rho, inverse, slope);
        inverse.iter_mut().for_each(|scale| *scale = 1.0 / *scale);
        let (d_location, rest) = gradient.split_at_mut(self.frame.dim);
        let (d_rho, d_dof) = rest.split_at_mut(self.frame.dim);
        let peak_slope = self.frame.dim as f64 * student.log_peak_slope(1);
        for (j, &weight) in weights.iter().enumerate() {
            let z = z.column(j);
            let mut claims = 0.0;
            for i in 0..self.frame.dim {
                let u = (z[i] - location[i]) * inverse[i];
                let (pull, claim) = student.pull_and_claim(u);
                claims += claim;
                d_location[i] += weight * ((student.dof + 1.0) * pull * inverse[i]);
                d_rho[i] += weight * (((student.dof + 1.0) * claim - 1.0) * slope[i]);
            }
            if let [d_dof] = d_dof {
                let fall = student.total_fall(self.frame.dim, |i| (z[i] - location[i]) * inverse[i]);
                let rise = 0.5 * (1.0 + 1.0 / student.dof) * claims;
                let slope = self.dof.derivative(&params[2 * self.frame.dim..]);
                *d_dof += weight * ((peak_slope - 0.5 * fall + rise) * slope);
            }
        }
    }

    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        standard::reflect(&params[..self.frame.dim], z);
        true
    }
}

/// Step of the degrees of freedom in `n` dimensions, from the means over the points of `u` and of `ln(1 + r^2 / nu)`. Returns the
/// new degrees of freedom, and the factor by which all scales change with them.
///
/// ```text
/// 1/nu' = 1/nu - gain (nu + n)/(nu + n + 2) s / (I nu^2)       s the efficient score, I its variance; at most by a factor of two
/// stretch = (nu' (nu + n) / (nu (nu' + n)))^(1/n)              L (1 + n/nu)^(1/n) is orthogonal to nu in the Fisher metric
/// ```
pub(crate) fn move_dof<D: Dof>(
    dof: &D,
    student: Student,
    n: usize,
    gain: f64,
    pull: f64,
    fall: f64,
) -> (f64, f64) {
    if D::NUM_PARAMS == 0 {
        return (student.dof, 1.0);
    }
    let (nu, n_) = (student.dof, n as f64);
    let length = gain * (nu + n_) / (nu + n_ + 2.0);
    let step = length * student.efficient_score(n, pull, fall) / student.efficient_information(n);
    let moved = dof.confined(1.0 / (1.0 / nu - step / (nu * nu)).clamp(0.5 / nu, 2.0 / nu));
    (moved, (moved * (nu + n_) / (nu * (moved + n_))).powf(1.0 / n_))
}

/// Online EM as for [`MultivariateT`](crate::MultivariateT) on the line, coordinate by coordinate; the degrees of freedom are common.
impl<D: Dof> MomentMatched for StudentT<D> {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        _: &mut [f64],
    ) -> bool {
        let dim = self.frame.dim;
        assert_eq!((points.nrows(), points.ncols()), (dim, weights.len()), "a weight per column");
        assert_eq!(matched.len(), params.len(), "location, rho and degrees of freedom");
        if dim == 0 {
            matched.copy_from_slice(params);
            return true;
        }
        let (location, rho, student) = self.split(params);
        let student = Student::new(self.dof.confined(student.dof));
        let (mut all_pulls, mut all_falls) = (0.0, 0.0);
        for i in 0..dim {
            let scale = self.frame.link.scale(rho[i]);
            let mut moments = [0.0; 3];
            // The weight of a point is computed twice, so that no memory per point is needed.
            let pull = |j: usize| {
                let radius = (points[(i, j)] - location[i]) / scale;
                (weights[j] * student.weight(1, radius), radius)
            };
            for (j, weight) in weights.iter().enumerate() {
                let (pull, radius) = pull(j);
                moments[0] += pull;
                moments[1] += pull * (points[(i, j)] - location[i]);
                all_falls += weight * student.log_fall(radius);
            }
            let delta = moments[1] / moments[0];
            for j in 0..weights.len() {
                moments[2] += pull(j).0 * (points[(i, j)] - location[i] - delta).powi(2);
            }
            let arrived = gain * moments[0] / (1.0 - gain + gain * moments[0]);
            let spread = (1.0 - arrived) * (scale * scale + arrived * (delta * delta));
            matched[i] = location[i] + arrived * delta;
            matched[dim + i] = (spread + arrived * (moments[2] / moments[0])).sqrt();
            all_pulls += moments[0];
        }
        let (pull, fall) = (all_pulls / dim as f64, all_falls / dim as f64);
        let (dof, stretch) = move_dof(&self.dof, student, 1, gain, pull, fall);
        for scale in &mut matched[dim..2 * dim] {
            let Ok(rho) = self.frame.link.inverse(stretch * *scale) else { return false };
            *scale = rho;
        }
        self.dof.write(dof, &mut matched[2 * dim..]) && matched.iter().all(|number| number.is_finite())
    }
}

/// Student t with the location and scale of a Gaussian family, the frame: [`StudentT`] and [`MultivariateT`](crate::MultivariateT).
///
/// Both map noise `u` to the point to which the Gaussian maps it. Lambda is that of the frame, for [`Learned`] followed by the parameter of
/// `nu`.
#[derive(Clone, Copy, PartialEq)]
pub struct FramedT<F, D> {
    /// Gaussian family with the same location and scale.
    pub frame: F,
    /// The degrees of freedom.
    pub dof: D,
}

/// Gaussian family that is the frame of a t.
///
/// Sealed: [`MeanField`] or [`FullRank`](crate::FullRank).
pub trait Frame: GaussianFamily + std::fmt::Debug + Copy + PartialEq + sealed::OfT {
    /// Scales, or a Cholesky factor.
    type Scale<'a>;

    #[doc(hidden)]
    fn of(dim: usize, link: Link) -> Self;

    #[doc(hidden)]
    fn params(&self, location: &[f64], scale: Self::Scale<'_>) -> Result<Vec<f64>, Error>;
}

impl Frame for MeanField {
    type Scale<'a> = &'a [f64];

    fn of(dim: usize, link: Link) -> Self {
        Self { dim, link }
    }

    fn params(&self, location: &[f64], scale: &[f64]) -> Result<Vec<f64>, Error> {
        self.at(location, scale)
    }
}

impl<F: Frame> FramedT<F, Fixed> {
    /// Family in `dim` dimensions with the softplus link and `dof` degrees of freedom.
    ///
    /// # Errors
    /// If `dof` is not finite, or below 0.1, as in [`Fixed::new`].
    pub fn fixed(dim: usize, dof: f64) -> Result<Self, Error> {
        Ok(Self { frame: F::of(dim, Link::Softplus), dof: Fixed::new(dof)? })
    }

    /// Parameters with this location and these scales, or this lower Cholesky factor of the scale matrix.
    ///
    /// # Errors
    /// If the `at` of the frame fails: [`MeanField::at`], [`FullRank::at`](crate::FullRank::at).
    pub fn at(&self, location: &[f64], scale: F::Scale<'_>) -> Result<Vec<f64>, Error> {
        self.frame.params(location, scale)
    }

    /// Initial parameters: location and scale of a Gaussian drawn from `start`.
    ///
    /// # Errors
    /// If [`Start::draw`] refuses `start`.
    pub fn start(&self, start: &Start, stream: &mut Stream) -> Result<Vec<f64>, Error> {
        start.draw(&self.frame, stream)
    }
}

impl<F: Frame> FramedT<F, Learned> {
    /// Family in `dim` dimensions with the softplus link and learned degrees of freedom, greater than `floor`.
    ///
    /// # Errors
    /// If `floor` is not finite, or below 0.1, as in [`Learned::above`].
    pub fn learned(dim: usize, floor: f64) -> Result<Self, Error> {
        Ok(Self { frame: F::of(dim, Link::Softplus), dof: Learned::above(floor)? })
    }

    /// Parameters as those for fixed degrees of freedom, and `dof` degrees of freedom.
    ///
    /// # Errors
    /// If the `at` of the frame fails, or `dof` is not finite and above the floor.
    pub fn at(&self, location: &[f64], scale: F::Scale<'_>, dof: f64) -> Result<Vec<f64>, Error> {
        let mut params = self.frame.params(location, scale)?;
        params.push(self.dof.param(dof)?);
        Ok(params)
    }

    /// Initial parameters: location and scale of a Gaussian drawn from `start`, and `dof` degrees of freedom.
    ///
    /// # Errors
    /// If [`Start::draw`] refuses `start`, or `dof` is not finite and above the floor.
    pub fn start(&self, start: &Start, dof: f64, stream: &mut Stream) -> Result<Vec<f64>, Error> {
        let mut params = start.draw(&self.frame, stream)?;
        params.push(self.dof.param(dof)?);
        Ok(params)
    }
}

impl<F: Frame, D: Dof> FramedT<F, D> {
    /// This family with another link.
    #[must_use]
    pub fn with_link(self, link: Link) -> Self {
        Self { frame: F::of(self.frame.dim(), link), ..self }
    }

    /// The degrees of freedom at `params`.
    ///
    /// # Panics
    /// If `params` does not have `num_params` entries.
    pub fn dof_at(&self, params: &[f64]) -> f64 {
        self.parts(params).1.dof
    }

    /// The mean; `None` if `nu <= 1`, where it does not exist.
    ///
    /// # Errors
    /// If `check` fails for `params`.
    pub fn mean(&self, params: &[f64]) -> Result<Option<Vec<f64>>, Error> {
        self.check(params)?;
        Ok((self.dof_at(params) > 1.0).then(|| params[..self.frame.dim()].to_vec()))
    }

    /// The entropy, in closed form: the sum of the logarithms of the scales plus the entropy of the standard t.
    pub fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        let (frame, student) = self.parts(params);
        F::standard_entropy(student, self.frame.dim()) + self.frame.sum_of_log_scales(frame, work)
    }

    /// Parameters of the frame, and the standard t with the degrees of freedom at `params`.
    pub(crate) fn parts<'a>(&self, params: &'a [f64]) -> (&'a [f64], Student) {
        assert_eq!(params.len(), self.num_params(), "location, scale and degrees of freedom");
        let (frame, dof) = params.split_at(params.len() - D::NUM_PARAMS);
        (frame, Student::new(self.dof.dof(dof)))
    }
}

impl<F: Frame, D: Dof> std::fmt::Debug for FramedT<F, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = f.debug_struct(F::NAME);
        fields
            .field("dim", &self.frame.dim())
            .field("link", &self.frame.link())
            .field("dof", &self.dof)
            .finish()
    }
}

impl<F: Frame, D: Dof> Parametric for FramedT<F, D> {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn dim(&self) -> usize {
        self.frame.dim()
    }

    fn num_params(&self) -> usize {
        self.frame.num_params() + D::NUM_PARAMS
    }

    fn work_len(&self, columns: usize) -> usize {
        self.frame.work_len(columns) + columns
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        check(&self.dof, params, self.num_params())?;
        self.frame.check(&params[..params.len() - D::NUM_PARAMS])
    }
}

impl<F: Frame> Reparameterised for FramedT<F, Fixed>
where
    Self: Family,
{
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        assert_eq!(noise.nrows(), self.frame.dim(), "noise has the dimension of z");
        let student = Student::new(self.dof.value());
        each_column(lanes, noise, |lane, _, noise| F::draw(student, lane, noise));
    }

    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, z: MatMut<'_, f64>, work: &mut [f64]) {
        self.frame.transport(params, noise, z, work);
    }

    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.frame.add_pullbacks(params, noise, cotangents, gradient, work);
    }

    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        slopes: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        let (frame, student) = self.parts(params);
        standard::assert_slopes(self.frame.dim(), z, slopes.as_ref());
        self.frame.add_slopes_of_t(student, frame, z, weight, slopes, work);
    }

    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        FramedT::entropy(self, params, work)
    }

    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]) {
        // The entropies of the t and of its frame differ by a constant in lambda.
        self.frame.add_entropy_gradient(params, weight, gradient, work);
    }
}

/// Degrees of freedom of a Student t family, fixed or part of lambda; the type decides which.
///
/// Sealed: [`Fixed`] or [`Learned`].
pub trait Dof: std::fmt::Debug + Copy + Send + Sync + sealed::Sealed {
    /// Number of parameters: 0 if fixed; 1 if learned, and then it is the last entry of lambda.
    const NUM_PARAMS: usize;

    /// Degrees of freedom at the given parameters, a slice of length `NUM_PARAMS`.
    fn dof(&self, params: &[f64]) -> f64;

    /// Derivative `d dof / d param`; 0 if there is no parameter.
    fn derivative(&self, params: &[f64]) -> f64;
}

pub(crate) mod sealed {
    use super::{MatMut, MatRef, Stream, Student};

    pub trait Sealed {
        /// The nearest degrees of freedom that a running estimate may have.
        fn confined(&self, dof: f64) -> f64;

        /// Writes the parameter at which the degrees of freedom equal `dof`; false if there is none.
        fn write(&self, dof: f64, params: &mut [f64]) -> bool;
    }

    /// What a t has beside its Gaussian frame.
    pub trait OfT {
        /// Name of the family.
        const NAME: &'static str;

        /// Draws standard noise.
        fn draw(student: Student, lane: &mut Stream, noise: &mut [f64]);

        /// The entropy at location 0 and scale 1.
        fn standard_entropy(student: Student, dim: usize) -> f64;

        /// `ln det` of the scale at the parameters of the frame.
        fn sum_of_log_scales(&self, params: &[f64], work: &mut [f64]) -> f64;

        /// Adds `weight * d/dz log q(z_j)` to the columns of `slopes`.
        fn add_slopes_of_t(
            &self,
            student: Student,
            params: &[f64],
            z: MatRef<'_, f64>,
            weight: f64,
            slopes: MatMut<'_, f64>,
            work: &mut [f64],
        );
    }
}

impl sealed::Sealed for Fixed {
    fn confined(&self, dof: f64) -> f64 {
        dof
    }

    fn write(&self, _: f64, _: &mut [f64]) -> bool {
        true
    }
}

impl sealed::Sealed for Learned {
    fn confined(&self, dof: f64) -> f64 {
        let [least, most] = self.range();
        dof.clamp(least, most)
    }

    fn write(&self, dof: f64, params: &mut [f64]) -> bool {
        self.param(dof).map(|param| params[0] = param).is_ok()
    }
}

/// Constant degrees of freedom.
///
/// ```
/// use mcsa_families::Fixed;
/// assert_eq!(Fixed::new(4.0)?.value(), 4.0);
/// assert!(Fixed::new(0.0).is_err());
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fixed(f64);

impl Fixed {
    /// Degrees of freedom equal to `dof`.
    ///
    /// # Errors
    /// If `dof` is not finite, or below 0.1, where draws may leave the range of a double.
    pub fn new(dof: f64) -> Result<Self, Error> {
        check_dof(dof)?;
        Ok(Self(dof))
    }

    /// The degrees of freedom.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl Dof for Fixed {
    const NUM_PARAMS: usize = 0;

    fn dof(&self, _: &[f64]) -> f64 {
        self.0
    }

    fn derivative(&self, _: &[f64]) -> f64 {
        0.0
    }
}

/// Learned degrees of freedom, the last entry of lambda: `dof = floor + ln(1 + e^param)`.
///
/// The floor keeps the tails from becoming ever heavier during a fit. A floor above 2 keeps the variance finite.
///
/// ```
/// use mcsa_families::{Dof, Learned};
/// let dof = Learned::above(1.0)?;
/// assert!((dof.dof(&[dof.param(5.0)?]) - 5.0).abs() < 1e-14);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Learned {
    floor: f64,
}

impl Learned {
    /// Learned degrees of freedom greater than `floor`.
    ///
    /// # Errors
    /// If the floor is not finite, or below 0.1, where draws may leave the range of a double.
    pub fn above(floor: f64) -> Result<Self, Error> {
        check_dof(floor).map_err(|error| error.within("floor"))?;
        Ok(Self { floor })
    }

    /// Lower bound of the degrees of freedom.
    pub fn floor(self) -> f64 {
        self.floor
    }

    /// Least and greatest degrees of freedom of a running estimate ([`MomentMatched`](crate::MomentMatched)): 1.05 times the
    /// floor, and 200, beyond which a t is a Gaussian for most purposes, or twice the least if that is more.
    pub fn range(self) -> [f64; 2] {
        let least = 1.05 * self.floor;
        [least, f64::max(200.0, 2.0 * least)]
    }

    /// The parameter at which the degrees of freedom equal `dof`.
    ///
    /// # Errors
    /// If `dof` is not above the floor and finite.
    pub fn param(self, dof: f64) -> Result<f64, Error> {
        if !(dof > self.floor && dof.is_finite()) {
            return Err(Error::parameter("dof", dof, "finite and above the floor"));
        }
        Link::Softplus.inverse(dof - self.floor)
    }
}

impl Dof for Learned {
    const NUM_PARAMS: usize = 1;

    fn dof(&self, params: &[f64]) -> f64 {
        self.floor + Link::Softplus.scale(params[0])
    }

    fn derivative(&self, params: &[f64]) -> f64 {
        Link::Softplus.derivative(params[0])
    }
}

/// Checks parameters `[location; rho; dof]`: their number, that they are finite, and that the degrees of freedom are allowed.
pub(crate) fn check<D: Dof>(dof: &D, params: &[f64], expected: usize) -> Result<(), Error> {
    same_length("params", expected, params.len())?;
    all_finite("params", params)?;
    // Finite parameters may still give infinite degrees of freedom: 1e308 + 1e308.
    check_dof(dof.dof(&params[expected - D::NUM_PARAMS..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors() {
        for bad in [0.0, -1.0, 0.09, f64::NAN, f64::INFINITY] {
            assert!(Fixed::new(bad).is_err() && Learned::above(bad).is_err(), "{bad}");
        }
        let learned = Learned::above(2.0).unwrap();
        for bad in [2.0, 1.0, f64::NAN, f64::INFINITY] {
            assert!(learned.param(bad).is_err(), "{bad}");
        }
        assert!(learned.dof(&[-1e300]) >= 2.0);
        assert!(check(&Learned::above(f64::MAX).unwrap(), &[f64::MAX], 1).is_err());
    }
}
