//! Multivariate Student t family, parametrised by location and Cholesky factor of the scale matrix.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Error, Family, Parametric, Reparameterised, Stream, batch_mut, borrow};

use crate::full_rank::{Diagonal, invert};
use crate::members::Members;
use crate::student::Student;
use crate::{Dof, Fixed, FullRank, GaussianFamily, Learned, Link, Start, dof};
use mcsa_core::each_column;
use mcsa_numeric::linear::packed::{self, AddOuters, SolveTransposed};
use mcsa_numeric::linear::standard;

/// Multivariate Student t `t_nu(m, L L^T)`, parametrised by the Cholesky factor of the scale matrix; one `nu` for all directions.
///
/// ```text
/// log q(z) = c(nu) - sum_k ln L_kk - (nu + d)/2 ln(1 + r^2/nu),   eps = L^-1 (z - m),   r = |eps|,   y = L^-T eps
/// c(nu)    = ln Gamma((nu+d)/2) - ln Gamma(nu/2) - d/2 ln(nu pi),   w = (nu + d) / (nu + r^2)
/// d/dm     log q = w y
/// d/dL_ik  log q = w y_i eps_k                      (i > k)
/// d/drho_k log q = (w y_k eps_k - 1/L_kk) link'(rho_k)
/// d/dnu    log q = c'(nu) - ln(1 + r^2/nu)/2 + (nu + d)/(2 nu) r^2 / (nu + r^2)
/// ```
/// Packing as [`FullRank`]: `[m; L column by column]` with `L_kk = link(rho_k)`; `MultivariateT<Learned>` appends the
/// parameter of `nu`, see [`Learned`].
///
/// Unlike [`StudentT`](crate::StudentT) it is not a product: all coordinates of a draw are multiplied by one random stretch
/// `sqrt(nu / chi2)`, so they are dependent even where the factor is diagonal. [`Reparameterised`] for fixed degrees of freedom
/// only. The mean exists for `nu > 1`, the covariance for `nu > 2`. In dimension 0 log density and entropy are 0. Beyond
/// `r = 1e154` the square overflows and the log density is `-inf`, unlike that of [`StudentT`](crate::StudentT).
///
/// ```
/// use mcsa_core::{Family, Parametric};
/// use mcsa_families::MultivariateT;
/// let q = MultivariateT::fixed(2, 2.0)?;
/// let params = q.at(&[0.0, 0.0], faer::mat![[1.0, 0.0], [0.0, 1.0]].as_ref())?;
/// let log_q = q.log_prob(&params, &[0.0, 0.0], &mut vec![0.0; q.work_len(1)]);
/// assert!((log_q + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-14);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MultivariateT<D> {
    /// The dimension.
    pub dim: usize,
    /// The map from `rho` to the diagonal of the factor.
    pub link: Link,
    /// The degrees of freedom.
    pub dof: D,
}

impl MultivariateT<Fixed> {
    /// Family in `dim` dimensions with the softplus link and `dof` degrees of freedom.
    ///
    /// # Errors
    /// If `dof` is not finite, or below 0.1, as in [`Fixed::new`].
    pub fn fixed(dim: usize, dof: f64) -> Result<Self, Error> {
        Ok(Self { dim, link: Link::Softplus, dof: Fixed::new(dof)? })
    }

    /// Parameters with this location and this lower Cholesky factor of the scale matrix.
    ///
    /// # Errors
    /// If a shape differs, a number is not finite, the diagonal is not positive, or an entry above the diagonal is not zero.
    pub fn at(&self, location: &[f64], factor: MatRef<'_, f64>) -> Result<Vec<f64>, Error> {
        self.frame().at(location, factor)
    }

    /// Initial parameters: location and factor of a Gaussian drawn from `start`.
    ///
    /// # Errors
    /// If [`Start::draw`] refuses `start`.
    pub fn start(&self, start: &Start, stream: &mut Stream) -> Result<Vec<f64>, Error> {
        start.draw(&self.frame(), stream)
    }
}

impl MultivariateT<Learned> {
    /// Family in `dim` dimensions with the softplus link and learned degrees of freedom, greater than `floor`.
    ///
    /// # Errors
    /// If `floor` is not finite, or below 0.1, as in [`Learned::above`].
    pub fn learned(dim: usize, floor: f64) -> Result<Self, Error> {
        Ok(Self { dim, link: Link::Softplus, dof: Learned::above(floor)? })
    }

    /// Parameters with this location, this lower Cholesky factor of the scale matrix and `dof` degrees of freedom.
    ///
    /// # Errors
    /// If [`FullRank::at`] refuses the location or the factor, or `dof` is not finite and above the floor.
    pub fn at(&self, location: &[f64], factor: MatRef<'_, f64>, dof: f64) -> Result<Vec<f64>, Error> {
        let mut params = self.frame().at(location, factor)?;
        params.push(self.dof.param(dof)?);
        Ok(params)
    }

    /// Initial parameters: location and factor of a Gaussian drawn from `start`, and `dof` degrees of freedom.
    ///
    /// # Errors
    /// If [`Start::draw`] refuses `start`, or `dof` is not finite and above the floor.
    pub fn start(&self, start: &Start, dof: f64, stream: &mut Stream) -> Result<Vec<f64>, Error> {
        let mut params = start.draw(&self.frame(), stream)?;
        params.push(self.dof.param(dof)?);
        Ok(params)
    }
}

impl<D: Dof> MultivariateT<D> {
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
        self.parts(params).1.dof
    }

    /// The mean; `None` if `nu <= 1`, where it does not exist.
    ///
    /// # Errors
    /// If `check` refuses `params`.
    pub fn mean(&self, params: &[f64]) -> Result<Option<Vec<f64>>, Error> {
        self.check(params)?;
        let (frame, student) = self.parts(params);
        Ok((student.dof > 1.0).then(|| frame[..self.dim].to_vec()))
    }

    /// The lower Cholesky factor L of the scale matrix `L L^T`.
    ///
    /// # Errors
    /// If `check` refuses `params`.
    pub fn factor(&self, params: &[f64]) -> Result<Mat<f64>, Error> {
        self.check(params)?;
        Ok(self.frame().moments(self.parts(params).0)?.factor().to_owned())
    }

    /// The covariance `L L^T nu / (nu - 2)`; `None` if `nu <= 2`, where it does not exist.
    ///
    /// # Errors
    /// If `check` refuses `params`.
    pub fn covariance(&self, params: &[f64]) -> Result<Option<Mat<f64>>, Error> {
        self.check(params)?;
        let (frame, student) = self.parts(params);
        if student.dof <= 2.0 {
            return Ok(None);
        }
        let stretch = student.dof / (student.dof - 2.0);
        Ok(Some(self.frame().moments(frame)?.covariance() * faer::Scale(stretch)))
    }

    /// The entropy, in closed form: `sum_k ln L_kk` plus the entropy of the standard t in `dim` dimensions.
    pub fn entropy(&self, params: &[f64], mut work: &mut [f64]) -> f64 {
        let (frame, student) = self.parts(params);
        let Diagonal { scales, room, .. } = self.frame().diagonal(&frame[self.dim..], &mut work);
        student.entropy(self.dim) + standard::sum_of_logs(scales, room)
    }

    /// Gaussian family with the same location and factor: both map noise `eps` to `m + L eps`.
    pub(crate) fn frame(&self) -> FullRank {
        FullRank { dim: self.dim, link: self.link }
    }

    /// Parameters of the Gaussian [`frame`](Self::frame), and the standard t with the degrees of freedom at `params`.
    pub(crate) fn parts<'a>(&self, params: &'a [f64]) -> (&'a [f64], Student) {
        assert_eq!(params.len(), self.num_params(), "location, triangle and degrees of freedom");
        let (frame, dof) = params.split_at(params.len() - D::NUM_PARAMS);
        (frame, Student::new(self.dof.dof(dof)))
    }

    fn peak(&self, student: Student, scales: &[f64], logs: &mut [f64]) -> f64 {
        student.log_peak(self.dim) - standard::sum_of_logs(scales, logs)
    }

    /// `nu + d`, twice the power of `1 + |L^-1 (z - m)|^2 / nu` in the density.
    fn power(&self, student: Student) -> f64 {
        student.dof + self.dim as f64
    }
}

pub(crate) fn radius(eps: &[f64]) -> f64 {
    standard::dot(eps, eps).sqrt()
}

impl<D: Dof> Parametric for MultivariateT<D> {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        self.frame().num_params() + D::NUM_PARAMS
    }

    fn work_len(&self, columns: usize) -> usize {
        self.frame().work_len(columns) + columns
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        dof::check(&self.dof, params, self.num_params())?;
        self.frame().check(&params[..params.len() - D::NUM_PARAMS])
    }
}

impl<D: Dof> Family for MultivariateT<D> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let (frame, student) = self.parts(params);
        let Diagonal { scales, room, .. } = self.frame().diagonal(&frame[self.dim..], &mut work);
        let peak = self.peak(student, scales, room);
        invert(scales);
        self.frame().squares(frame, scales, z, log_q, work);
        student.log_falls(log_q);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = standard::log_density(peak, self.power(student) * *log_q, z.column(j));
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
        let (frame, student) = self.parts(params);
        let Diagonal { scales, room, .. } = self.frame().diagonal(&frame[self.dim..], &mut work);
        let peak = self.peak(student, scales, room);
        let noise = borrow(&mut work, self.dim * z.ncols());
        each_column(lanes, batch_mut(noise, self.dim, z.ncols()), |lane, _, noise| {
            student.draw_vector(lane, noise);
        });
        self.frame().place(frame, scales, noise, z, log_q, work);
        student.log_falls(log_q);
        log_q.iter_mut().for_each(|log_q| *log_q = peak - 0.5 * (self.power(student) * *log_q));
    }

    fn sample_members_into(
        &self,
        members: &[f64],
        pick: &mut dyn FnMut(&mut Stream) -> usize,
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        work: &mut [f64],
    ) -> bool {
        let each = self.num_params();
        let member = |k: usize| self.parts(&members[k * each..][..each]);
        Members { frame: self.frame(), count: members.len() / each, member }.sample_into(pick, lanes, z, work)
    }

    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let dim = self.dim;
        assert_eq!((z.nrows(), z.ncols()), (dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        if dim == 0 {
            return;
        }
        let (frame, student) = self.parts(params);
        let triangle = &frame[dim..];
        let Diagonal { scales: inverse, rho, room: slope } = self.frame().diagonal(triangle, &mut work);
        self.link.derivatives_into(rho, slope);
        invert(inverse);
        let [eps, y] = [(); 2].map(|()| borrow(&mut work, dim * z.ncols()));
        self.frame().whiten(frame, inverse, z, eps, work);
        y.copy_from_slice(eps);
        SolveTransposed { triangle, inverse, points: y }.run();

        let (d_frame, d_dof) = gradient.split_at_mut(frame.len());
        let (d_location, d_triangle) = d_frame.split_at_mut(dim);
        let peak_slope = student.log_peak_slope(dim);
        let dof_slope = self.dof.derivative(&params[frame.len()..]);
        for ((eps, y), &weight) in eps.chunks_exact_mut(dim).zip(y.chunks_exact(dim)).zip(weights) {
            let radius = radius(eps);
            let pull = student.weight(dim, radius);
            if let [d_dof] = d_dof {
                let (_, claim) = student.pull_and_claim(radius);
                let rise = 0.5 * (1.0 + dim as f64 / student.dof) * claim;
                *d_dof += weight * ((peak_slope - 0.5 * student.log_fall(radius) + rise) * dof_slope);
            }
            for k in 0..dim {
                d_location[k] += weight * (pull * y[k]);
                let claim = pull * (y[k] * eps[k]);
                d_triangle[packed::start(dim, k)] += weight * ((claim - inverse[k]) * slope[k]);
                eps[k] *= weight * pull;
            }
        }
        AddOuters { dim, rows: y, columns: eps, triangle: d_triangle }.run();
    }

    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        standard::reflect(&params[..self.dim], z);
        true
    }
}

impl Reparameterised for MultivariateT<Fixed> {
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        assert_eq!(noise.nrows(), self.dim, "noise has the dimension of z");
        let student = Student::new(self.dof.value());
        each_column(lanes, noise, |lane, _, noise| student.draw_vector(lane, noise));
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
        let dim = self.dim;
        standard::assert_slopes(dim, z, slopes.as_ref());
        if dim == 0 {
            return;
        }
        let (frame, student) = self.parts(params);
        let triangle = &frame[dim..];
        let Diagonal { scales: inverse, .. } = self.frame().diagonal(triangle, &mut work);
        invert(inverse);
        let [eps, y] = [(); 2].map(|()| borrow(&mut work, dim * z.ncols()));
        self.frame().whiten(frame, inverse, z, eps, work);
        y.copy_from_slice(eps);
        SolveTransposed { triangle, inverse, points: y }.run();
        for (j, (eps, y)) in eps.chunks_exact(dim).zip(y.chunks_exact(dim)).enumerate() {
            let pull = student.weight(dim, radius(eps));
            mcsa_core::numeric::axpy(-weight * pull, y, slopes.column_mut(j));
        }
    }

    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        MultivariateT::entropy(self, params, work)
    }

    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]) {
        // The entropies of the t and of the Gaussian frame differ by a constant in lambda.
        self.frame().add_entropy_gradient(params, weight, gradient, work);
    }
}
