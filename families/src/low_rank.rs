//! Low-rank plus diagonal Gaussian family, `N(m, diag(sigma^2) + B B^T)`, and its running moments (factor analysis).

use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Error, Family, Parametric, Reparameterised, Stream, all_finite, borrow, each_column,
    numeric, same_length,
};
use mcsa_numeric::HALF_LOG_TAU;
use mcsa_numeric::linear::standard;
use mcsa_numeric::linear::woodbury::{AddScore, Woodbury, backward_rows, cholesky, forward_rows};

use crate::Link;
use crate::MomentMatched;

/// Gaussian with a low-rank plus diagonal covariance (factor analysis; Ong, Nott & Smith 2018).
///
/// ```text
/// q(z) = N(z; m, S),   S = diag(sigma^2) + B B^T,   B of rank r,   sigma = link(rho)
/// y = S^-1 (z - m)
/// d/dm     log q = y
/// d/dB     log q = y (B^T y)^T - S^-1 B
/// d/drho_i log q = (y_i^2 - (S^-1)_ii) sigma_i link'(rho_i)
/// ```
/// Packing: `[m; rho; B column by column]`. A draw takes `d + r` standard normals `(eps, eta)`: `z = m + sigma eps + B eta`.
///
/// Only matrices of `d x r` and `r x r` are formed: with `U = B / sigma`, `C = I + U^T U`, `x = (z - m) / sigma`
/// and `t = C^-1 U^T x`, the quadratic form is `|x - U t|^2 + |t|^2` (Woodbury), a sum of squares without
/// cancellation, and `ln det S = 2 sum ln sigma + ln det C`. A batch costs `d r^2` once and `d r` per point.
///
/// The density depends on B through `B B^T`: rotating its columns changes nothing, and at `B = 0` the gradient in B is zero, a
/// saddle point. [`Start`](crate::Start) therefore starts from a random B.
///
/// A `rho` whose scale is not a positive normal number, or a B that overflows in `C`, fails `check`. A point
/// whose quadratic form overflows has log density `-inf`. Dimension 0 is
/// the point mass on the empty vector; rank 0 is [`MeanField`](crate::MeanField).
///
/// ```
/// use mcsa_core::Parametric;
/// use mcsa_families::LowRank;
/// let q = LowRank::new(3, 1);
/// let params = q.at(&[0.0; 3], &[1.0; 3], faer::mat![[1.0], [0.5], [0.0]].as_ref())?;
/// assert_eq!((q.num_params(), params[6]), (9, 1.0));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LowRank {
    /// The dimension.
    pub dim: usize,
    /// The number of columns of B.
    pub rank: usize,
    /// The map from `rho` to the scale.
    pub link: Link,
}

impl LowRank {
    /// Family in `dim` dimensions with `rank` columns of B, with the softplus link.
    pub const fn new(dim: usize, rank: usize) -> Self {
        Self { dim, rank, link: Link::Softplus }
    }

    /// This family with another link.
    #[must_use]
    pub const fn with_link(self, link: Link) -> Self {
        Self { link, ..self }
    }

    /// Parameters with this mean, these scales of the diagonal and this factor B.
    ///
    /// # Errors
    /// If a shape differs, a number is not finite, a scale is not positive, or a column of the factor divided by the scales has a
    /// squared length that overflows.
    pub fn at(&self, mean: &[f64], scales: &[f64], factor: MatRef<'_, f64>) -> Result<Vec<f64>, Error> {
        same_length("mean", self.dim, mean.len())?;
        same_length("scales", self.dim, scales.len())?;
        same_length("rows of the factor", self.dim, factor.nrows())?;
        same_length("columns of the factor", self.rank, factor.ncols())?;
        let mut params = [mean, scales].concat();
        self.link.inverses_into(scales, &mut params[self.dim..])?;
        params.extend((0..self.rank).flat_map(|k| (0..self.dim).map(move |i| factor[(i, k)])));
        self.check(&params)?;
        Ok(params)
    }

    /// Mean, rho and factor.
    fn parts<'a>(&self, params: &'a [f64]) -> [&'a [f64]; 3] {
        assert_eq!(params.len(), self.num_params(), "mean, rho and factor");
        let (mean, rest) = params.split_at(self.dim);
        let (rho, factor) = rest.split_at(self.dim);
        [mean, rho, factor]
    }

    fn woodbury<'a>(&self, params: &[f64], work: &mut &'a mut [f64]) -> Woodbury<'a> {
        let ([_, rho, factor], scales) = (self.parts(params), borrow(work, self.dim));
        self.link.scales_into(rho, scales);
        Woodbury::new(scales, factor, self.rank, work)
    }

    /// Log density at the mean; `room` is scratch memory of the length of `scales`.
    fn log_normalizer(&self, scales: &[f64], log_det: f64, room: &mut [f64]) -> f64 {
        -(standard::sum_of_logs(scales, room) + 0.5 * log_det + self.dim as f64 * HALF_LOG_TAU)
    }

    /// The point `z = m + sigma eps + B eta` of one column of noise.
    fn place(&self, params: &[f64], scales: &[f64], noise: &[f64], z: &mut [f64]) {
        let ([mean, _, factor], (eps, eta)) = (self.parts(params), noise.split_at(self.dim));
        for i in 0..self.dim {
            z[i] = mean[i] + scales[i] * eps[i];
        }
        for (k, &eta) in eta.iter().enumerate() {
            mcsa_core::numeric::axpy(eta, &factor[k * self.dim..][..self.dim], z);
        }
    }
}

impl Parametric for LowRank {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        self.dim * (2 + self.rank)
    }

    fn work_len(&self, columns: usize) -> usize {
        // Scales, slopes, x and one spare vector; three times d x r; C and two more squares; t of each point; the noise of one point.
        let (dim, rank) = (self.dim, self.rank);
        4 * dim + 3 * dim * rank + rank * (3 * rank + columns + 1) + dim + rank
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)?;
        let [_, rho, factor] = self.parts(params);
        self.link.check(rho)?;
        for k in 0..self.rank {
            let column = factor[k * self.dim..][..self.dim].iter().zip(rho);
            let square: f64 = column.map(|(b, &rho)| (b / self.link.scale(rho)).powi(2)).sum();
            if !square.is_finite() {
                return Err(Error::invalid(format!(
                    "column {k} of the factor, divided by the scales, has a squared length that overflows"
                )));
            }
        }
        Ok(())
    }
}

impl Family for LowRank {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let woodbury = self.woodbury(params, &mut work);
        let (x, t) = (borrow(&mut work, self.dim), borrow(&mut work, self.rank));
        let log_normalizer = self.log_normalizer(woodbury.scales, woodbury.log_det, x);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let z = z.column(j);
            *log_q = standard::log_density(log_normalizer, woodbury.apply(z, &params[..self.dim], x, t), z);
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
        let woodbury = self.woodbury(params, &mut work);
        let (x, t) = (borrow(&mut work, self.dim), borrow(&mut work, self.rank));
        let noise = borrow(&mut work, self.dim + self.rank);
        let log_normalizer = self.log_normalizer(woodbury.scales, woodbury.log_det, x);
        each_column(lanes, z, |lane, j, z| {
            lane.normals_into(noise);
            self.place(params, woodbury.scales, noise, z);
            log_q[j] = standard::log_density(log_normalizer, woodbury.apply(z, &params[..self.dim], x, t), z);
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
        let dim = self.dim;
        assert_eq!((z.nrows(), z.ncols()), (dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let woodbury = self.woodbury(params, &mut work);
        let (slope, precision) = (borrow(&mut work, dim), borrow(&mut work, dim));
        let (solved, t) = (borrow(&mut work, dim * self.rank), borrow(&mut work, self.rank));
        self.link.log_derivatives_into(self.parts(params)[1], woodbury.scales, slope);
        woodbury.inverse_into(solved, precision);
        let y = borrow(&mut work, dim);
        let (d_mean, rest) = gradient.split_at_mut(dim);
        let (d_rho, d_factor) = rest.split_at_mut(dim);
        for (j, &weight) in weights.iter().enumerate() {
            woodbury.apply(z.column(j), &params[..self.dim], y, t);
            AddScore { woodbury: &woodbury, slope, precision, solved, t, y, weight, d_mean, d_rho, d_factor }
                .run();
        }
    }

    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        standard::reflect(&params[..self.dim], z);
        true
    }
}

impl Reparameterised for LowRank {
    fn noise_dim(&self) -> usize {
        self.dim + self.rank
    }

    fn transport(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        assert_eq!((noise.nrows(), noise.ncols()), (self.noise_dim(), z.ncols()), "a noise per column");
        assert_eq!(z.nrows(), self.dim, "a point has the dimension of the family");
        let scales = borrow(&mut work, self.dim);
        self.link.scales_into(self.parts(params)[1], scales);
        for j in 0..z.ncols() {
            self.place(params, scales, noise.column(j), z.column_mut(j));
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
        let dim = self.dim;
        assert_eq!(
            (noise.nrows(), noise.ncols()),
            (self.noise_dim(), cotangents.ncols()),
            "a noise per column"
        );
        assert_eq!(cotangents.nrows(), dim, "a cotangent has the dimension of z");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let slope = borrow(&mut work, dim);
        self.link.derivatives_into(self.parts(params)[1], slope);
        let (d_mean, rest) = gradient.split_at_mut(dim);
        let (d_rho, d_factor) = rest.split_at_mut(dim);
        for j in 0..noise.ncols() {
            let cotangent = cotangents.column(j);
            let (eps, eta) = noise.column(j).split_at(dim);
            for i in 0..dim {
                d_mean[i] += cotangent[i];
                d_rho[i] += cotangent[i] * (eps[i] * slope[i]);
            }
            for (k, &eta) in eta.iter().enumerate() {
                mcsa_core::numeric::axpy(eta, cotangent, &mut d_factor[k * dim..(k + 1) * dim]);
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
        standard::assert_slopes(self.dim, z, slopes.as_ref());
        let woodbury = self.woodbury(params, &mut work);
        let (x, t) = (borrow(&mut work, self.dim), borrow(&mut work, self.rank));
        for j in 0..z.ncols() {
            woodbury.apply(z.column(j), &params[..self.dim], x, t);
            for ((slope, x), scale) in slopes.column_mut(j).iter_mut().zip(&*x).zip(woodbury.scales) {
                *slope -= weight * (x / scale);
            }
        }
    }

    fn entropy(&self, params: &[f64], mut work: &mut [f64]) -> f64 {
        let woodbury = self.woodbury(params, &mut work);
        0.5 * self.dim as f64
            - self.log_normalizer(woodbury.scales, woodbury.log_det, borrow(&mut work, self.dim))
    }

    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], mut work: &mut [f64]) {
        let dim = self.dim;
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let woodbury = self.woodbury(params, &mut work);
        let (slope, precision) = (borrow(&mut work, dim), borrow(&mut work, dim));
        let solved = borrow(&mut work, dim * self.rank);
        self.link.log_derivatives_into(self.parts(params)[1], woodbury.scales, slope);
        woodbury.inverse_into(solved, precision);
        for i in 0..dim {
            gradient[dim + i] += weight * (precision[i] * slope[i]);
        }
        for (gradient, solved) in gradient[2 * dim..].iter_mut().zip(solved) {
            *gradient += weight * *solved;
        }
    }
}

/// Running mean, and one step of EM for factor analysis (Rubin & Thayer 1982) with the running covariance in the place of that of
/// the data.
///
/// ```text
/// delta = sum_i w_i z_i - m,   m' = m + gain delta
/// S = (1 - gain)(D + B B^T) + gain sum_i w_i (z_i - m - delta)(z_i - m - delta)^T + gain (1 - gain) delta delta^T
/// beta = B^T (D + B B^T)^-1,   Phi = I - beta B,   M = Phi + beta S beta^T
/// B' = S beta^T M^-1,   D' = diag(S - B' beta S)                                       D = diag(sigma^2)
/// ```
/// S is never formed: `(D + B B^T) beta^T = B`, so a step of `n` points costs `d r (r + n)`. `D'` is a sum of squares. At gain one
/// the step never decreases `E_p[log q]`. It is not a natural-gradient step: EM is slow where a factor explains little or nearly
/// all of a coordinate.
impl MomentMatched for LowRank {
    fn match_moments(
        &self,
        params: &[f64],
        gain: f64,
        points: MatRef<'_, f64>,
        weights: &[f64],
        matched: &mut [f64],
        mut work: &mut [f64],
    ) -> bool {
        let (dim, rank) = (self.dim, self.rank);
        assert_eq!(matched.len(), params.len(), "mean, rho and factor");
        let ([old_mean, _, old_factor], woodbury) = (self.parts(params), self.woodbury(params, &mut work));
        let [centre, x] = [(); 2].map(|()| borrow(&mut work, dim));
        numeric::weighted_sum(points, weights, centre);

        // Expected factors of each point, and of the shift of the mean as a point of its own; the matrices S beta^T and M.
        let [precision, moment] = [(); 2].map(|()| borrow(&mut work, rank * rank));
        let factors = borrow(&mut work, rank * (weights.len() + 1));
        precision.fill(0.0);
        (0..rank).for_each(|k| precision[k * (rank + 1)] = 1.0);
        forward_rows(woodbury.factor, rank, precision);
        backward_rows(woodbury.factor, rank, precision);
        for (k, (moment, phi)) in moment.iter_mut().zip(&*precision).enumerate() {
            *moment = gain * phi + if k % (rank + 1) == 0 { 1.0 - gain } else { 0.0 };
        }
        let (mean, rest) = matched.split_at_mut(dim);
        let (variances, factor) = rest.split_at_mut(dim);
        for (factor, b) in factor.iter_mut().zip(old_factor) {
            *factor = (1.0 - gain) * b;
        }
        let shift = weights.len();
        let each = |j: usize| match j == shift {
            true => (gain * (1.0 - gain), None),
            false => (gain * weights[j], Some(points.column(j))),
        };
        for j in 0..=shift {
            let (weight, z) = each(j);
            let (z, origin) = z.map_or((&*centre, old_mean), |z| (z, &*centre));
            let t = &mut factors[j * rank..][..rank];
            woodbury.apply(z, origin, x, t);
            x.iter_mut().zip(z).zip(origin).for_each(|((x, z), origin)| *x = z - origin);
            for (k, &t_k) in t.iter().enumerate() {
                numeric::axpy(weight * t_k, x, &mut factor[k * dim..][..dim]);
                numeric::axpy(weight * t_k, t, &mut moment[k * rank..][..rank]);
            }
        }
        cholesky(moment, rank, f64::MIN_POSITIVE);
        forward_rows(moment, rank, factor);
        backward_rows(moment, rank, factor);

        // D' from the residuals of q itself, of the points, and of their factors given the points.
        let rotated = borrow(&mut work, dim * rank);
        rotated.copy_from_slice(factor);
        forward_rows(woodbury.factor, rank, rotated);
        for (variance, scale) in variances.iter_mut().zip(woodbury.scales) {
            *variance = (1.0 - gain) * (scale * scale);
        }
        for k in 0..rank {
            let column = k * dim..(k + 1) * dim;
            let (old, new, rotated) =
                (&old_factor[column.clone()], &factor[column.clone()], &rotated[column]);
            for i in 0..dim {
                let change = old[i] - new[i];
                variances[i] += (1.0 - gain) * (change * change) + gain * (rotated[i] * rotated[i]);
            }
        }
        for j in 0..=shift {
            let (weight, z) = each(j);
            let (z, origin) = z.map_or((&*centre, old_mean), |z| (z, &*centre));
            x.iter_mut().zip(z).zip(origin).for_each(|((x, z), origin)| *x = z - origin);
            for (k, t) in factors[j * rank..][..rank].iter().enumerate() {
                numeric::axpy(-t, &factor[k * dim..][..dim], x);
            }
            variances.iter_mut().zip(&*x).for_each(|(variance, x)| *variance += weight * (x * x));
        }
        for ((mean, old), centre) in mean.iter_mut().zip(old_mean).zip(&*centre) {
            *mean = old + gain * (centre - old);
        }
        for variance in variances {
            let Ok(rho) = self.link.inverse(variance.sqrt()) else { return false };
            *variance = rho;
        }
        self.check(matched).is_ok()
    }
}
