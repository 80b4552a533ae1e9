//! Running moments of the low-rank plus diagonal Gaussian: online EM of factor analysis.

use crate::{LowRank, MomentMatched};
use faer::MatRef;
use mcsa_core::{Columns, Parametric, borrow, numeric};

use mcsa_numeric::linear::woodbury::{backward_rows, cholesky, forward_rows};

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
        let parts = self.parts(params);
        let woodbury = self.woodbury(parts, &mut work);
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
        for (factor, b) in factor.iter_mut().zip(parts.factor) {
            *factor = (1.0 - gain) * b;
        }
        let shift = weights.len();
        let each = |j: usize| match j == shift {
            true => (gain * (1.0 - gain), None),
            false => (gain * weights[j], Some(points.column(j))),
        };
        for j in 0..=shift {
            let (weight, z) = each(j);
            let (z, origin) = z.map_or((&*centre, parts.mean), |z| (z, &*centre));
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
                (&parts.factor[column.clone()], &factor[column.clone()], &rotated[column]);
            for i in 0..dim {
                let change = old[i] - new[i];
                variances[i] += (1.0 - gain) * (change * change) + gain * (rotated[i] * rotated[i]);
            }
        }
        for j in 0..=shift {
            let (weight, z) = each(j);
            let (z, origin) = z.map_or((&*centre, parts.mean), |z| (z, &*centre));
            x.iter_mut().zip(z).zip(origin).for_each(|((x, z), origin)| *x = z - origin);
            for (k, t) in factors[j * rank..][..rank].iter().enumerate() {
                numeric::axpy(-t, &factor[k * dim..][..dim], x);
            }
            variances.iter_mut().zip(&*x).for_each(|(variance, x)| *variance += weight * (x * x));
        }
        for ((mean, old), centre) in mean.iter_mut().zip(parts.mean).zip(&*centre) {
            *mean = old + gain * (centre - old);
        }
        for variance in variances {
            let Ok(rho) = self.link.inverse(variance.sqrt()) else { return false };
            *variance = rho;
        }
        self.check(matched).is_ok()
    }
}
