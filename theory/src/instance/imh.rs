//! Exact transition matrices of independent Metropolis-Hastings and Barker's rule.

use super::Instance;
use crate::number::{Number, total};
use crate::square::Square;

impl<T: Number> Instance<T> {
    /// Independent Metropolis-Hastings: `K(z, y) = q(y) min(1, w(y) / w(z))` for `y != z` (pMCSA, Alg. 1).
    ///
    /// From an atom of weight 0, a proposal is accepted if and only if its weight is positive, as in the production kernel.
    pub fn imh(&self) -> Square<T> {
        Square::staying(self.len(), |z, y| self.q[y].clone() * self.accepts(z, y))
    }

    /// Acceptance probability of Metropolis's rule for the move from `z` to `y`.
    fn accepts(&self, z: usize, y: usize) -> T {
        let (from, to) = (&self.w[z], &self.w[y]);
        if to.is_zero() {
            T::zero()
        } else if to >= from {
            T::one()
        } else {
            to.clone() / from
        }
    }

    /// Rejection probability from each atom, `lambda(w(z)) = E_q[1 - min(1, w' / w(z))]`.
    /// A proposal equal to the current atom counts as accepted, so this is at most `K(z, z)`.
    pub fn imh_rejections(&self) -> Vec<T> {
        self.w.iter().map(|w| self.rejection_at(w)).collect()
    }

    /// Rejection probability `lambda(v) = E_q[(1 - w'/v) 1(w' <= v)]` at any weight `v`, not only at those of atoms; `lambda(0)` is
    /// the probability of proposals without weight.
    ///
    /// Unlike the paper, the integral is over q: pMCSA, eq. 6 prints the target.
    pub fn rejection_at(&self, v: &T) -> T {
        total(
            self.w
                .iter()
                .zip(&self.q)
                .filter(|(w, _)| *w <= v)
                .map(|(w, q)| if w.is_zero() { q.clone() } else { q.clone() * (T::one() - w.clone() / v) }),
        )
    }

    /// Smith and Tierney's `T_n(v) = int_v^oo n u^-2 lambda(u)^(n-1) du`, with which
    ///
    /// ```text
    /// K^n(z, .) = T_n(max(w, w(z))) pi + lambda(w(z))^n delta_z       (pMCSA, eq. 5)
    /// ```
    /// Between two successive weights of atoms `lambda(u) = Q - P/u`, with `Q` and `P` the q- and pi-mass of the smaller weights,
    /// and each piece integrates to `[lambda^n] / P`. None where the integral is infinite: at `v = 0`, if `n` is 1 or
    /// proposals without weight exist.
    ///
    /// Numerics: `P` may vanish, so the quotient is `(1/a - 1/b) sum_{j < n} lambda(b)^j lambda(a)^(n-1-j)`.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn t_n(&self, n: usize, v: &T) -> Option<T> {
        assert!(n > 0, "T_n counts steps from 1");
        let mut knots: Vec<T> = self.w.iter().filter(|w| *w > v).cloned().collect();
        knots.sort_by(|a, b| a.partial_cmp(b).expect("weights are numbers"));
        knots.dedup();
        let mut pieces = Vec::with_capacity(knots.len() + 1);
        let mut from = v.clone();
        for to in knots {
            // Rejection probability between the knots, as a sum of non-negative terms.
            let lambda = |u: &T| {
                let smaller = self.w.iter().zip(&self.q).filter(|(w, _)| **w <= from);
                let each = |(w, q): (&T, &T)| {
                    if w.is_zero() { q.clone() } else { q.clone() * (T::one() - w.clone() / u) }
                };
                total(smaller.map(each))
            };
            let (low, high) = (lambda(&from), lambda(&to));
            let height = total((0..n).map(|j| high.power(j) * low.power(n - 1 - j)));
            let piece = if height.is_zero() {
                T::zero()
            } else if from.is_zero() {
                return None;
            } else {
                height * (T::one() / &from - T::one() / &to)
            };
            pieces.push(piece);
            from = to;
        }
        // Above every weight lambda(u) = 1 - 1/u.
        pieces.push(T::one() - (T::one() - T::one() / &from).power(n));
        Some(total(pieces))
    }

    /// Barker's rule: `K(z, y) = q(y) w(y) / (w(z) + w(y))` for `y != z`; equals conditional importance sampling with two
    /// candidates.
    pub fn barker(&self) -> Square<T> {
        Square::staying(self.len(), |z, y| self.q[y].clone() * self.barker_accepts(z, y))
    }

    fn barker_accepts(&self, z: usize, y: usize) -> T {
        let (from, to) = (&self.w[z], &self.w[y]);
        if to.is_zero() { T::zero() } else { to.clone() / (from.clone() + to) }
    }

    /// Probability that Barker's rule keeps the retained point, from each atom.
    pub fn barker_rejections(&self) -> Vec<T> {
        let rejected =
            |z| total((0..self.len()).map(|y| self.q[y].clone() * (T::one() - self.barker_accepts(z, y))));
        (0..self.len()).map(rejected).collect()
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
        let pi = [r(1, 10), r(0, 1), r(4, 10), r(3, 10), r(2, 10)];
        let q = [r(3, 10), r(1, 10), r(1, 10), r(3, 10), r(2, 10)];
        Instance::new(&pi, &q, &[r(1, 1), r(2, 1), r(-1, 1), r(0, 1), r(3, 1)]).unwrap()
    }

    /// pMCSA, eq. 5, entry by entry and without rounding.
    #[test]
    fn powers_are_the_closed_form() {
        let instance = instance();
        let kernel = instance.imh();
        for n in 1..6 {
            let power = kernel.power(n);
            for (z, stays) in instance.imh_rejections().iter().enumerate() {
                for y in 0..instance.len() {
                    let v = instance.w()[z].clone().larger(instance.w()[y].clone());
                    let pi = &instance.pi()[y];
                    let mut closed = if pi == &r(0, 1) { r(0, 1) } else { instance.t_n(n, &v).unwrap() * pi };
                    if z == y {
                        closed += stays.power(n);
                    }
                    assert_eq!(power.row(z)[y], closed, "n = {n}, from {z} to {y}");
                }
            }
        }
    }

    /// Counter-check: with the rejection integrated over the target, as printed in pMCSA, eq. 6, the value differs.
    #[test]
    fn the_rejection_is_over_the_guide() {
        let small = Instance::new(&[r(1, 2), r(1, 2)], &[r(1, 4), r(3, 4)], &[r(0, 1), r(0, 1)]).unwrap();
        assert_eq!(small.imh_rejections(), [r(1, 2), r(0, 1)]);
        let over_target = r(1, 2) * (r(1, 1) - r(2, 3) / r(2, 1));
        assert_eq!(over_target, r(1, 3));
        assert_eq!(small.rejection_at(&r(4, 1)), r(3, 4));
        assert_eq!(small.t_n(2, &r(2, 1)), Some(r(3, 4)));
    }

    #[test]
    fn t_n_is_infinite_at_weight_zero() {
        let instance = instance();
        assert_eq!(instance.t_n(1, &r(0, 1)), None);
        assert_eq!(instance.t_n(2, &r(0, 1)), None);
        assert!(instance.t_n(2, &r(1, 9)).is_some());
        assert_eq!(instance.rejection_at(&r(0, 1)), r(1, 10));
    }
}
