//! Exact moments of conditional importance sampling and of self-normalised importance sampling.

use super::Instance;
use crate::number::{Number, dot, total};
use crate::square::Square;

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
        let n = self.len();
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
        for (counts, probability) in &self.counts(draws) {
            let masses = self.masses(counts);
            let all = total(masses.iter().cloned());
            if all.is_zero() {
                continue;
            }
            let average = dot(&masses, &self.s) / all;
            means.push(probability.clone() * &average);
            squares.push(probability.clone() * &average * average);
        }
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
    pub(crate) fn counts(&self, draws: usize) -> Vec<(Vec<usize>, T)> {
        let mut all = Vec::new();
        self.add_counts(0, draws, &mut vec![0; self.len()], T::one(), &mut all);
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
        if k + 1 == self.len() {
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
        (1..self.len()).fold(1_usize, |count, k| count.saturating_mul(draws + k) / k)
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
    fn two_candidates_are_barker() {
        let (instance, cis) = (instance(), instance().cis(2));
        assert_eq!(cis.transition, instance.barker());
        assert_eq!(cis.rejections, instance.barker_rejections());
        assert_ne!(instance.cis(3).transition, instance.barker());
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

    /// Rao-Blackwellisation removes exactly the variance of the choice: `V[s(z')] = V[avg] + E[V[s(z') | candidates]]`.
    #[test]
    fn weighting_instead_of_choosing_never_adds_variance() {
        let cis = instance().cis(3);
        for (weighted, selected) in cis.weighted_variances.iter().zip(&cis.selected_variances) {
            assert!(*weighted > r(0, 1) && weighted < selected);
        }
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
