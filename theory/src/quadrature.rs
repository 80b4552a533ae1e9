//! Adaptive trapezoid rule in one dimension, with an error estimate.

/// Integral with an error estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Integral {
    /// The value.
    pub value: f64,
    /// Difference from the value with half the number of points.
    pub error: f64,
}

/// Integral of `f` over `[from, to]` by the trapezoid rule; the number of points is doubled until two values agree.
///
/// The rule is exponentially accurate for smooth functions that vanish with all derivatives at both ends, as densities
/// do; for other functions only the reported error is to be relied on.
///
/// ```
/// use mcsa_theory::integrate;
/// let gauss = integrate(-12.0, 12.0, 1e-13, |z| (-0.5 * z * z).exp());
/// assert!((gauss.value - (2.0 * std::f64::consts::PI).sqrt()).abs() < 1e-13 && gauss.error < 1e-12);
/// ```
pub fn integrate(from: f64, to: f64, tolerance: f64, f: impl Fn(f64) -> f64) -> Integral {
    let mut step = to - from;
    let mut value = 0.5 * step * (f(from) + f(to));
    let mut error = f64::INFINITY;
    for halving in 0..20 {
        let points = 1 << halving;
        let between: f64 = (0..points).map(|k| f(from + (f64::from(k) + 0.5) * step)).sum();
        let finer = 0.5 * (value + step * between);
        (error, value, step) = ((finer - value).abs(), finer, 0.5 * step);
        if halving > 5 && error <= tolerance * value.abs() {
            break;
        }
    }
    Integral { value, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smooth_is_exact_and_a_kink_is_reported() {
        let log = integrate(-40.0, 5.0, 1e-12, |u| (u - u.exp()).exp());
        assert!((log.value - 1.0).abs() < 1e-11);
        let kink = integrate(0.0, 1.0, 1e-15, |z| (z - 1.0 / 3.0).abs());
        assert!((kink.value - 5.0 / 18.0).abs() < 1e-9 && kink.error > 0.0);
    }
}
