//! Backward pass of the rectifier `h = max(a, 0)` over a column of pre-activations.

use pulp::{Arch, Simd, WithSimd};

use mcsa_numeric::design::ROWS;

type Rows = [f64; ROWS];

struct Back<'a> {
    weight: f64,
    a: &'a mut [Rows],
    error: &'a [Rows],
}

impl WithSimd for Back<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (weight, zero) = (simd.splat_f64s(self.weight), simd.splat_f64s(0.0));
        // At most four registers in flight, at any width; the narrowest instruction set has more registers than that.
        let mut sums = [zero; 2];
        for (a, error) in self.a.iter_mut().zip(self.error) {
            let (a, error) = (S::as_mut_simd_f64s(a).0, S::as_simd_f64s(error).0);
            for (r, (a, &error)) in a.iter_mut().zip(error).enumerate() {
                let sum = &mut sums[r % 2];
                *sum = simd.mul_add_e_f64s(simd.max_f64s(*a, zero), error, *sum);
                let on = simd.less_than_f64s(zero, *a);
                *a = simd.select_f64s(on, simd.mul_f64s(weight, error), zero);
            }
        }
        simd.reduce_sum_f64s(simd.add_f64s(sums[0], sums[1]))
    }
}

/// Backward pass: `a <- weight error [a > 0]`, on whole panels; returns `sum max(a, 0) error`.
pub(super) fn rectify_back(weight: f64, a: &mut [f64], error: &[f64]) -> f64 {
    assert_eq!(a.len(), error.len(), "a column of errors");
    Arch::new().dispatch(Back { weight, a: a.as_chunks_mut().0, error: error.as_chunks().0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_numeric::on_every_backend;

    #[test]
    fn every_backend_rectifies() {
        let a: Vec<f64> = (0..48).map(|i| f64::from(i % 7) - 3.0).collect();
        let error: Vec<f64> = (0..48).map(|i| f64::from(i % 5) - 1.5).collect();
        let expected: f64 = a.iter().zip(&error).map(|(a, error)| a.max(0.0) * error).sum();
        assert!((rectify_back(2.0, &mut a.clone(), &error) - expected).abs() < 1e-12);
        let mut back = a.clone();
        on_every_backend!(
            Back { weight: 2.0, a: back.as_chunks_mut().0, error: error.as_chunks().0 },
            for (i, back) in back.iter_mut().enumerate() {
                assert_eq!(std::mem::replace(back, a[i]), if a[i] > 0.0 { 2.0 * error[i] } else { 0.0 });
            }
        );
    }
}
