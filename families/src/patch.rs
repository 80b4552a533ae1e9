//! Projection of a covariance on low rank plus diagonal: EM of factor analysis.

use mcsa_core::{FactorMatched, FewColumns, Parametric, borrow, numeric};

use crate::LowRank;
use crate::woodbury::{Woodbury, backward_rows, cholesky, forward_rows};

/// Factor analysis of a covariance S with few columns (Rubin & Thayer 1982).
///
/// ```text
/// beta = B^T (D + B B^T)^-1,   B' = S beta^T (I - beta B + beta S beta^T)^-1,   D' = diag(S - B' beta S)
/// ```
/// With c columns in S an iteration costs `d r (r + c)`; S is never formed. `D' > 0` where S is positive definite; a variance that
/// rounding makes negative ends the projection.
impl FactorMatched for LowRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn split_into(&self, params: &[f64], mean: &mut [f64], variances: &mut [f64], factor: &mut [f64]) {
        let parts = self.parts(params);
        mean.copy_from_slice(parts.mean);
        self.link.scales_into(parts.rho, variances);
        variances.iter_mut().for_each(|scale| *scale *= *scale);
        factor.copy_from_slice(parts.factor);
    }

    fn match_factors(
        &self,
        params: &[f64],
        mean: &[f64],
        covariance: FewColumns<'_>,
        iterations: usize,
        matched: &mut [f64],
        work: &mut [f64],
    ) -> bool {
        let (dim, rank) = (self.dim, self.rank);
        assert_eq!((mean.len(), matched.len()), (dim, params.len()), "mean, rho and factor");
        let parts = self.parts(params);
        let (new_mean, rest) = matched.split_at_mut(dim);
        let (scales, factor) = rest.split_at_mut(dim);
        new_mean.copy_from_slice(mean);
        self.link.scales_into(parts.rho, scales);
        factor.copy_from_slice(parts.factor);
        for _ in 0..iterations {
            let mut work = &mut *work;
            let [beta, image] = [(); 2].map(|()| borrow(&mut work, dim * rank));
            let moment = borrow(&mut work, rank * rank);
            let held = borrow(&mut work, dim);
            held.copy_from_slice(scales);
            let woodbury = Woodbury::new(held, factor, rank, &mut work);
            // beta^T = D^-1 B C^-1 with C = I + B^T D^-1 B, and I - beta B = C^-1.
            for (k, beta) in beta.chunks_exact_mut(dim.max(1)).enumerate() {
                let column = factor[k * dim..].iter().zip(&*scales);
                beta.iter_mut().zip(column).for_each(|(beta, (b, scale))| *beta = b / (scale * scale));
            }
            moment.fill(0.0);
            (0..rank).for_each(|k| moment[k * (rank + 1)] = 1.0);
            for rows in [&mut *beta, &mut *moment] {
                forward_rows(woodbury.factor, rank, rows);
                backward_rows(woodbury.factor, rank, rows);
            }
            for (image, beta) in image.chunks_exact_mut(dim.max(1)).zip(beta.chunks_exact(dim.max(1))) {
                covariance.apply(beta, image);
            }
            for k in 0..rank {
                for i in 0..rank {
                    moment[i + k * rank] += numeric::dot(&beta[i * dim..][..dim], &image[k * dim..][..dim]);
                }
            }
            cholesky(moment, rank, f64::MIN_POSITIVE);
            factor.copy_from_slice(image);
            forward_rows(moment, rank, factor);
            backward_rows(moment, rank, factor);
            covariance.diagonal_into(scales);
            for (factor, image) in factor.chunks_exact(dim.max(1)).zip(image.chunks_exact(dim.max(1))) {
                let products = factor.iter().zip(image).map(|(factor, image)| factor * image);
                scales.iter_mut().zip(products).for_each(|(variance, product)| *variance -= product);
            }
            // Written so that NaN is refused.
            if !scales.iter().all(|variance| *variance > 0.0) {
                return false;
            }
            scales.iter_mut().for_each(|variance| *variance = variance.sqrt());
        }
        for scale in scales {
            let Ok(rho) = self.link.inverse(*scale) else { return false };
            *scale = rho;
        }
        self.check(matched).is_ok()
    }
}
