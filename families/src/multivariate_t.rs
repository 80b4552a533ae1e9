//! Multivariate Student t family, parametrised by location and Cholesky factor of the scale matrix.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Error, Family, Parametric, Stream, batch_mut, borrow, each_column, numeric,
};
use mcsa_numeric::linear::packed::{self, AddOuters, SolveTransposed};
use mcsa_numeric::linear::standard;

use crate::MomentMatched;
use crate::full_rank::{Diagonal, invert};
use crate::student::{Student, radius};
use crate::student_t::{Frame, FramedT, move_dof, sealed};
use crate::{Dof, FullRank, GaussianFamily, Link};

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
/// parameter of `nu`, see [`Learned`](crate::Learned).
///
/// Unlike [`StudentT`](crate::StudentT) it is not a product: all coordinates of a draw are multiplied by one random stretch
/// `sqrt(nu / chi2)`, so they are dependent even where the factor is diagonal. [`Reparameterised`](mcsa_core::Reparameterised) for fixed degrees of freedom
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
pub type MultivariateT<D> = FramedT<FullRank, D>;

impl<D: Dof> MultivariateT<D> {
    /// The lower Cholesky factor L of the scale matrix `L L^T`.
    ///
    /// # Errors
    /// If `check` fails for `params`.
    pub fn factor(&self, params: &[f64]) -> Result<Mat<f64>, Error> {
        self.check(params)?;
        Ok(self.frame.moments(self.parts(params).0)?.factor().to_owned())
    }

    /// The covariance `L L^T nu / (nu - 2)`; `None` if `nu <= 2`, where it does not exist.
    ///
    /// # Errors
    /// If `check` fails for `params`.
    pub fn covariance(&self, params: &[f64]) -> Result<Option<Mat<f64>>, Error> {
        self.check(params)?;
        let (frame, student) = self.parts(params);
        if student.dof <= 2.0 {
            return Ok(None);
        }
        let stretch = student.dof / (student.dof - 2.0);
        Ok(Some(self.frame.moments(frame)?.covariance() * faer::Scale(stretch)))
    }

    fn log_normalizer(&self, student: Student, scales: &[f64], logs: &mut [f64]) -> f64 {
        student.log_peak(self.frame.dim) - standard::sum_of_logs(scales, logs)
    }

    /// `nu + d`, twice the power of `1 + |L^-1 (z - m)|^2 / nu` in the density.
    fn power(&self, student: Student) -> f64 {
        student.dof + self.frame.dim as f64
    }
}

impl Frame for FullRank {
    type Scale<'a> = MatRef<'a, f64>;

    fn of(dim: usize, link: Link) -> Self {
        Self { dim, link }
    }

    fn params(&self, location: &[f64], factor: MatRef<'_, f64>) -> Result<Vec<f64>, Error> {
        self.at(location, factor)
    }
}

impl sealed::OfT for FullRank {
    const NAME: &'static str = "MultivariateT";

    fn draw(student: Student, lane: &mut Stream, noise: &mut [f64]) {
        student.draw_vector(lane, noise);
    }

    fn standard_entropy(student: Student, dim: usize) -> f64 {
        student.entropy(dim)
    }

    fn sum_of_log_scales(&self, params: &[f64], mut work: &mut [f64]) -> f64 {
        let Diagonal { scales, room, .. } = self.diagonal(&params[self.dim..], &mut work);
        standard::sum_of_logs(scales, room)
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
        let dim = self.dim;
        if dim == 0 {
            return;
        }
        let triangle = &params[dim..];
        let Diagonal { scales: inverse, .. } = self.diagonal(triangle, &mut work);
        invert(inverse);
        let [eps, y] = [(); 2].map(|()| borrow(&mut work, dim * z.ncols()));
        self.whiten(params, inverse, z, eps, work);
        y.copy_from_slice(eps);
        SolveTransposed { triangle, inverse, points: y }.run();
        for (j, (eps, y)) in eps.chunks_exact(dim).zip(y.chunks_exact(dim)).enumerate() {
            let pull = student.weight(dim, radius(eps));
            numeric::axpy(-weight * pull, y, slopes.column_mut(j));
        }
    }
}

impl<D: Dof> Family for MultivariateT<D> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.frame.dim, log_q.len()), "a density per column");
        let (frame, student) = self.parts(params);
        let Diagonal { scales, room, .. } = self.frame.diagonal(&frame[self.frame.dim..], &mut work);
        let log_normalizer = self.log_normalizer(student, scales, room);
        invert(scales);
        self.frame.squares(frame, scales, z, log_q, work);
        student.log_falls(log_q);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = standard::log_density(log_normalizer, self.power(student) * *log_q, z.column(j));
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
        assert_eq!((z.nrows(), z.ncols()), (self.frame.dim, log_q.len()), "a density per column");
        let (frame, student) = self.parts(params);
        let Diagonal { scales, room, .. } = self.frame.diagonal(&frame[self.frame.dim..], &mut work);
        let log_normalizer = self.log_normalizer(student, scales, room);
        let noise = borrow(&mut work, self.frame.dim * z.ncols());
        each_column(lanes, batch_mut(noise, self.frame.dim, z.ncols()), |lane, _, noise| {
            student.draw_vector(lane, noise);
        });
        self.frame.place(frame, scales, noise, z, log_q, work);
        student.log_falls(log_q);
        log_q.iter_mut().for_each(|log_q| *log_q = log_normalizer - 0.5 * (self.power(student) * *log_q));
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
        Members { frame: self.frame, count: members.len() / each, member }.sample_into(pick, lanes, z, work)
    }

    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let dim = self.frame.dim;
        assert_eq!((z.nrows(), z.ncols()), (dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        if dim == 0 {
            return;
        }
        let (frame, student) = self.parts(params);
        let triangle = &frame[dim..];
        let Diagonal { scales: inverse, rho, room: slope } = self.frame.diagonal(triangle, &mut work);
        self.frame.link.derivatives_into(rho, slope);
        invert(inverse);
        let [eps, y] = [(); 2].map(|()| borrow(&mut work, dim * z.ncols()));
        self.frame.whiten(frame, inverse, z, eps, work);
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
        standard::reflect(&params[..self.frame.dim], z);
        true
    }
}

/// Online EM for location, scale matrix and degrees of freedom.
///
/// ```text
/// u_i = (nu + d)/(nu + |L^-1 (z_i - m)|^2),     E_q[u] = 1,   E_q[u (z - m)] = 0,   E_q[u (z - m)(z - m)^T] = L L^T
/// S_0 = (1 - gain) + gain sum_i w_i u_i,        S_1, S_2 alike with u z and u z z^T
/// m' = S_1 / S_0,   L' L'^T = (S_2 - S_1 S_1^T / S_0) / S_0
/// ```
/// This is the step of a Gaussian to points with weights `w_i u_i` ([`FullRank`](crate::FullRank)). The division by `S_0` in
/// place of one is that of PX-EM (Liu, Rubin & Wu 1998); it makes the step `(nu + d)/(nu + d + 2)` times the natural gradient, in all
/// directions, for small gains. At gain one it is PX-EM, which never decreases `E_p[log q]` for fixed degrees of freedom.
///
/// Learned degrees of freedom take a Fisher-scoring step of the same length along the rest of the natural gradient: their score is
/// half of `log u - u` less its mean under q, which is known since `u nu/(nu + d)` is Beta(nu/2, d/2). They stay in
/// [`Learned::range`](crate::Learned::range), and change by at most a factor of two in a step.
impl<D: Dof> MomentMatched for MultivariateT<D> {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        work: &mut [f64],
    ) -> bool {
        assert_eq!((points.nrows(), points.ncols()), (self.frame.dim, weights.len()), "a weight per column");
        assert_eq!(matched.len(), params.len(), "location, triangle and degrees of freedom");
        let dim = self.frame.dim;
        if dim == 0 {
            matched.copy_from_slice(params);
            return true;
        }
        let (frame, student) = self.parts(params);
        let student = Student::new(self.dof.confined(student.dof));
        let (pulls, work) = work.split_at_mut(weights.len());
        let (mut pull, mut fall) = (0.0, 0.0);
        {
            let mut work = &mut *work;
            let Diagonal { scales: inverse, .. } = self.frame.diagonal(&frame[dim..], &mut work);
            invert(inverse);
            self.frame.squares(frame, inverse, points, pulls, work);
            let falls = &mut work[..weights.len()];
            falls.copy_from_slice(pulls);
            student.log_falls(falls);
            for ((&weight, weighted), log_fall) in weights.iter().zip(&mut *pulls).zip(falls) {
                *weighted = weight * student.weight(dim, weighted.sqrt());
                pull += *weighted;
                fall += weight * *log_fall;
            }
        }
        pulls.iter_mut().for_each(|weighted| *weighted /= pull);
        let arrived = gain * pull / (1.0 - gain + gain * pull);
        let (dof, stretch) = move_dof(&self.dof, student, dim, gain, pull, fall);
        let (matched, matched_dof) = matched.split_at_mut(frame.len());
        self.frame.match_stretched(frame, arrived, points, pulls, stretch, matched, work)
            && self.dof.write(dof, matched_dof)
            && matched_dof.iter().all(|param| param.is_finite())
    }
}

/// Number of draws from one member that are placed together, `m + L eps`; a smaller batch than two of these is drawn one by one.
const PLACED: usize = 16;

/// Student t of one dimension and link. `member` gives location and packed factor of the k-th of them, and its standard t.
pub(crate) struct Members<M> {
    /// The Gaussian family with the same location and factor.
    pub(crate) frame: FullRank,
    pub(crate) count: usize,
    pub(crate) member: M,
}

impl<'a, M: Fn(usize) -> (&'a [f64], Student)> Members<M> {
    /// Draws each column from the member that `pick` chooses, as documented at
    /// [`Family::sample_members_into`](mcsa_core::Family::sample_members_into). The noise of all columns is drawn first, in their order.
    pub(crate) fn sample_into(
        &self,
        pick: &mut dyn FnMut(&mut Stream) -> usize,
        lanes: &mut [Stream],
        mut z: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) -> bool {
        let Self { frame, count: members, member } = self;
        let (dim, columns) = (frame.dim, z.ncols());
        assert_eq!(z.nrows(), dim, "a point has the dimension of the family");
        if dim == 0 || columns < 2 * PLACED {
            return false;
        }
        let picked = borrow(&mut work, columns);
        each_column(lanes, z.as_mut(), |lane, j, noise| {
            let k = pick(lane);
            picked[j] = k as f64;
            member(k).1.draw_vector(lane, noise);
        });
        let [noise, places] = [(); 2].map(|()| borrow(&mut work, PLACED * dim));
        for k in 0..*members {
            let (params, mut work) = (member(k).0, &mut *work);
            let Diagonal { scales, .. } = frame.diagonal(&params[dim..], &mut work);
            let mut own = (0..columns).filter(|&j| picked[j] == k as f64);
            loop {
                let (mut group, mut count) = ([0; PLACED], 0);
                for (j, noise) in own.by_ref().take(PLACED).zip(noise.chunks_exact_mut(dim)) {
                    noise.copy_from_slice(z.column_mut(j));
                    group[count] = j;
                    count += 1;
                }
                if count == 0 {
                    break;
                }
                let placed = batch_mut(&mut places[..count * dim], dim, count);
                frame.place(params, scales, &noise[..count * dim], placed, &mut [], work);
                for (&j, place) in group[..count].iter().zip(places.chunks_exact(dim)) {
                    z.column_mut(j).copy_from_slice(place);
                }
            }
        }
        true
    }
}
