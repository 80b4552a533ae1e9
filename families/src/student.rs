//! Standard Student t distribution: log density, score terms, entropy and draws.

use std::f64::consts::PI;

use mcsa_core::{Error, Stream, numeric};
use rand_distr::{Distribution, Gamma};

use crate::gamma_ratio::{excess, excess_curvature, excess_slope};

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
pub(crate) struct Student {
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

    /// A draw from the standard multivariate t: independent normals times one common stretch.
    pub(crate) fn draw_vector(self, stream: &mut Stream, eps: &mut [f64]) {
        stream.normals_into(eps);
        let stretch = self.stretch(stream);
        eps.iter_mut().for_each(|eps| *eps *= stretch);
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

/// `ln(1 + t^2)`, also where `t^2` overflows.
fn log_1p_square(t: f64) -> f64 {
    if t.abs() < 1e8 { (t * t).ln_1p() } else { 2.0 * t.abs().ln() }
}

#[cfg(test)]
mod tests {
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
        for dof in [0.0, 0.09, f64::NAN, f64::INFINITY, -1.0] {
            assert!(check_dof(dof).is_err());
        }
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
