//! Elementwise sweeps of a weighted logistic log likelihood, `sum_n w+_n log s(t_n) + w-_n log s(-t_n)`.

use pulp::{Arch, Simd, WithSimd};

use mcsa_numeric::design::ROWS;

type Rows = [f64; ROWS];

struct Slopes<'a> {
    weights: [&'a [Rows]; 2],
    sigmoids: &'a [Rows],
    out: &'a mut [Rows],
}

impl WithSimd for Slopes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let points = self.weights[0].iter().zip(self.weights[1]).zip(self.sigmoids);
        for (((positive, negative), s), out) in points.zip(self.out) {
            let weights = S::as_simd_f64s(positive).0.iter().zip(S::as_simd_f64s(negative).0);
            let points = weights.zip(S::as_simd_f64s(s).0);
            for (((&positive, &negative), &s), out) in points.zip(S::as_mut_simd_f64s(out).0) {
                *out = simd.negate_mul_add_e_f64s(simd.add_f64s(positive, negative), s, positive);
            }
        }
    }
}

struct Seconds<'a> {
    weights: [&'a [Rows]; 2],
    sigmoids: &'a [Rows],
    along: &'a mut [Rows],
    gained: &'a mut [Rows],
    lost: &'a mut [Rows],
}

impl WithSimd for Seconds<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (one, zero) = (simd.splat_f64s(1.0), simd.splat_f64s(0.0));
        let points = self.weights[0].iter().zip(self.weights[1]).zip(self.sigmoids);
        let out = self.along.iter_mut().zip(self.gained).zip(self.lost);
        for (((positive, negative), s), ((along, gained), lost)) in points.zip(out) {
            let weights = S::as_simd_f64s(positive).0.iter().zip(S::as_simd_f64s(negative).0);
            let points = weights.zip(S::as_simd_f64s(s).0);
            let out = S::as_mut_simd_f64s(along).0.iter_mut();
            let out = out.zip(S::as_mut_simd_f64s(gained).0).zip(S::as_mut_simd_f64s(lost).0);
            for (((&positive, &negative), &s), ((along, gained), lost)) in points.zip(out) {
                let (rest, down) = (simd.sub_f64s(one, s), simd.mul_f64s(s, *along));
                *gained = simd.mul_f64s(positive, simd.mul_f64s(rest, *along));
                *lost = simd.negate_mul_add_e_f64s(negative, down, zero);
                let both = simd.add_f64s(positive, negative);
                *along = simd.negate_mul_add_e_f64s(both, simd.mul_f64s(rest, down), zero);
            }
        }
    }
}

struct Points<'a> {
    slopes: &'a [f64],
    curved: &'a [f64],
    scale: f64,
    u: &'a [f64],
    z: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for Points<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (slopes, slopes_tail) = S::as_simd_f64s(self.slopes);
        let (curved, curved_tail) = S::as_simd_f64s(self.curved);
        for (out, (&u, &z)) in self.out.chunks_exact_mut(self.slopes.len()).zip(self.u.iter().zip(self.z)) {
            let (u, z) = (simd.splat_f64s(self.scale * u), simd.splat_f64s(self.scale * z));
            let (out, tail) = S::as_mut_simd_f64s(out);
            for (out, (&slope, &curved)) in out.iter_mut().zip(slopes.iter().zip(curved)) {
                *out = simd.mul_add_e_f64s(slope, u, simd.mul_add_e_f64s(curved, z, *out));
            }
            if !tail.is_empty() {
                let (slope, curved) =
                    (simd.partial_load_f64s(slopes_tail), simd.partial_load_f64s(curved_tail));
                let sum = simd.mul_add_e_f64s(curved, z, simd.partial_load_f64s(tail));
                simd.partial_store_f64s(tail, simd.mul_add_e_f64s(slope, u, sum));
            }
        }
    }
}

/// Weights w+ and w- of the points, each on whole panels.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    pub(super) positive: &'a [f64],
    pub(super) negative: &'a [f64],
}

impl<'a> Weights<'a> {
    fn rows(self) -> [&'a [Rows]; 2] {
        [self.positive.as_chunks().0, self.negative.as_chunks().0]
    }

    /// Slopes `r = w+ (1 - s) - w- s` of the points.
    pub(super) fn slopes_into(self, sigmoids: &[f64], out: &mut [f64]) {
        let (sigmoids, out) = (sigmoids.as_chunks().0, out.as_chunks_mut().0);
        Arch::new().dispatch(Slopes { weights: self.rows(), sigmoids, out });
    }

    /// `along <- -(w+ + w-) s (1 - s) along`; from `along` as it was, `gained = w+ (1 - s) along` and `lost = -w- s along`.
    pub(super) fn seconds_into(
        self,
        sigmoids: &[f64],
        along: &mut [f64],
        gained: &mut [f64],
        lost: &mut [f64],
    ) {
        let (weights, sigmoids) = (self.rows(), sigmoids.as_chunks().0);
        let (along, gained, lost) =
            (along.as_chunks_mut().0, gained.as_chunks_mut().0, lost.as_chunks_mut().0);
        Arch::new().dispatch(Seconds { weights, sigmoids, along, gained, lost });
    }
}

/// Derivative for the covariates, stored column by column: `out_nk += scale (slopes_n u_k + curved_n z_k)`.
pub(super) fn add_points(slopes: &[f64], curved: &[f64], scale: f64, u: &[f64], z: &[f64], out: &mut [f64]) {
    assert!(
        slopes.len() == curved.len() && out.len() == slopes.len() * u.len(),
        "a derivative per covariate"
    );
    Arch::new().dispatch(Points { slopes, curved, scale, u, z, out });
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_numeric::on_every_backend;

    fn numbers(count: usize, step: usize) -> Vec<f64> {
        (0..count).map(|i| (i * step % 11) as f64 / 7.0).collect()
    }

    #[test]
    fn every_backend_sweeps() {
        let (positive, negative, sigmoids) = (numbers(32, 3), numbers(32, 5), numbers(32, 7));
        let weights = Weights { positive: &positive, negative: &negative };
        let mut out = vec![f64::NAN; 32];
        on_every_backend!(
            Slopes { weights: weights.rows(), sigmoids: sigmoids.as_chunks().0, out: out.as_chunks_mut().0 },
            for i in 0..32 {
                let expected = positive[i] * (1.0 - sigmoids[i]) - negative[i] * sigmoids[i];
                assert!((std::mem::replace(&mut out[i], f64::NAN) - expected).abs() < 1e-14);
            }
        );
        let start = numbers(32, 2);
        let (mut along, mut gained, mut lost) = (start.clone(), out.clone(), out.clone());
        on_every_backend!(
            Seconds {
                weights: weights.rows(),
                sigmoids: sigmoids.as_chunks().0,
                along: along.as_chunks_mut().0,
                gained: gained.as_chunks_mut().0,
                lost: lost.as_chunks_mut().0,
            },
            for i in 0..32 {
                let (s, e) = (sigmoids[i], std::mem::replace(&mut along[i], start[i]));
                assert!((e + (positive[i] + negative[i]) * s * (1.0 - s) * start[i]).abs() < 1e-14);
                assert!((gained[i] - positive[i] * (1.0 - s) * start[i]).abs() < 1e-14);
                assert!((lost[i] + negative[i] * s * start[i]).abs() < 1e-14);
            }
        );
    }

    #[test]
    fn every_backend_differentiates_points() {
        for rows in [1, 8, 13] {
            let (slopes, curved, u, z) = (numbers(rows, 3), numbers(rows, 5), numbers(3, 2), numbers(3, 4));
            let mut out = vec![1.0; 3 * rows];
            on_every_backend!(
                Points { slopes: &slopes, curved: &curved, scale: 0.5, u: &u, z: &z, out: &mut out },
                for (at, out) in out.iter_mut().enumerate() {
                    let (k, n) = (at / rows, at % rows);
                    let expected = 1.0 + 0.5 * (slopes[n] * u[k] + curved[n] * z[k]);
                    assert!((std::mem::replace(out, 1.0) - expected).abs() < 1e-14);
                }
            );
        }
    }
}
