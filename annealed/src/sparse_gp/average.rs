//! Log likelihood of a datum, averaged over the field by Gauss-Hermite quadrature.

use mcsa_core::numeric;

use mcsa_models::student_errors::{MOST, StudentErrors, freedom};

/// Number of nodes of the quadrature.
const NODES: usize = 16;

/// Positive nodes `x_q` of the Gauss-Hermite rule for the weight `e^(-x^2)`, and `log(w_q / sqrt(pi))`. Newton's method in 50 digits.
const HALF: [(f64, f64); NODES / 2] = [
    (0.27348104613815244, -1.2497776047982965),
    (0.8229514491446559, -1.843020936221368),
    (1.3802585391988809, -3.051567395833779),
    (1.9517879909162539, -4.924420313983549),
    (2.5462021578474814, -7.55023800234077),
    (3.176999161979956, -11.087655627444743),
    (3.869447904860123, -15.848470719591079),
    (4.688738939305819, -22.621843735297286),
];

/// Nodes `sqrt(2) x_q`: `E f(e) = sum_q e^LOG_WEIGHTS_q f(POINTS_q)` for `e ~ N(0, 1)` and polynomials of degree 31 or less.
const POINTS: [f64; NODES] = both(true);

/// Logarithms of the weights, which add up to 1.
const LOG_WEIGHTS: [f64; NODES] = both(false);

const fn both(points: bool) -> [f64; NODES] {
    let mut out = [0.0; NODES];
    let mut k = 0;
    while k < NODES / 2 {
        let (x, log_weight) = HALF[k];
        let x = std::f64::consts::SQRT_2 * x;
        (out[NODES / 2 + k], out[NODES / 2 - 1 - k]) =
            if points { (x, -x) } else { (log_weight, log_weight) };
        k += 1;
    }
    out
}

/// Density of a datum given the value `f` of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likelihood {
    /// `P(y = 1) = 1/(1 + e^-f)`; the datum is the sign of the label.
    Logistic,
    /// `(y - f)/s ~ t_nu`, with parameters `log s` and `log(nu - 2)`.
    Student,
}

/// Number of rows whose averages are computed at once.
pub(super) const BLOCK: usize = 16;

/// Log likelihood of a datum, averaged over `f ~ N(m, v)` by quadrature, `l(m, v) = log sum_q w_q p(y | m + sqrt(v) e_q)`, and its
/// derivatives.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Average {
    /// `l`.
    pub(super) value: f64,
    /// `dl/dm`.
    pub(super) slope: f64,
    /// `d^2 l/dm^2`.
    pub(super) bend: f64,
    /// `dl/dv`.
    pub(super) of_variance: f64,
    /// `d^2 l/dm dv`.
    pub(super) slope_of_variance: f64,
    /// `dl/dnoise`.
    pub(super) of_noise: [f64; 2],
    /// `d^2 l/dm dnoise`.
    pub(super) slope_of_noise: [f64; 2],
}

/// Likelihood with its noise, prepared for many data.
#[derive(Debug, Clone, Copy)]
pub(super) enum Prepared {
    Logistic,
    /// The errors, and `dnu/du`, `u = log(nu - 2)`.
    Student(StudentErrors, f64),
}

impl Likelihood {
    /// Number of parameters of the noise.
    pub(super) fn num_params(self) -> usize {
        match self {
            Self::Logistic => 0,
            Self::Student => 2,
        }
    }

    /// The likelihood with this noise; `None` if a parameter is out of range.
    pub(super) fn prepare(self, noise: &[f64]) -> Option<Prepared> {
        match (self, noise) {
            (Self::Logistic, _) => Some(Prepared::Logistic),
            (Self::Student, &[log_scale, u]) if log_scale.abs() <= MOST && u.abs() <= MOST => {
                let (nu, slope) = freedom(u);
                Some(Prepared::Student(StudentErrors::new(log_scale, nu), slope))
            }
            _ => None,
        }
    }
}

impl Prepared {
    /// Averages for at most [`BLOCK`] data with means and variances of the field; derivatives are optional.
    pub(super) fn averages(
        self,
        derivatives: bool,
        y: impl Fn(usize) -> f64,
        mean: &[f64],
        variance: impl Fn(usize) -> f64,
        out: &mut [Average; BLOCK],
    ) {
        let len = mean.len();
        // The argument of the log density at each node, and its derivative.
        let (mut points, mut slopes) = ([0.0; BLOCK * NODES], [0.0; BLOCK * NODES]);
        let mut logs = [0.0; BLOCK * NODES];
        let (points, slopes, logs) =
            (&mut points[..len * NODES], &mut slopes[..len * NODES], &mut logs[..len * NODES]);
        for (b, (&mean, points)) in mean.iter().zip(points.as_chunks_mut::<NODES>().0).enumerate() {
            let (y, width) = (y(b), variance(b).sqrt());
            for (point, e) in points.iter_mut().zip(POINTS) {
                let f = mean + width * e;
                *point = match self {
                    Self::Logistic => y * f,
                    Self::Student(errors, _) => (y - f) * errors.rate,
                };
            }
        }
        match self {
            Self::Logistic => {
                numeric::log_sigmoid_into(points, logs);
                slopes.iter_mut().zip(&*points).for_each(|(slope, point)| *slope = -point);
                numeric::sigmoid(slopes);
            }
            Self::Student(errors, _) => {
                logs.iter_mut().zip(&*points).for_each(|(log, e)| *log = e * e / errors.freedom);
                numeric::ln_1p(logs);
                let power = -0.5 * (errors.freedom + 1.0);
                logs.iter_mut().for_each(|log| *log = errors.constant + power * *log);
            }
        }
        // Responsibilities: the points are replaced by shares e^(log w + l - top).
        let mut shares = [0.0; BLOCK * NODES];
        let shares = &mut shares[..len * NODES];
        let mut tops = [0.0; BLOCK];
        for (b, shares) in shares.as_chunks_mut::<NODES>().0.iter_mut().enumerate() {
            let logs = &logs[b * NODES..(b + 1) * NODES];
            for ((share, log), log_weight) in shares.iter_mut().zip(logs).zip(LOG_WEIGHTS) {
                *share = log + log_weight;
            }
            tops[b] = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let top = if tops[b].is_finite() { tops[b] } else { 0.0 };
            shares.iter_mut().for_each(|share| *share -= top);
        }
        numeric::exp(shares);
        for (b, shares) in shares.as_chunks::<NODES>().0.iter().enumerate() {
            let total: f64 = shares.iter().sum();
            out[b] = Average {
                value: if total > 0.0 { tops[b] + total.ln() } else { tops[b] },
                ..Average::default()
            };
            if derivatives {
                let place = b * NODES..(b + 1) * NODES;
                let (points, slopes, logs) = (&points[place.clone()], &slopes[place.clone()], &logs[place]);
                let width = variance(b).sqrt();
                let node = |q: usize| self.node(y(b), points[q], slopes[q], logs[q]);
                out[b].differentiate(shares, total, width, node);
            }
        }
    }

    /// Derivatives of `log p(y | f)` at a node, in `f`, in the noise, and mixed, from the argument, the slope and the logarithm there.
    #[inline(always)]
    fn node(self, sign: f64, point: f64, slope: f64, log: f64) -> Average {
        match self {
            Self::Logistic => {
                Average { slope: sign * slope, bend: -slope * (1.0 - slope), ..Average::default() }
            }
            Self::Student(errors, excess) => {
                let term = errors.term(point);
                let ln_1p = (errors.constant - log) / (0.5 * (errors.freedom + 1.0));
                let freedom = term.freedom - 0.5 * ln_1p + errors.of_freedom[0];
                Average {
                    slope: term.t,
                    bend: term.tt,
                    of_noise: [term.scale, excess * freedom],
                    slope_of_noise: [term.t_scale, excess * term.t_freedom],
                    ..Average::default()
                }
            }
        }
    }
}

impl Average {
    /// Derivatives from unnormalised responsibilities: `dl/dx` is the average of that of `log p`, and a second derivative that of
    /// `log p` plus the covariance of first ones.
    #[inline(always)]
    fn differentiate(
        &mut self,
        shares: &[f64; NODES],
        total: f64,
        width: f64,
        node: impl Fn(usize) -> Average,
    ) {
        let over = 1.0 / total;
        for (q, share) in shares.iter().enumerate() {
            let (share, node) = (share * over, node(q));
            // df/dv at the node.
            let spread = 0.5 * POINTS[q] / width;
            let second = node.bend + node.slope * node.slope;
            self.slope += share * node.slope;
            self.bend += share * second;
            self.of_variance += share * node.slope * spread;
            self.slope_of_variance += share * second * spread;
            for j in 0..2 {
                self.of_noise[j] += share * node.of_noise[j];
                self.slope_of_noise[j] += share * (node.slope_of_noise[j] + node.slope * node.of_noise[j]);
            }
        }
        self.bend -= self.slope * self.slope;
        self.slope_of_variance -= self.slope * self.of_variance;
        for j in 0..2 {
            self.slope_of_noise[j] -= self.slope * self.of_noise[j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::numeric::quadrature::{Axis, Map, log_integral};
    use mcsa_testing::law::{ROUNDING, is_slope, slope};

    const CASES: [(Likelihood, f64, [f64; 2]); 4] = [
        (Likelihood::Logistic, 1.0, [0.0; 2]),
        (Likelihood::Logistic, -1.0, [0.0; 2]),
        (Likelihood::Student, 0.8, [-0.2, 0.5]),
        (Likelihood::Student, -3.0, [0.4, 1.5]),
    ];

    fn average(likelihood: Likelihood, y: f64, noise: &[f64], m: f64, v: f64) -> Average {
        let mut out = [Average::default(); BLOCK];
        likelihood.prepare(noise).unwrap().averages(true, |_| y, &[m], |_| v, &mut out);
        out[0]
    }

    /// The sum over nodes against the integral: to rounding where the density is nearly Gaussian over the width, else nearly.
    #[test]
    fn averages_are_integrals() {
        for (likelihood, y, noise) in CASES {
            for (v, tolerance) in [(1e-4, 1e-12), (0.1, 1e-7), (1.0, 1e-2)] {
                let log_p = |f: f64| average(likelihood, y, &noise, f, 1e-30).value;
                let normal = |e: f64| -0.5 * e * e - mcsa_models::support::HALF_LOG_TAU;
                let exact = log_integral(&[Axis::line(Map::Sinh, 0.0, 1.0)], 1e-13, |e| {
                    normal(e[0]) + log_p(0.3 + f64::sqrt(v) * e[0])
                });
                let found = average(likelihood, y, &noise, 0.3, v).value;
                assert!((found - exact.value).abs() < tolerance, "{likelihood:?} {v}: {found} {exact:?}");
            }
        }
    }

    #[test]
    fn derivatives_are_derivatives() {
        for (likelihood, y, noise) in CASES {
            for (m, v) in [(0.3, 0.7), (-2.0, 1e-3), (8.0, 2.0)] {
                let at = |m: f64, v: f64, shift: [f64; 2]| {
                    average(likelihood, y, &[noise[0] + shift[0], noise[1] + shift[1]], m, v)
                };
                let found = at(m, v, [0.0; 2]);
                let is = |what: &str, found: f64, f: &dyn Fn(f64) -> f64| {
                    let place = || format!("{likelihood:?} {what} at {m} {v}");
                    is_slope("average", place, found, slope(ROUNDING, f)).unwrap();
                };
                is("m", found.slope, &|t| at(m + t, v, [0.0; 2]).value);
                is("mm", found.bend, &|t| at(m + t, v, [0.0; 2]).slope);
                is("v", v * found.of_variance, &|t| at(m, v * t.exp(), [0.0; 2]).value);
                is("mv", v * found.slope_of_variance, &|t| at(m, v * t.exp(), [0.0; 2]).slope);
                for j in 0..likelihood.num_params() {
                    let shifted = |t: f64| at(m, v, if j == 0 { [t, 0.0] } else { [0.0, t] });
                    is("noise", found.of_noise[j], &|t| shifted(t).value);
                    is("m noise", found.slope_of_noise[j], &|t| shifted(t).slope);
                }
            }
        }
    }

    /// A datum impossible at every node has log likelihood `-inf`.
    #[test]
    fn overflow_is_minus_infinity() {
        assert_eq!(average(Likelihood::Student, 1e200, &[0.0, 0.0], 0.0, 1.0).value, f64::NEG_INFINITY);
        assert!(Likelihood::Student.prepare(&[301.0, 0.0]).is_none());
    }

    /// `E e^k` is 0 for odd k and `(k - 1)!!` for even k; degree 32 is beyond the rule.
    #[test]
    fn moments_of_the_normal() {
        let moment = |k: i32| -> f64 {
            POINTS.iter().zip(LOG_WEIGHTS).map(|(x, log_weight)| log_weight.exp() * x.powi(k)).sum()
        };
        let mut exact = 1.0;
        for k in (0..32).step_by(2) {
            assert!((moment(k) / exact - 1.0).abs() < 2e-14, "{k}: {}", moment(k));
            assert!(moment(k + 1).abs() < 1e-13 * exact * f64::from(k + 1));
            exact *= f64::from(k + 1);
        }
        assert!((moment(32) / exact - 1.0).abs() > 1e-4);
    }
}
