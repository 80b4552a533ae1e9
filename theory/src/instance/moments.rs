//! Exact bias and variance of chain estimators.

use super::Instance;
use crate::number::{Number, dot};
use crate::square::Square;

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
        let zero = vec![T::zero(); self.len()];
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
        let variances = (0..self.len()).map(|z| {
            let all = second[z].clone() - first[z].clone() * &first[z];
            Parts { covariance: (all - &diagonal[z]) / &square, diagonal: diagonal[z].clone() / &square }
        });
        Moments { variances: variances.collect(), means: first.into_iter().map(|sum| sum / &n).collect() }
    }

    /// Variance of this average if the chain starts at the target, which `kernel` must leave invariant:
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
    use crate::number::Rational;

    fn r(a: i64, b: i64) -> Rational {
        Rational::ratio(a, b)
    }

    fn instance() -> Instance<Rational> {
        Instance::new(&[r(1, 2), r(1, 2)], &[r(1, 4), r(3, 4)], &[r(1, 1), r(-1, 1)]).unwrap()
    }

    /// MCMC-SE, eq. 10 leaves out the covariances of conditional means; the exact value is 3/4, not 11/16.
    #[test]
    fn two_stationary_transitions_by_hand() {
        let instance = instance();
        let found = instance.sequential_stationary(&instance.imh(), 2);
        assert_eq!((found.diagonal.clone(), found.sum()), (r(1, 2), r(3, 4)));
    }

    /// Law of total variance, which relates both: `V_pi[g] = E_pi[V[g | z]] + V_pi[E[g | z]]`.
    #[test]
    fn starting_at_the_target_mixes_the_fixed_starts() {
        let instance = instance();
        for kernel in [instance.imh(), instance.cis(3).transition] {
            for n in 1..5 {
                let fixed = instance.sequential(&kernel, n);
                let inner: Vec<_> = fixed.variances.iter().map(Parts::sum).collect();
                let outer = instance.with_statistic(&fixed.means);
                let joined = dot(instance.pi(), &inner) + outer.variance();
                assert_eq!(instance.sequential_stationary(&kernel, n).sum(), joined);
                assert_eq!(dot(instance.pi(), &fixed.second_moments()), joined + instance.mean().power(2));
            }
        }
    }

    /// From the largest weight the bias is `(w* - 1)/N (1 - r^N)` times the start's deviation from the mean.
    #[test]
    fn the_bias_at_the_mode_is_the_closed_form() {
        let instance = instance();
        let fixed = instance.sequential(&instance.imh(), 3);
        assert_eq!(fixed.biases(&instance.mean())[0], r(1, 3) * (r(1, 1) - r(1, 8)));
        let parallel = instance.parallel(&instance.imh(), 3);
        assert_eq!(parallel.means[0], r(1, 2));
        assert_eq!(parallel.variances[0].sum(), r(3, 4) / r(3, 1));
        assert_eq!(parallel.second_moments()[0], r(1, 2));
    }

    #[test]
    fn one_state_is_one_state() {
        let instance = instance();
        let kernel = instance.imh();
        assert_eq!(instance.sequential(&kernel, 1), instance.parallel(&kernel, 1));
        assert_ne!(instance.sequential(&kernel, 2), instance.parallel(&kernel, 2));
    }
}
