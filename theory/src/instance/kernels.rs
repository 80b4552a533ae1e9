//! Exact transition matrices and moments of independent Metropolis-Hastings, Barker's rule, conditional and self-normalised
//! importance sampling.

use super::Instance;
use crate::number::{Number, dot, total};
use crate::square::Square;

impl<T: Number> Instance<T> {
    /// Independent Metropolis-Hastings: `K(z, y) = q(y) min(1, w(y) / w(z))` for `y != z` (pMCSA, Alg. 3).
    ///
    /// From an atom of weight 0, a proposal is accepted if and only if its weight is positive, as in the production kernel.
    pub fn imh(&self) -> Square<T> {
        Square::staying(self.atoms(), |z, y| self.q[y].clone() * self.accepts(z, y))
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
        self.rejection_between(v, v)
    }

    /// Rejection probability at the weight `v`, if no atom has a weight between `below` and `v`; a sum of non-negative terms.
    fn rejection_between(&self, below: &T, v: &T) -> T {
        let smaller = self.w.iter().zip(&self.q).filter(|(w, _)| *w <= below);
        total(
            smaller
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
            let (low, high) = (self.rejection_at(&from), self.rejection_between(&from, &to));
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
        Square::staying(self.atoms(), |z, y| self.q[y].clone() * self.barker_accepts(z, y))
    }

    fn barker_accepts(&self, z: usize, y: usize) -> T {
        let (from, to) = (&self.w[z], &self.w[y]);
        if to.is_zero() { T::zero() } else { to.clone() / (from.clone() + to) }
    }

    /// Probability that Barker's rule keeps the retained point, from each atom.
    pub fn barker_rejections(&self) -> Vec<T> {
        let rejected =
            |z| total((0..self.atoms()).map(|y| self.q[y].clone() * (T::one() - self.barker_accepts(z, y))));
        (0..self.atoms()).map(rejected).collect()
    }
}

/// One step of conditional importance sampling, from each retained atom (MSC, Alg. 2):
///
/// ```text
/// z_1 = z,   z_2, .., z_N ~ q,   z' = z_k  with  P(k) = w_k / sum_j w_j
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Conditional<T> {
    /// Transition matrix.
    pub transition: Square<T>,
    /// Probability that the retained point is selected.
    pub rejections: Vec<T>,
    /// Mean of the weighted average `sum_k w_k s_k / sum_j w_j`, which equals the mean of `s(z')`.
    pub means: Vec<T>,
    /// Variance of the weighted average (the Rao-Blackwellised estimator).
    pub weighted_variances: Vec<T>,
    /// Variance of `s(z')`, the selected candidate's statistic.
    pub selected_variances: Vec<T>,
}

/// Moments of self-normalised importance sampling, `sum_k w_k s_k / sum_j w_j` over independent draws of the guide.
#[derive(Debug, Clone, PartialEq)]
pub struct SelfNormalised<T> {
    /// The mean.
    pub mean: T,
    /// The variance.
    pub variance: T,
}

impl<T: Number> Instance<T> {
    /// Conditional importance sampling with `candidates` points in all, the retained one included, summed over
    /// all vectors of counts of fresh points. If no candidate has weight, the retained point stays.
    ///
    /// # Panics
    /// If `candidates` is 0.
    pub fn cis(&self, candidates: usize) -> Conditional<T> {
        assert!(candidates > 0, "the retained point is a candidate");
        let n = self.atoms();
        let draws = self.counts(candidates - 1);
        let (mut rows, mut rejections) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let mut weighted_variances = Vec::with_capacity(n);
        for z in 0..n {
            let mut moves: Vec<Vec<T>> = vec![Vec::with_capacity(draws.len()); n];
            let (mut stays, mut averages) =
                (Vec::with_capacity(draws.len()), Vec::with_capacity(draws.len()));
            // Differences to the retained value, so that doubles keep small values accurate.
            let here: Vec<T> = self.s.iter().map(|s| s.clone() - &self.s[z]).collect();
            for (counts, probability) in &draws {
                let mut masses = self.masses(counts);
                let fresh = total(masses.iter().cloned());
                let all = fresh + &self.w[z];
                if all.is_zero() {
                    stays.push(probability.clone());
                    moves[z].push(probability.clone());
                    averages.push((probability.clone(), T::zero()));
                    continue;
                }
                let share = probability.clone() / &all;
                stays.push(share.clone() * &self.w[z]);
                masses[z] += &self.w[z];
                averages.push((probability.clone(), dot(&masses, &here) / &all));
                for (moves, mass) in moves.iter_mut().zip(&masses).filter(|(_, mass)| !mass.is_zero()) {
                    moves.push(share.clone() * mass);
                }
            }
            let row: Vec<T> = moves.into_iter().map(total).collect();
            let mean = dot(&row, &here);
            let centre = mean.near();
            let squares = total(averages.into_iter().map(|(probability, average)| {
                let excess = average - &centre;
                probability * &excess * excess
            }));
            let off = mean - centre;
            weighted_variances.push(squares - off.clone() * off);
            rejections.push(total(stays));
            rows.push(row);
        }
        let transition = Square::from_fn(n, |z, y| rows[z][y].clone());
        let means = transition.apply(&self.s);
        let selected_variances = transition.variances(&self.s);
        Conditional { transition, rejections, means, weighted_variances, selected_variances }
    }

    /// Self-normalised importance sampling with `draws` points. If no draw has weight the average is 0, as in the
    /// production estimator.
    pub fn snis(&self, draws: usize) -> SelfNormalised<T> {
        let (mut means, mut squares) = (Vec::new(), Vec::new());
        self.for_fresh(draws, |probability, weight, sum| {
            if !weight.is_zero() {
                let average = sum / weight;
                means.push(probability.clone() * &average);
                squares.push(probability * &average * average);
            }
        });
        let mean = total(means);
        SelfNormalised { variance: total(squares) - mean.clone() * &mean, mean }
    }

    /// Convergence rate `1 - (N - 1) / (2 w* + N - 2)` of conditional importance sampling with `N` candidates
    /// (MSC, by the minorisation of its kernel).
    ///
    /// # Panics
    /// If `candidates` is 0.
    pub fn cis_rate(&self, candidates: usize) -> T {
        let fresh = T::whole(candidates.checked_sub(1).expect("the retained point is a candidate"));
        let largest = self.largest_weight();
        T::one() - fresh.clone() / (largest.clone() + largest + fresh - T::one())
    }

    /// Calls `take` for every vector of counts of `fresh` points, with its probability, the sum of weights, and that of weights
    /// times `s`.
    pub(crate) fn for_fresh(&self, fresh: usize, mut take: impl FnMut(T, T, T)) {
        for (counts, probability) in self.counts(fresh) {
            let masses = self.masses(&counts);
            take(probability, total(masses.iter().cloned()), dot(&masses, &self.s));
        }
    }

    /// Total weight `c_y w_y` of each atom.
    fn masses(&self, counts: &[usize]) -> Vec<T> {
        counts.iter().zip(&self.w).map(|(&count, w)| T::whole(count) * w).collect()
    }

    /// Every vector of counts of `draws` points of the guide, with its multinomial probability.
    fn counts(&self, draws: usize) -> Vec<(Vec<usize>, T)> {
        let mut all = Vec::new();
        self.add_counts(0, draws, &mut vec![0; self.atoms()], T::one(), &mut all);
        all
    }

    fn add_counts(
        &self,
        k: usize,
        left: usize,
        counts: &mut Vec<usize>,
        p: T,
        all: &mut Vec<(Vec<usize>, T)>,
    ) {
        if k + 1 == self.atoms() {
            counts[k] = left;
            let probability = p * self.q[k].power(left);
            if !probability.is_zero() {
                all.push((counts.clone(), probability));
            }
            return;
        }
        let mut share = p;
        for count in 0..=left {
            counts[k] = count;
            self.add_counts(k + 1, left - count, counts, share.clone(), all);
            share = share * &self.q[k] * T::whole(left - count) / T::whole(count + 1);
        }
    }

    /// Number of vectors of counts for `draws` points: the cost of [`Instance::cis`] with `draws + 1` candidates. Saturates.
    pub fn count_vectors(&self, draws: usize) -> usize {
        (1..self.atoms()).fold(1_usize, |count, k| count.saturating_mul(draws + k) / k)
    }
}

impl<T: Number> Square<T> {
    /// Variance of `f` after a step, from each start.
    pub fn variances(&self, f: &[T]) -> Vec<T> {
        let about = |(row, mean): (&Vec<T>, T)| {
            let centre = mean.near();
            let squares = f.iter().map(|f| f.clone() - &centre).map(|excess| excess.clone() * excess);
            let off = mean - &centre;
            dot(row, &squares.collect::<Vec<_>>()) - off.clone() * off
        };
        self.rows().iter().zip(self.apply(f)).map(about).collect()
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
        let pi = [r(1, 10), r(0, 1), r(4, 10), r(1, 2)];
        let q = [r(3, 10), r(1, 5), r(1, 10), r(4, 10)];
        Instance::new(&pi, &q, &[r(1, 1), r(2, 1), r(-1, 1), r(3, 1)]).unwrap()
    }

    #[test]
    fn t_n_is_infinite_at_weight_zero() {
        let instance = instance();
        assert_eq!(instance.t_n(1, &r(0, 1)), None);
        assert_eq!(instance.t_n(2, &r(0, 1)), None);
        assert!(instance.t_n(2, &r(1, 9)).is_some());
        assert_eq!(instance.rejection_at(&r(0, 1)), r(1, 5));
    }

    #[test]
    fn the_target_is_kept_exactly() {
        for candidates in 1..6 {
            let cis = instance().cis(candidates);
            assert_eq!(cis.transition.push(instance().pi()), instance().pi());
            let total = total(cis.transition.row(0).iter().cloned());
            assert_eq!(total, r(1, 1));
        }
        assert_eq!(instance().cis(1).transition, Square::identity(4));
    }

    #[test]
    fn one_draw_of_snis_is_the_guide_without_what_has_no_weight() {
        let found = instance().snis(1);
        assert_eq!(found.mean, r(3, 10) - r(1, 10) + r(12, 10));
        let same = Instance::new(&[r(1, 2), r(1, 2)], &[r(1, 2), r(1, 2)], &[r(1, 1), r(-1, 1)]).unwrap();
        assert_eq!(same.snis(4), SelfNormalised { mean: r(0, 1), variance: r(1, 4) });
        assert_eq!((same.count_vectors(4), instance().count_vectors(9)), (5, 220));
    }
}
