//! Exact instances: a target, a guide and a statistic on finitely many atoms.

mod cis;
mod imh;
mod moments;

use mcsa_core::{Error, same_length};

pub use cis::{Conditional, SelfNormalised};
pub use moments::{Moments, Parts};

use crate::number::{Number, dot, total};

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
    /// If lengths differ or there is no atom; a probability is negative or NaN; a value of `s` is not finite; a sum differs from 1
    /// by more than 1e-12; or `q` vanishes where `pi` does not. The message names the entry, such as `pi[2]`.
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
    ///
    /// # Panics
    /// If `s` has not one value per atom.
    #[must_use]
    pub fn with_statistic(&self, s: &[T]) -> Self {
        assert_eq!(s.len(), self.len(), "a value per atom");
        Self { s: s.to_vec(), ..self.clone() }
    }

    /// The number of atoms.
    pub fn len(&self) -> usize {
        self.pi.len()
    }

    /// Always false: there is at least one atom.
    pub fn is_empty(&self) -> bool {
        self.pi.is_empty()
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
        self.w.iter().cloned().fold(T::zero(), T::larger)
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

    /// The largest `|s|`.
    pub fn largest_score(&self) -> T {
        self.s.iter().map(num_traits::Signed::abs).fold(T::zero(), T::larger)
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
        // Written so that NaN is refused.
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
    fn refusals_name_the_place() {
        let refused = |pi, q, s| instance(pi, q, s).unwrap_err().to_string();
        assert_eq!(refused("1/2 1/4", "1/2 1/2", "0 1"), "pi: the sum is 0.75, expected 1");
        assert_eq!(refused("1/2 1/2", "3/2 -1/2", "0 1"), "q[1] is -0.5, expected not negative");
        assert_eq!(refused("1", "1/2 1/2", "0"), "q has length 2, expected 1");
        assert_eq!(refused("1/2 1/2", "1/2 1/2", "0"), "s has length 1, expected 2");
        assert!(refused("1/2 1/2", "0 1", "0 1").starts_with("q[0] is 0 where pi[0] is 0.5"));
        assert!(refused("", "", "").starts_with("pi: no atoms"));
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
}
