//! Families with a Cholesky factor: the full-rank Gaussian and the multivariate Student t.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Error, Family, Parametric, Reparameterised, Stream, all_finite, batch, batch_mut,
    borrow, numeric, same_length,
};
use mcsa_numeric::linear::few::{Place, Whiten};
use mcsa_numeric::linear::packed::{AddOuters, MultiplyAdd, Solve, start};
use mcsa_numeric::linear::{few, packed, standard};

use crate::law::Radial;
use crate::location_scale::sealed;
use crate::student::Student;
use crate::{Dof, Gauss, GaussianFamily, KnownLaw, Law, Link, LocationScale, Normal, Shape};

/// Full-rank Gaussian `N(m, L L^T)`, parametrised by mean and Cholesky factor.
///
/// ```text
/// q(z) = N(z; m, L L^T),   L lower triangular, L_kk = link(rho_k),   eps = L^-1 (z - m),   y = L^-T eps
/// d/dm     log q = y
/// d/dL_ik  log q = y_i eps_k                      (i > k)
/// d/drho_k log q = (y_k eps_k - 1/L_kk) link'(rho_k)
/// ```
/// Packing: `[m; L column by column]`, column `k` being `rho_k, L_{k+1,k}, .., L_{d-1,k}`. In three dimensions:
/// `m_0 m_1 m_2 | rho_0 L_10 L_20 | rho_1 L_21 | rho_2`.
///
/// KL(p || q) is least at the target's mean and covariance. The triangle has `d (d + 1) / 2` parameters;
/// one column of it is read once for all points of a batch, so a batch costs little more than a point once the
/// triangle does not fit into the cache.
///
/// A `rho` whose scale is not a positive normal number fails `check`. Where `L^-1 (z - m)` or a number on the way to it
/// overflows, the log density is `-inf`. Dimension 0 is the point mass on the empty vector.
///
/// ```
/// use mcsa_families::FullRank;
/// let q = FullRank::new(2);
/// let params = q.at(&[0.0, 0.0], faer::mat![[1.0, 0.0], [0.5, 1.0]].as_ref())?;
/// assert_eq!((params.len(), params[3]), (5, 0.5));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
pub type FullRank = LocationScale<Triangle, Gauss>;

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
pub type MultivariateT<D> = LocationScale<Triangle, D>;

/// Lower triangular scale, packed column by column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Triangle;

impl Shape for Triangle {}

impl sealed::Shape for Triangle {
    const NAMES: [&'static str; 2] = ["FullRank", "MultivariateT"];

    type Scale<'a> = MatRef<'a, f64>;

    fn params(link: Link, dim: usize, mean: &[f64], factor: MatRef<'_, f64>) -> Result<Vec<f64>, Error> {
        same_length("mean", dim, mean.len())?;
        same_length("rows of the factor", dim, factor.nrows())?;
        same_length("columns of the factor", dim, factor.ncols())?;
        for (i, k) in (0..dim).flat_map(|k| (0..k).map(move |i| (i, k))) {
            let above = factor[(i, k)];
            if above != 0.0 {
                return Err(Error::invalid(format!(
                    "factor[{i}, {k}] is {above}, above the diagonal: expected the lower Cholesky factor L of a covariance L L^T, with \
                     zeros there; of a covariance take the factor first"
                )));
            }
        }
        let mut params = mean.to_vec();
        for k in 0..dim {
            let rho = link.inverse(factor[(k, k)]);
            params.push(rho.map_err(|error| error.within(format!("diagonal {k} of the factor")))?);
            params.extend((k + 1..dim).map(|i| factor[(i, k)]));
        }
        all_finite("params", &params)?;
        Ok(params)
    }

    fn num_params(dim: usize) -> usize {
        packed::len(dim)
    }

    fn work_len(dim: usize, columns: usize) -> usize {
        dim * (3 + 2 * columns) + few::work_len(dim)
    }

    fn check(link: Link, dim: usize, triangle: &[f64]) -> Result<(), Error> {
        (0..dim).try_for_each(|k| {
            let checked = link.check(&[triangle[start(dim, k)]]);
            checked.map_err(|error| error.within(format!("column {k} of the factor")))
        })
    }

    fn log_det(link: Link, dim: usize, triangle: &[f64], mut work: &mut [f64]) -> f64 {
        let Scales { scales, room, .. } = Scales::of(link, dim, triangle, &mut work);
        standard::sum_of_logs(scales, room)
    }

    fn draw(law: Radial, lane: &mut Stream, u: &mut [f64]) {
        law.draw(lane, u);
    }

    fn entropy(student: Student, dim: usize) -> f64 {
        student.entropy(dim)
    }
}

impl<D: Dof> MultivariateT<D> {
    /// The lower Cholesky factor L of the scale matrix `L L^T`.
    ///
    /// # Errors
    /// If `check` fails for `params`.
    pub fn factor(&self, params: &[f64]) -> Result<Mat<f64>, Error> {
        Ok(self.of_frame(params)?.factor().to_owned())
    }

    /// The covariance `L L^T nu / (nu - 2)`; `None` if `nu <= 2`, where it does not exist.
    ///
    /// # Errors
    /// If `check` fails for `params`.
    pub fn covariance(&self, params: &[f64]) -> Result<Option<Mat<f64>>, Error> {
        let (normal, dof) = (self.of_frame(params)?, self.dof_at(params));
        Ok((dof > 2.0).then(|| normal.covariance() * faer::Scale(dof / (dof - 2.0))))
    }

    /// The Gaussian with the same location and factor.
    fn of_frame(&self, params: &[f64]) -> Result<Normal, Error> {
        self.check(params)?;
        self.frame().moments(&params[..params.len() - D::NUM_PARAMS])
    }
}

/// Scales of the factor: scales and `rho`, and room for a third vector of length `d`.
pub(crate) struct Scales<'a> {
    pub(crate) scales: &'a mut [f64],
    pub(crate) rho: &'a mut [f64],
    pub(crate) room: &'a mut [f64],
}

impl<'a> Scales<'a> {
    fn of(link: Link, dim: usize, triangle: &[f64], work: &mut &'a mut [f64]) -> Self {
        let [scales, rho, room] = [(); 3].map(|()| borrow(work, dim));
        packed::take_diagonal(triangle, rho);
        link.scales_into(rho, scales);
        Self { scales, rho, room }
    }
}

pub(crate) fn invert(scales: &mut [f64]) {
    scales.iter_mut().for_each(|scale| *scale = 1.0 / *scale);
}

/// The map `u -> m + L u` at some parameters.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    link: Link,
    mean: &'a [f64],
    triangle: &'a [f64],
}

impl Placed<'_> {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    pub(crate) fn diagonal<'w>(&self, work: &mut &'w mut [f64]) -> Scales<'w> {
        Scales::of(self.link, self.dim(), self.triangle, work)
    }

    /// Log density at the mean.
    fn log_normalizer(&self, law: Radial, scales: &[f64], logs: &mut [f64]) -> f64 {
        law.log_peak(self.dim()) - standard::sum_of_logs(scales, logs)
    }

    /// Whitened points `eps = L^-1 (z - m)`, one per column of `z`.
    fn whiten(&self, inverse: &[f64], z: MatRef<'_, f64>, eps: &mut [f64], work: &mut [f64]) {
        let (Self { mean, triangle, .. }, dim) = (*self, self.dim());
        if dim > 0 && few::are_few(dim, eps.len()) {
            return Whiten { triangle, inverse, mean, z, squares: &mut [], points: eps, work }.run();
        }
        for j in 0..z.ncols() {
            for ((eps, z), mean) in eps[j * dim..][..dim].iter_mut().zip(z.column(j)).zip(mean) {
                *eps = z - mean;
            }
        }
        if dim > 0 {
            Solve { triangle, inverse, points: eps }.run();
        }
    }

    /// Whitened points, and `y = L^-T eps`.
    fn whiten_twice<'w>(
        &self,
        inverse: &[f64],
        z: MatRef<'_, f64>,
        work: &mut &'w mut [f64],
    ) -> [&'w mut [f64]; 2] {
        let [eps, y] = [(); 2].map(|()| borrow(work, self.dim() * z.ncols()));
        self.whiten(inverse, z, eps, work);
        y.copy_from_slice(eps);
        Solve { triangle: self.triangle, inverse, points: y }.run_transposed();
        [eps, y]
    }

    /// Squared lengths of the whitened points, `|L^-1 (z - m)|^2`, one per column of `z`.
    pub(crate) fn squares(
        &self,
        inverse: &[f64],
        z: MatRef<'_, f64>,
        squares: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (Self { mean, triangle, .. }, dim) = (*self, self.dim());
        let eps = borrow(&mut work, dim * z.ncols());
        if dim > 0 && few::are_few(dim, eps.len()) {
            return Whiten { triangle, inverse, mean, z, squares, points: &mut [], work }.run();
        }
        self.whiten(inverse, z, eps, work);
        standard::sums_squares(batch(eps, dim, z.ncols()), squares);
    }

    /// Points `z = m + L eps`, one per column.
    fn place(&self, scales: &[f64], eps: &[f64], mut z: MatMut<'_, f64>, mut work: &mut [f64]) {
        let (Self { mean, triangle, .. }, dim) = (*self, self.dim());
        if dim > 0 && few::are_few(dim, eps.len()) {
            return Place { triangle, scales, mean, eps, z }.run();
        }
        let room = borrow(&mut work, eps.len());
        if dim > 0 {
            room.chunks_exact_mut(dim).for_each(|out| out.copy_from_slice(mean));
            MultiplyAdd { triangle, diagonal: scales, points: eps, out: room }.run();
        }
        for (j, room) in room.chunks_exact(dim.max(1)).enumerate() {
            z.column_mut(j).copy_from_slice(room);
        }
    }
}

impl<L: Law> LocationScale<Triangle, L> {
    pub(crate) fn placed<'a>(&self, params: &'a [f64]) -> (Placed<'a>, Radial) {
        let (mean, triangle, law) = self.parts(params);
        (Placed { link: self.link, mean, triangle }, law)
    }
}

impl<L: Law> Family for LocationScale<Triangle, L> {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let (at, law) = self.placed(params);
        let Scales { scales, room, .. } = at.diagonal(&mut work);
        let log_normalizer = at.log_normalizer(law, scales, room);
        invert(scales);
        at.squares(scales, z, log_q, work);
        law.falls(self.dim, log_q);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = standard::log_density(log_normalizer, *log_q, z.column(j));
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
        let (at, law) = self.placed(params);
        let Scales { scales, room, .. } = at.diagonal(&mut work);
        let log_normalizer = at.log_normalizer(law, scales, room);
        let eps = borrow(&mut work, self.dim * z.ncols());
        law.sample_into(lanes, batch_mut(eps, self.dim, z.ncols()));
        standard::sums_squares(batch(eps, self.dim, z.ncols()), log_q);
        at.place(scales, eps, z, work);
        law.falls(self.dim, log_q);
        log_q.iter_mut().for_each(|log_q| *log_q = log_normalizer - 0.5 * *log_q);
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
        let (at, law) = self.placed(params);
        let Scales { scales: inverse, rho, room: slope } = at.diagonal(&mut work);
        self.link.derivatives_into(rho, slope);
        invert(inverse);
        let [eps, y] = at.whiten_twice(inverse, z, &mut work);
        let (d_mean, rest) = gradient.split_at_mut(dim);
        let (d_triangle, d_dof) = rest.split_at_mut(packed::len(dim));
        let peak_slope = law.log_peak_slope(dim);
        let dof_slope = self.law.slope(&params[params.len() - L::NUM_PARAMS..]);
        // Scales entries are scattered over the packed triangle: they are gathered once per batch, not once per point.
        let d_rho = rho;
        packed::take_diagonal(d_triangle, d_rho);
        for ((eps, y), &weight) in eps.chunks_exact_mut(dim).zip(y.chunks_exact(dim)).zip(weights) {
            let pull = law.weight(eps);
            if let [d_dof] = d_dof {
                *d_dof += weight * (law.dof_score(peak_slope, eps) * dof_slope);
            }
            for k in 0..dim {
                d_mean[k] += weight * (pull * y[k]);
                d_rho[k] += weight * ((pull * (y[k] * eps[k]) - inverse[k]) * slope[k]);
                eps[k] *= weight * pull;
            }
        }
        packed::put_diagonal(d_triangle, d_rho);
        AddOuters { dim, rows: y, columns: eps, triangle: d_triangle }.run();
    }

    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        standard::reflect(&params[..self.dim], z);
        true
    }
}

impl<L: KnownLaw> Reparameterised for LocationScale<Triangle, L> {
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        assert_eq!(noise.nrows(), self.dim, "noise has the dimension of z");
        self.law.at(&[]).sample_into(lanes, noise);
    }

    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, z: MatMut<'_, f64>, mut work: &mut [f64]) {
        assert_eq!((noise.nrows(), noise.ncols()), (self.dim, z.ncols()), "a noise per column");
        assert_eq!(z.nrows(), self.dim, "a point has the dimension of the family");
        let (at, _) = self.placed(params);
        let Scales { scales, .. } = at.diagonal(&mut work);
        let eps = borrow(&mut work, self.dim * z.ncols());
        for j in 0..noise.ncols() {
            eps[j * self.dim..][..self.dim].copy_from_slice(noise.column(j));
        }
        at.place(scales, eps, z, work);
    }

    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let dim = self.dim;
        assert_eq!((noise.nrows(), noise.ncols()), (dim, cotangents.ncols()), "a noise per column");
        assert_eq!(cotangents.nrows(), dim, "a cotangent has the dimension of z");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        if dim == 0 {
            return;
        }
        let Scales { rho, room: slope, .. } = self.placed(params).0.diagonal(&mut work);
        self.link.derivatives_into(rho, slope);
        let [eps, rows] = [(); 2].map(|()| borrow(&mut work, dim * noise.ncols()));
        let (d_mean, d_triangle) = gradient.split_at_mut(dim);
        for j in 0..noise.ncols() {
            let (noise, cotangent) = (noise.column(j), cotangents.column(j));
            eps[j * dim..][..dim].copy_from_slice(noise);
            rows[j * dim..][..dim].copy_from_slice(cotangent);
            for k in 0..dim {
                d_mean[k] += cotangent[k];
                d_triangle[start(dim, k)] += cotangent[k] * (noise[k] * slope[k]);
            }
        }
        AddOuters { dim, rows, columns: eps, triangle: d_triangle }.run();
    }

    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        mut slopes: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        standard::assert_slopes(self.dim, z, slopes.as_ref());
        if self.dim == 0 {
            return;
        }
        let (at, law) = self.placed(params);
        let Scales { scales: inverse, .. } = at.diagonal(&mut work);
        invert(inverse);
        let [eps, y] = at.whiten_twice(inverse, z, &mut work);
        for (j, (eps, y)) in eps.chunks_exact(self.dim).zip(y.chunks_exact(self.dim)).enumerate() {
            numeric::axpy(-weight * law.weight(eps), y, slopes.column_mut(j));
        }
    }

    fn entropy(&self, params: &[f64], work: &mut [f64]) -> f64 {
        LocationScale::entropy(self, params, work)
    }

    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], mut work: &mut [f64]) {
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let Scales { scales, rho, room: slope } = self.placed(params).0.diagonal(&mut work);
        self.link.log_derivatives_into(rho, scales, slope);
        for (k, slope) in slope.iter().enumerate() {
            gradient[self.dim + start(self.dim, k)] += weight * slope;
        }
    }
}
