//! Standard Student t distribution: log density, score terms, entropy, draws, and the ratios of gamma functions in them.

use faer::MatRef;
use mcsa_core::{Columns, Error, Stream, numeric};
use rand_distr::{Distribution, Gamma};
use std::f64::consts::PI;

/// Least degrees of freedom that are allowed: below, draws may leave the range of a double.
///
/// A draw is a normal over `sqrt(chi2 / dof)`; below two degrees of freedom `rand_distr` multiplies a gamma draw by
/// `u^(2/dof)` with `u >= 2^-53`, and `2^(-53 * 20)` is the last such power that is not zero.
pub(crate) const LEAST_DOF: f64 = 0.1;

/// Checks that draws with `dof` degrees of freedom are always finite.
pub(crate) fn check_dof(dof: f64) -> Result<(), Error> {
    if dof >= LEAST_DOF && dof.is_finite() {
        return Ok(());
    }
    Err(Error::parameter("dof", dof, "finite and at least 0.1, so that draws are finite"))
}

/// Standard Student t with `dof` degrees of freedom, for independent coordinates or for dependent ones in `n` dimensions.
#[derive(Debug, Clone, Copy)]
pub struct Student {
    pub(crate) dof: f64,
    chi_squared: Option<Gamma<f64>>,
}

impl Student {
    pub(crate) fn new(dof: f64) -> Self {
        Self { dof, chi_squared: Gamma::new(0.5 * dof, 2.0).ok() }
    }

    /// Log density at zero of the standard t in `n` dimensions.
    pub(crate) fn log_peak(self, n: usize) -> f64 {
        excess(0.5 * self.dof, n) - 0.5 * n as f64 * (2.0 * PI).ln()
    }

    /// `d log_peak / d dof`.
    pub(crate) fn log_peak_slope(self, n: usize) -> f64 {
        0.5 * excess_slope(0.5 * self.dof, n)
    }

    /// `ln(1 + u^2 / dof)`, the decrease of the log density from zero to `u` in units of `(dof + n) / 2`.
    pub(crate) fn log_fall(self, u: f64) -> f64 {
        log_1p_square(u / self.dof.sqrt())
    }

    /// Replaces each square `u^2` by [`log_fall`](Self::log_fall) of u.
    pub(crate) fn log_falls(self, squares: &mut [f64]) {
        let inverse = 1.0 / self.dof;
        squares.iter_mut().for_each(|square| *square *= inverse);
        numeric::ln_1p(squares);
    }

    /// `sum_{i < n} log_fall(u(i))`, vectorised; the order of summation depends on `n` alone.
    pub(crate) fn total_fall(self, n: usize, u: impl Fn(usize) -> f64) -> f64 {
        let inverse = 1.0 / self.dof.sqrt();
        let (mut total, mut block) = (0.0, [0.0; 64]);
        for start in (0..n).step_by(block.len()) {
            let block = &mut block[..64.min(n - start)];
            for (i, t) in block.iter_mut().enumerate() {
                *t = u(start + i) * inverse;
            }
            let squared = block.iter().all(|t| t.abs() < 1e150);
            if squared {
                block.iter_mut().for_each(|t| *t *= *t);
                numeric::ln_1p(block);
            } else {
                block.iter_mut().for_each(|t| *t = log_1p_square(*t));
            }
            total += numeric::sum(block);
        }
        total
    }

    /// Twice the decrease of the log density of the product at each column of `z`, whose standardised coordinates are `u(i, z_i)`.
    pub(crate) fn total_falls(self, z: MatRef<'_, f64>, falls: &mut [f64], u: impl Fn(usize, f64) -> f64) {
        for (j, fall) in falls.iter_mut().enumerate() {
            let z = z.column(j);
            *fall = (self.dof + 1.0) * self.total_fall(z.len(), |i| u(i, z[i]));
        }
    }

    /// `(dof + n) / (dof + radius^2)`, the weight of a point in the score relative to a Gaussian.
    pub(crate) fn weight(self, n: usize, radius: f64) -> f64 {
        let t = radius / self.dof.sqrt();
        (1.0 + n as f64 / self.dof) / (1.0 + t * t)
    }

    /// `u / (dof + u^2)`, the pull of a point on the location, and `u^2 / (dof + u^2)`, its claim on the scale, which is at most 1,
    /// also where the square overflows.
    pub(crate) fn pull_and_claim(self, u: f64) -> (f64, f64) {
        let square = u * u;
        let shrink = 1.0 / (self.dof + square);
        if square < f64::INFINITY { (u * shrink, square * shrink) } else { (1.0 / u, 1.0) }
    }

    /// `E[ln(1 + square / dof)]` in `n` dimensions: `digamma((dof + n)/2) - digamma(dof/2)`.
    pub(crate) fn expected_fall(self, n: usize) -> f64 {
        excess_slope(0.5 * self.dof, n) + n as f64 / self.dof
    }

    /// Score of the degrees of freedom without its part along the scale matrix: its mean over points with mean weight `pull` (of
    /// [`weight`](Self::weight)) and mean `fall` (of [`log_fall`](Self::log_fall)).
    ///
    /// ```text
    /// I_ss = n nu / (2 (nu + n + 2)),   I_s,nu = -n / ((nu + n)(nu + n + 2))       Fisher information, s the log scale of L L^T
    /// d/dnu log q - (I_s,nu / I_ss) d/ds log q = (log u - E_q log u) / 2 + (1 - u) (1/2 + 1/(nu + n)),   u = (nu + n)/(nu + r^2)
    /// ```
    pub(crate) fn efficient_score(self, n: usize, pull: f64, fall: f64) -> f64 {
        0.5 * (self.expected_fall(n) - fall) + (1.0 - pull) * (0.5 + 1.0 / (self.dof + n as f64))
    }

    /// Variance of [`efficient_score`](Self::efficient_score) under q:
    /// `(trigamma(nu/2) - trigamma((nu + n)/2)) / 4 - n (nu + n + 2) / (2 nu (nu + n)^2)`, about `n (n + 2) / (2 nu^4)` at large nu.
    pub(crate) fn efficient_information(self, n: usize) -> f64 {
        let (nu, n_) = (self.dof, n as f64);
        let rest = 0.5 * n_ * (n_ * (nu + n_) - 2.0 * nu) / (nu * (nu + n_)).powi(2);
        rest - 0.25 * excess_curvature(0.5 * nu, n)
    }

    /// The entropy of the standard t in `n` dimensions.
    pub(crate) fn entropy(self, n: usize) -> f64 {
        0.5 * (self.dof + n as f64) * self.expected_fall(n) - self.log_peak(n)
    }

    /// A draw of the stretch `sqrt(dof / chi2)`, which turns a normal into a t.
    pub(crate) fn stretch(self, stream: &mut Stream) -> f64 {
        // Checked parameters have valid degrees of freedom; others give NaN, which kernels reject.
        self.chi_squared.map_or(f64::NAN, |chi_squared| (self.dof / chi_squared.sample(stream)).sqrt())
    }

    /// A draw from the standard t on the line.
    pub(crate) fn draw(self, stream: &mut Stream) -> f64 {
        if self.dof == 1.0 {
            // Quantile function of the Cauchy distribution: the uniform is inside the open interval, so the draw is finite.
            return (PI * (stream.uniform() - 0.5)).tan();
        }
        stream.normal() * self.stretch(stream)
    }
}

/// Euclidean length.
pub(crate) fn radius(eps: &[f64]) -> f64 {
    mcsa_numeric::linear::standard::dot(eps, eps).sqrt()
}

/// `ln(1 + t^2)`, also where `t^2` overflows.
fn log_1p_square(t: f64) -> f64 {
    if t.abs() < 1e8 { (t * t).ln_1p() } else { 2.0 * t.abs().ln() }
}

/// `ln Gamma(x + n/2) - ln Gamma(x) - (n/2) ln x`, which vanishes as `x` grows.
///
/// ```text
/// sum_{k < m} ln(1 + k/x),                                  n = 2 m
/// the sum above + ln(1 + m/x) / 2 + h(x + m),               n = 2 m + 1
/// h(x) = ln Gamma(x + 1/2) - ln Gamma(x) - ln(x) / 2
/// ```
/// Numerics: a difference of two log gammas loses all its digits at large `x` (a Student t near a Gaussian);
/// in this sum no large numbers cancel. Absolute error about `n` units of 1e-16.
pub(crate) fn excess(x: f64, n: usize) -> f64 {
    let m = n / 2;
    let even = sum_ln_1p((0..m).map(|k| k as f64 / x));
    if n.is_multiple_of(2) { even } else { even + 0.5 * (m as f64 / x).ln_1p() + half(x + m as f64) }
}

/// `sum_k ln(1 + t_k)` as the logarithm of a product, of which the excess over one is carried: nothing cancels if the terms have one sign.
fn sum_ln_1p(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut excess) = (0.0, 0.0);
    for term in terms {
        excess += (1.0 + excess) * term;
        if excess > 1e150 {
            sum += f64::ln_1p(std::mem::take(&mut excess));
        }
    }
    sum + excess.ln_1p()
}

/// Derivative `d/dx` of [`excess`].
pub(crate) fn excess_slope(x: f64, n: usize) -> f64 {
    let m = n / 2;
    let slope = |k: usize| -(k as f64 / x) / (x + k as f64);
    let even: f64 = (0..m).map(slope).sum();
    if n.is_multiple_of(2) { even } else { even + 0.5 * slope(m) + half_slope(x + m as f64) }
}

/// Second derivative of [`excess`].
pub(crate) fn excess_curvature(x: f64, n: usize) -> f64 {
    let m = n / 2;
    let curvature = |k: usize| {
        let (k, y) = (k as f64, x + k as f64);
        (k / x / y) * ((x + y) / x / y)
    };
    let even: f64 = (0..m).map(curvature).sum();
    if n.is_multiple_of(2) { even } else { even + 0.5 * curvature(m) + half_curvature(x + m as f64) }
}

/// Least `x` at which the series of [`half`] is used: there it is exact to 3e-16.
const FAR: f64 = 16.0;

/// `B_2k (2 - 2^(1-2k)) / (2k (2k-1))`, negated, `k = 1..6`: Stirling's series at `x + 1/2` less that at `x`.
const SERIES: [f64; 6] =
    [-1.0 / 8.0, 1.0 / 192.0, -1.0 / 640.0, 17.0 / 14336.0, -31.0 / 18432.0, 691.0 / 180224.0];

/// `h(x)`, by the recurrence `h(x) = h(x + 1) + ln(x (x + 1) / (x + 1/2)^2) / 2` until the series applies.
fn half(mut x: f64) -> f64 {
    let mut sum = 0.0;
    if x < 0.5 {
        // Near x = 0 the difference in the factor 1 - 1 / (2 x + 1)^2 would cancel.
        sum = 0.5 * (x * (x + 1.0) / ((x + 0.5) * (x + 0.5))).ln();
        x += 1.0;
    }
    let steps = (FAR - x).ceil().max(0.0);
    // The least terms first, whose sums round least.
    sum += 0.5 * sum_ln_1p((0..steps as usize).rev().map(|k| -0.25 / (x + k as f64 + 0.5).powi(2)));
    let y = 1.0 / (x + steps);
    sum + y * SERIES.iter().rev().fold(0.0, |series, &c| series * y * y + c)
}

/// `h'(x)`, by the recurrence `h'(x) = h'(x + 1) + 1 / (4 x (x + 1/2) (x + 1))`.
fn half_slope(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < FAR {
        sum += 0.25 / (x * (x + 0.5) * (x + 1.0));
        x += 1.0;
    }
    let y = 1.0 / x;
    let terms = SERIES.iter().enumerate().rev();
    sum - y * y * terms.fold(0.0, |series, (k, &c)| series * y * y + (2 * k + 1) as f64 * c)
}

/// `h''(x)`, by the derivative of the recurrence of [`half_slope`].
fn half_curvature(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < FAR {
        let (middle, next) = (x + 0.5, x + 1.0);
        sum -= 0.25 / (x * middle * next) * (1.0 / x + 1.0 / middle + 1.0 / next);
        x += 1.0;
    }
    let y = 1.0 / x;
    let terms = SERIES.iter().enumerate().rev();
    let coefficient = |k: usize| ((2 * k + 1) * (2 * k + 2)) as f64;
    sum + y * y * y * terms.fold(0.0, |series, (k, &c)| series * y * y + coefficient(k) * c)
}

#[cfg(test)]
mod student_tests {
    use super::*;
    use mcsa_core::{Seed, enumerate};
    use statrs::distribution::{Continuous, ContinuousCDF, StudentsT};
    use statrs::statistics::Distribution as _;

    #[test]
    fn the_density_is_that_of_the_books() {
        for dof in [0.3, 1.0, 2.5, 7.0, 40.0] {
            let (student, oracle) = (Student::new(dof), StudentsT::new(0.0, 1.0, dof).unwrap());
            for u in [0.0, 0.3, -2.0, 15.0, 1e4] {
                let log_q = student.log_peak(1) - 0.5 * (dof + 1.0) * student.log_fall(u);
                assert!((log_q - oracle.ln_pdf(u)).abs() < 1e-12, "{dof} {u}");
            }
            assert!((student.entropy(1) - oracle.entropy().unwrap()).abs() < 1e-11, "{dof}");
        }
        assert!((Student::new(1.0).entropy(1) - (4.0 * PI).ln()).abs() < 1e-14);
        let blocks = Student::new(3.0);
        let one_by_one: f64 = (0..200).map(|i| blocks.log_fall(f64::from(i) - 30.0)).sum();
        assert!((blocks.total_fall(200, |i| i as f64 - 30.0) - one_by_one).abs() < 1e-12 * one_by_one);
        let far = Student::new(1.0).log_fall(1e300);
        assert!((far - 600.0 * 10.0_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn many_degrees_are_a_gaussian() {
        let student = Student::new(1e15);
        assert!((student.log_peak(3) + 1.5 * (2.0 * PI).ln()).abs() < 1e-14);
        assert!((0.5 * 1e15 * student.log_fall(2.0) - 2.0).abs() < 1e-12);
        assert!((student.entropy(2) - (1.0 + (2.0 * PI).ln())).abs() < 1e-12);
    }

    /// Dvoretzky-Kiefer-Wolfowitz: the largest gap between the empirical and the true distribution function exceeds `e` with
    /// probability at most `2 exp(-2 n e^2)` (Massart 1990): for n = 20,000 and e = 0.0166 that is 4e-5. Fixed seed.
    #[test]
    fn draws_have_the_distribution() {
        for (lane, dof) in [0.5, 1.0, 3.0, 30.0].into_iter().enumerate() {
            let (student, mut stream) = (Student::new(dof), Seed::new(7).stream(lane as u64, 0));
            let mut draws: Vec<f64> = (0..20_000).map(|_| student.draw(&mut stream)).collect();
            draws.sort_by(f64::total_cmp);
            let gap = |dof: f64| {
                let oracle = StudentsT::new(0.0, 1.0, dof).unwrap();
                let gap = |(k, &z): (usize, &f64)| (oracle.cdf(z) - (k as f64 + 0.5) / 20_000.0).abs();
                draws.iter().enumerate().map(gap).fold(0.0, f64::max)
            };
            assert!(gap(dof) < 0.0166, "{dof}: {}", gap(dof));
            // Negative control: half the degrees of freedom must be detected, except where both are nearly Gaussian.
            assert!(gap(0.5 * dof) > 0.0166 || dof > 3.0, "{dof}: {}", gap(0.5 * dof));
        }
    }

    #[test]
    fn the_least_degrees_draw_finite_numbers() {
        let (student, mut stream) = (Student::new(LEAST_DOF), Seed::new(8).stream(0, 0));
        assert!((0..100_000).all(|_| student.draw(&mut stream).is_finite()));
        assert!(2.0_f64.powf(-53.0 * 2.0 / LEAST_DOF) > 0.0);
    }

    /// `rand_distr` does not promise stable values; a change of its gamma sampler is value-breaking, and this test detects it.
    #[test]
    fn the_first_values_are_pinned() {
        let pinned = [
            (0.5, [2.672526765898358, 178443.73097710486]),
            (1.0, [-0.029140034737368547, -0.5652466276609709]),
            (2.0, [1.158540420647886, 8.364818114749278]),
            (3.0, [1.2120716391048028, -0.1604229129682486]),
        ];
        for (dof, expected) in pinned {
            let (student, mut stream) = (Student::new(dof), Seed::new(1).stream(0, 1));
            let found = [student.draw(&mut stream), student.draw(&mut stream)];
            let near =
                found.iter().zip(&expected).all(|(a, b): (&f64, &f64)| (a - b).abs() < 1e-13 * b.abs());
            assert!(near, "{dof}: {found:?}");
        }
    }

    #[test]
    fn a_script_is_told_and_does_not_hang() {
        for dof in [0.5, 1.0, 4.0] {
            assert!(enumerate(1, 10, |lanes| Student::new(dof).draw(&mut lanes[0])).is_err());
        }
    }
}

#[cfg(test)]
mod gamma_ratio_tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::function::gamma::{digamma, ln_gamma};

    proptest! {
        #[test]
        fn the_excess_is_the_difference_of_log_gammas(log_x in -3.0..4.0_f64, n in 0..12_usize) {
            let (x, half) = (log_x.exp(), n as f64 / 2.0);
            let expected = ln_gamma(x + half) - ln_gamma(x) - half * x.ln();
            prop_assert!((excess(x, n) - expected).abs() < 1e-12, "{} {expected}", excess(x, n));
            let slope = digamma(x + half) - digamma(x) - half / x;
            prop_assert!((excess_slope(x, n) - slope).abs() < 1e-11 * (1.0 + 1.0 / x), "{} {slope}", excess_slope(x, n));
        }

        /// Central differences of the slope: their error is of the second order in the relative step.
        #[test]
        fn the_curvature_is_the_derivative_of_the_slope(log_x in -2.0..6.0_f64, n in 0..12_usize) {
            let (x, step) = (log_x.exp(), 1e-4 * log_x.exp());
            let difference = (excess_slope(x + step, n) - excess_slope(x - step, n)) / (2.0 * step);
            let scale = n as f64 * (1.0 + n as f64) / (x * x);
            let found = excess_curvature(x, n);
            prop_assert!((found - difference).abs() <= 1e-7 * scale, "{found} {difference}");
        }

        #[test]
        fn two_halves_make_a_whole(log_x in -2.0..40.0_f64, n in 0..40_usize, m in 0..5_usize) {
            // Gamma(x+n/2+m/2)/Gamma(x) = [Gamma(y+m/2)/Gamma(y)] [Gamma(y)/Gamma(x)], y = x + n/2.
            let (x, y) = (log_x.exp(), log_x.exp() + n as f64 / 2.0);
            let parts = excess(x, n) + excess(y, m) + 0.5 * m as f64 * (n as f64 / (2.0 * x)).ln_1p();
            prop_assert!((excess(x, n + m) - parts).abs() < 1e-13 * (1.0 + parts.abs()));
        }
    }

    #[test]
    fn known_values() {
        let ln_pi = std::f64::consts::PI.ln();
        // Gamma(1) / Gamma(1/2), Gamma(3/2) / Gamma(1).
        assert!((excess(0.5, 1) - (0.5 * 2.0_f64.ln() - 0.5 * ln_pi)).abs() < 2e-16);
        assert!((excess(1.0, 1) - (0.5 * ln_pi - 2.0_f64.ln())).abs() < 2e-16);
        assert_eq!(excess(3.0, 0), 0.0);
        for n in 0..7 {
            assert!(excess(1e300, n).abs() < 1e-290 && excess_slope(1e300, n).abs() < 1e-290);
        }
        // At large x the first term of the series dominates: -1/(8x).
        assert!((excess(1e8, 1) + 1.25e-9).abs() < 1e-24);
    }
}
