//! Rectifier `h = max(a, 0)` over a column of pre-activations: forward pass (added to the output) and backward pass.

use pulp::{Arch, Simd, WithSimd};

use mcsa_numeric::design::ROWS;

type Rows = [f64; ROWS];

struct Forth<'a> {
    weight: f64,
    a: &'a [Rows],
    out: &'a mut [Rows],
}

impl WithSimd for Forth<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (weight, zero) = (simd.splat_f64s(self.weight), simd.splat_f64s(0.0));
        for (a, out) in self.a.iter().zip(self.out) {
            let (a, out) = (S::as_simd_f64s(a).0, S::as_mut_simd_f64s(out).0);
            for (&a, out) in a.iter().zip(out) {
                *out = simd.mul_add_e_f64s(weight, simd.max_f64s(a, zero), *out);
            }
        }
    }
}

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

/// Forward pass: `out += weight max(a, 0)`, on whole panels.
pub(super) fn add_rectified(weight: f64, a: &[f64], out: &mut [f64]) {
    assert_eq!(a.len(), out.len(), "a column of outputs");
    Arch::new().dispatch(Forth { weight, a: a.as_chunks().0, out: out.as_chunks_mut().0 });
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
        let a: Vec<f64> = (0..32).map(|i| f64::from(i % 7) - 3.0).collect();
        let error = [0.5; 32];
        let mut out = vec![0.0; 32];
        on_every_backend!(
            Forth { weight: 2.0, a: a.as_chunks().0, out: out.as_chunks_mut().0 },
            for (out, a) in out.iter_mut().zip(&a) {
                assert_eq!(std::mem::take(out), 2.0 * a.max(0.0));
            }
        );
        let mut back = a.clone();
        on_every_backend!(
            Back { weight: 2.0, a: back.as_chunks_mut().0, error: error.as_chunks().0 },
            for (back, &a) in back.iter_mut().zip(&a) {
                assert_eq!(std::mem::replace(back, a), if a > 0.0 { 1.0 } else { 0.0 });
            }
        );
    }

    #[test]
    fn forth_and_back_equal_the_formula() {
        let a: Vec<f64> = (0..48).map(|i| f64::from(i % 7) - 3.0).collect();
        let error: Vec<f64> = (0..48).map(|i| f64::from(i % 5) - 1.5).collect();
        let mut out = error.clone();
        add_rectified(2.0, &a, &mut out);
        let mut back = a.clone();
        let total = rectify_back(2.0, &mut back, &error);
        let mut expected = 0.0;
        for i in 0..48 {
            assert_eq!(out[i], error[i] + 2.0 * a[i].max(0.0));
            assert_eq!(back[i], if a[i] > 0.0 { 2.0 * error[i] } else { 0.0 });
            expected += a[i].max(0.0) * error[i];
        }
        assert!((total - expected).abs() < 1e-12);
    }
}
