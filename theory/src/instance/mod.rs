//! Exact instances: a target, a guide and a statistic on finitely many atoms, and bias and variance of chain estimators.

mod kernels;

use mcsa_core::{Error, same_length};

pub use kernels::{Conditional, SelfNormalised};

use crate::number::{Number, dot, total};
use crate::square::Square;

/// Target `pi`, guide `q` and statistic `s` on common atoms: the setting of the papers' claims, in numbers that can be exact
/// fractions.
///
/// ```text
/// w = pi / q,    w* = max w,    r = 1 - 1/w*,    mu = E_pi[s],    sigma^2 = V_pi[s]
/// ```
/// Weights are normalised: `E_q[w] = 1`. Where `pi` vanishes, `w` is 0.
///
/// ```
/// use mcsa_theory::{Instance, Number, Rational};
/// let r = Rational::ratio;
/// let instance = Instance::new(&[r(1, 2), r(1, 2)], &[r(1, 4), r(3, 4)], &[r(1, 1), r(-1, 1)])?;
/// assert_eq!(instance.largest_weight(), r(2, 1));
/// assert_eq!(instance.imh().row(0), [r(3, 4), r(1, 4)]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Instance<T> {
    pi: Vec<T>,
    q: Vec<T>,
    s: Vec<T>,
    w: Vec<T>,
}

impl<T: Number> Instance<T> {
    /// An instance of three tables; tables that do not sum to one exactly are divided by their sum.
    ///
    /// # Errors
    /// If lengths differ, there is no atom, or the sum of `pi` or `q` differs from 1 by more than 1e-12. Also if a probability is
    /// negative or NaN, a value of `s` is not finite, or `q` vanishes where `pi` does not; then the message names the entry, such
    /// as `pi[2]`.
    pub fn new(pi: &[T], q: &[T], s: &[T]) -> Result<Self, Error> {
        if pi.is_empty() {
            return Err(Error::invalid("pi: no atoms; give at least one"));
        }
        same_length("q", pi.len(), q.len())?;
        same_length("s", pi.len(), s.len())?;
        if let Some(k) = s.iter().position(|s| !s.to_f64().is_finite()) {
            return Err(Error::NotFinite { what: "s", index: k, value: s[k].to_f64() });
        }
        let (pi, q) = (law("pi", pi)?, law("q", q)?);
        for (k, (pi, q)) in pi.iter().zip(&q).enumerate() {
            if q.is_zero() && !pi.is_zero() {
                let pi = pi.to_f64();
                return Err(Error::invalid(format!(
                    "q[{k}] is 0 where pi[{k}] is {pi}: the guide must reach every atom of the target"
                )));
            }
        }
        let weight = |(pi, q): (&T, &T)| if pi.is_zero() { T::zero() } else { pi.clone() / q };
        let w = pi.iter().zip(&q).map(weight).collect();
        Ok(Self { pi, q, s: s.to_vec(), w })
    }

    /// The instance in double precision.
    pub fn to_f64(&self) -> Instance<f64> {
        let doubles = |x: &[T]| x.iter().map(Number::to_f64).collect();
        Instance { pi: doubles(&self.pi), q: doubles(&self.q), s: doubles(&self.s), w: doubles(&self.w) }
    }

    /// The instance with another statistic.
    #[must_use]
    pub fn with_statistic(&self, s: &[T]) -> Self {
        assert_eq!(s.len(), self.atoms(), "a value per atom");
        Self { s: s.to_vec(), ..self.clone() }
    }

    /// The number of atoms.
    pub fn atoms(&self) -> usize {
        self.pi.len()
    }

    /// The target.
    pub fn pi(&self) -> &[T] {
        &self.pi
    }

    /// The guide.
    pub fn q(&self) -> &[T] {
        &self.q
    }

    /// The statistic, a scalar score.
    pub fn s(&self) -> &[T] {
        &self.s
    }

    /// The importance weights `pi / q`.
    pub fn w(&self) -> &[T] {
        &self.w
    }

    /// Largest weight `w*`, at least 1.
    pub fn largest_weight(&self) -> T {
        self.w.iter().cloned().fold(T::zero(), |largest, w| if w > largest { w } else { largest })
    }

    /// The first atom of weight `w*`, from which chains converge slowest.
    pub fn mode(&self) -> usize {
        let largest = self.largest_weight();
        self.w.iter().position(|w| *w == largest).expect("the largest is one of them")
    }

    /// Convergence rate `r = 1 - 1/w*` of independent Metropolis-Hastings.
    pub fn rate(&self) -> T {
        T::one() - T::one() / self.largest_weight()
    }

    /// Mean `mu = E_pi[s]`.
    pub fn mean(&self) -> T {
        dot(&self.pi, &self.s)
    }

    /// Variance `sigma^2 = V_pi[s]`.
    pub fn variance(&self) -> T {
        let mean = self.mean();
        let square = |s: &T| {
            let s = s.clone() - &mean;
            s.clone() * s
        };
        dot(&self.pi, &self.s.iter().map(square).collect::<Vec<_>>())
    }

    /// Pearson's `chi^2 = sum (pi - q)^2 / q = V_q[w]`, used in pMCSA.
    pub fn pearson(&self) -> T {
        dot(&self.pi, &self.w) - T::one()
    }

    /// Neyman's `chi^2 = sum (pi - q)^2 / pi`, used in MCMC-SE. `None` if it is infinite, because `pi` vanishes at an atom where
    /// `q` does not.
    pub fn neyman(&self) -> Option<T> {
        let terms = self.pi.iter().zip(&self.q).filter(|(_, q)| !q.is_zero());
        let terms = terms.map(|(pi, q)| {
            let square = (pi.clone() - q) * (pi.clone() - q);
            if pi.is_zero() { None } else { Some(square / pi) }
        });
        Some(total(terms.collect::<Option<Vec<T>>>()?))
    }

    /// Inclusive divergence `KL(pi || q) = sum pi log w`; a logarithm and so a double.
    ///
    /// Numerics: summed as `E_q[w log w - w + 1]`, whose terms are not negative.
    pub fn kl(&self) -> f64 {
        total(self.w.iter().zip(&self.q).map(|(w, q)| {
            let excess = (w.clone() - T::one()).to_f64();
            let w = w.to_f64();
            // Near 1 the excess is accurate, near 0 the weight itself.
            let log = if w < 0.5 { w.ln() } else { excess.ln_1p() };
            let term = if w == 0.0 { 1.0 } else { (w * log - excess).max(0.0) };
            q.to_f64() * term
        }))
    }
}

/// Checks a probability vector and divides it by its sum.
fn law<T: Number>(name: &str, x: &[T]) -> Result<Vec<T>, Error> {
    for (k, p) in x.iter().enumerate() {
        // Written so that NaN is an error.
        if !(*p >= T::zero()) {
            return Err(Error::invalid(format!("{name}[{k}] is {}, expected not negative", p.to_f64())));
        }
    }
    let mass = total(x.iter().cloned());
    if !((mass.to_f64() - 1.0).abs() <= 1e-12) {
        return Err(Error::invalid(format!("{name}: the sum is {}, expected 1", mass.to_f64())));
    }
    Ok(x.iter().map(|p| p.clone() / &mass).collect())
}

/// Mean and variance of an average of a chain's states, from each fixed start.
///
/// ```text
/// g = 1/N sum_{i=1}^N s(z_i),    V[g] = 1/N^2 sum_i V[s_i] + 2/N^2 sum_{i<j} Cov[s_i, s_j]
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Moments<T> {
    /// Means `E[g | z]`.
    pub means: Vec<T>,
    /// Variances `V[g | z]`, in two parts.
    pub variances: Vec<Parts<T>>,
}

/// Variance of an average, split into the part of single states and the part of pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts<T> {
    /// `1/N^2 sum_i V[s_i]`.
    pub diagonal: T,
    /// `2/N^2 sum_{i<j} Cov[s_i, s_j]`.
    pub covariance: T,
}

impl<T: Number> Parts<T> {
    /// The variance: the sum of both parts.
    pub fn sum(&self) -> T {
        self.diagonal.clone() + &self.covariance
    }
}

impl<T: Number> Moments<T> {
    /// Second moments `E[g^2 | z]`.
    pub fn second_moments(&self) -> Vec<T> {
        let each = self.means.iter().zip(&self.variances);
        each.map(|(mean, variance)| variance.sum() + mean.clone() * mean).collect()
    }

    /// Biases `E[g | z] - mu`.
    pub fn biases(&self, mean: &T) -> Vec<T> {
        self.means.iter().map(|found| found.clone() - mean).collect()
    }
}

fn times<T: Number>(a: &[T], b: &[T]) -> Vec<T> {
    a.iter().zip(b).map(|(a, b)| a.clone() * b).collect()
}

fn plus<T: Number>(mut a: Vec<T>, b: &[T]) -> Vec<T> {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

impl<T: Number> Instance<T> {
    /// Moments for one chain with `n` transitions of `kernel`, all visited states averaged: the estimator of JSA, for any kernel.
    ///
    /// The sum `S_m` of the next `m` scores has `E[S_m] = K(s + E[S_{m-1}])` and
    /// `E[S_m^2] = K(s^2 + 2 s E[S_{m-1}] + E[S_{m-1}^2])`.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn sequential(&self, kernel: &Square<T>, n: usize) -> Moments<T> {
        assert!(n > 0, "an average needs a state");
        let zero = vec![T::zero(); self.atoms()];
        let squares = times(&self.s, &self.s);
        let (mut first, mut second, mut diagonal) = (zero.clone(), zero.clone(), zero);
        let (mut later, mut later_squares) = (self.s.clone(), squares.clone());
        for _ in 0..n {
            let crossed: Vec<T> = times(&self.s, &first).into_iter().map(|x| x.clone() + x).collect();
            second = kernel.apply(&plus(plus(second, &squares), &crossed));
            first = kernel.apply(&plus(first, &self.s));
            later = kernel.apply(&later);
            later_squares = kernel.apply(&later_squares);
            for ((diagonal, square), mean) in diagonal.iter_mut().zip(&later_squares).zip(&later) {
                *diagonal += &(square.clone() - mean.clone() * mean);
            }
        }
        let n = T::whole(n);
        let square = n.clone() * &n;
        let variances = (0..self.atoms()).map(|z| {
            let all = second[z].clone() - first[z].clone() * &first[z];
            Parts { covariance: (all - &diagonal[z]) / &square, diagonal: diagonal[z].clone() / &square }
        });
        Moments { variances: variances.collect(), means: first.into_iter().map(|sum| sum / &n).collect() }
    }

    /// Variance of the average of [`sequential`](Self::sequential) if the start is a draw of the target, which `kernel` must
    /// leave invariant:
    ///
    /// ```text
    /// sigma^2 / N + 2/N^2 sum_{i<j} <s - mu, K^(j-i) (s - mu)>_pi
    /// ```
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn sequential_stationary(&self, kernel: &Square<T>, n: usize) -> Parts<T> {
        assert!(n > 0, "an average needs a state");
        let mean = self.mean();
        let centred: Vec<T> = self.s.iter().map(|s| s.clone() - &mean).collect();
        let weighted = times(&self.pi, &centred);
        let mut later = centred;
        let mut pairs = T::zero();
        for lag in 1..n {
            later = kernel.apply(&later);
            pairs += &(dot(&weighted, &later) * T::whole(n - lag));
        }
        let n = T::whole(n);
        let covariance = (pairs.clone() + pairs) / (n.clone() * &n);
        Parts { diagonal: self.variance() / n, covariance }
    }

    /// Moments for `n` independent chains from one common start, one transition of `kernel` each: the estimator of pMCSA, for any
    /// kernel. Given the start there are no covariances.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn parallel(&self, kernel: &Square<T>, n: usize) -> Moments<T> {
        assert!(n > 0, "an average needs a state");
        let part = |variance: T| Parts { diagonal: variance / T::whole(n), covariance: T::zero() };
        let variances = kernel.variances(&self.s).into_iter().map(part).collect();
        Moments { means: kernel.apply(&self.s), variances }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{Rational, rational};

    fn numbers(text: &str) -> Vec<Rational> {
        text.split_whitespace().map(|word| rational(word).unwrap()).collect()
    }

    fn instance(pi: &str, q: &str, s: &str) -> Result<Instance<Rational>, Error> {
        Instance::new(&numbers(pi), &numbers(q), &numbers(s))
    }

    #[test]
    fn errors_name_the_place() {
        let error = |pi, q, s| instance(pi, q, s).unwrap_err().to_string();
        assert_eq!(error("1/2 1/4", "1/2 1/2", "0 1"), "pi: the sum is 0.75, expected 1");
        assert_eq!(error("1/2 1/2", "3/2 -1/2", "0 1"), "q[1] is -0.5, expected not negative");
        assert_eq!(error("1", "1/2 1/2", "0"), "q has length 2, expected 1");
        assert_eq!(error("1/2 1/2", "1/2 1/2", "0"), "s has length 1, expected 2");
        assert!(error("1/2 1/2", "0 1", "0 1").starts_with("q[0] is 0 where pi[0] is 0.5"));
        assert!(error("", "", "").starts_with("pi: no atoms"));
        assert!(Instance::new(&[0.5, f64::NAN], &[0.5, 0.5], &[0.0, 0.0]).is_err());
        assert!(Instance::new(&[0.5, 0.5], &[0.5, 0.5], &[0.0, f64::INFINITY]).is_err());
    }

    /// Values by hand, at pi = (1/2, 1/2), q = (1/4, 3/4).
    #[test]
    fn a_small_case_by_hand() {
        let small = instance("1/2 1/2", "1/4 3/4", "1 -1").unwrap();
        let r = Rational::ratio;
        assert_eq!(small.w(), [r(2, 1), r(2, 3)]);
        assert_eq!((small.rate(), small.mode()), (r(1, 2), 0));
        assert_eq!((small.mean(), small.variance()), (r(0, 1), r(1, 1)));
        assert_eq!(small.pearson(), r(1, 3));
        assert_eq!(small.neyman(), Some(r(1, 4)));
        assert!((small.kl() - 0.5 * (4.0_f64 / 3.0).ln()).abs() < 1e-16);
        let point = instance("1 0", "1/2 1/2", "0 1").unwrap();
        assert_eq!((point.neyman(), point.pearson()), (None, r(1, 1)));
        assert!((point.kl() - 2.0_f64.ln()).abs() < 1e-16);
        let almost = Instance::new(&[1.0, 1e-18], &[0.5, 0.5], &[0.0, 0.0]).unwrap();
        assert!((almost.kl() - 2.0_f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn doubles_that_miss_one_by_rounding_are_divided_by_their_sum() {
        let third = 1.0 / 3.0;
        assert!(Instance::new(&[third; 3], &[0.1, 0.2, 0.7], &[0.0; 3]).is_ok());
        let text = "0.3333333333333333 0.3333333333333333 0.3333333333333333";
        assert_eq!(instance(text, "1/3 1/3 1/3", "1 2 3").unwrap().largest_weight(), Rational::ratio(1, 1));
        assert!(instance("0.333 0.333 0.333", "1/3 1/3 1/3", "1 2 3").is_err());
    }

    /// From the largest weight the bias is `(w* - 1)/N (1 - r^N)` times the start's deviation from the mean.
    #[test]
    fn the_bias_at_the_mode_is_the_closed_form() {
        let (r, instance) = (Rational::ratio, instance("1/2 1/2", "1/4 3/4", "1 -1").unwrap());
        let fixed = instance.sequential(&instance.imh(), 3);
        assert_eq!(fixed.biases(&instance.mean())[0], r(1, 3) * (r(1, 1) - r(1, 8)));
        let parallel = instance.parallel(&instance.imh(), 3);
        assert_eq!(parallel.means[0], r(1, 2));
        assert_eq!(parallel.variances[0].sum(), r(3, 4) / r(3, 1));
        assert_eq!(parallel.second_moments()[0], r(1, 2));
        let kernel = instance.imh();
        assert_eq!(instance.sequential(&kernel, 1), instance.parallel(&kernel, 1));
        assert_ne!(instance.sequential(&kernel, 2), instance.parallel(&kernel, 2));
    }
}
