//! Inverse-CDF lookup of particles by cumulated weights.

use mcsa_core::Stream;

/// Cumulated weights: a line cut into pieces, one per particle and as long as the particle's weight.
pub(super) struct Pieces<'w> {
    /// End of each piece, without the last piece of positive length: a point rounded past the total then still finds that
    /// particle.
    pub(super) ends: &'w [f64],
    pub(super) total: f64,
}

/// Up to this number of ends a linear count is faster than a binary search.
const FEW: usize = 32;

impl<'w> Pieces<'w> {
    /// Replaces weights by ends of pieces. A particle of weight zero has no piece.
    ///
    /// ```text
    /// E, E + a, E + (a + b), E + ((a + b) + c), E + ((a + b) + (c + d)), ..
    /// ```
    /// Four terms at a time, because a serial chain of sums is most of the cost of few particles.
    pub(super) fn of(weights: &'w mut [f64]) -> Self {
        let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
        let mut total = 0.0;
        let (fours, rest) = weights.as_chunks_mut::<4>();
        for four in fours {
            let [a, b, c, d] = *four;
            let pair = a + b;
            *four = [total + a, total + pair, total + (pair + c), total + (pair + (c + d))];
            total = four[3];
        }
        let (pairs, odd) = rest.as_chunks_mut::<2>();
        for pair in pairs {
            let [a, b] = *pair;
            *pair = [total + a, total + (a + b)];
            total = pair[1];
        }
        for weight in odd {
            total += *weight;
            *weight = total;
        }
        Self { ends: &weights[..last], total }
    }

    /// The particle whose piece contains `point`. Among few particles no branch depends on a weight.
    #[inline]
    pub(super) fn find(&self, point: f64) -> usize {
        if self.ends.len() > FEW {
            return self.ends.partition_point(|&end| end <= point);
        }
        self.ends.iter().map(|&end| u64::from(end <= point)).sum::<u64>() as usize
    }

    /// Draws a particle with probability proportional to its weight.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> usize {
        self.find(self.total * stream.uniform_between(self.ends.iter().map(|end| end / self.total)))
    }

    pub(super) fn draw_all(&self, stream: &mut Stream, ancestors: &mut [usize]) {
        ancestors.iter_mut().for_each(|ancestor| *ancestor = self.draw(stream));
    }

    /// Start of a particle's piece.
    pub(super) fn start(&self, particle: usize) -> f64 {
        if particle == 0 { 0.0 } else { self.ends[particle - 1] }
    }

    /// Stratified lookup: for each `k`, the particle at a uniform point of the stratum from `k * unit` to `(k + 1) * unit`.
    /// Stratum `without` is skipped.
    pub(super) fn strata(
        &self,
        stream: &mut Stream,
        unit: f64,
        ancestors: &mut [usize],
        without: Option<usize>,
    ) {
        let mut particle = 0;
        for (k, ancestor) in ancestors.iter_mut().enumerate() {
            if without == Some(k) {
                continue;
            }
            let u = stream.uniform_between(self.ends.iter().map(|end| end / unit - k as f64));
            let point = (k as f64 + u) * unit;
            if self.ends.len() > FEW {
                particle += self.ends[particle..].iter().take_while(|&&end| end <= point).count();
            } else {
                particle = self.find(point);
            }
            *ancestor = particle;
        }
    }

    /// Systematic lookup: the particles at the points `(k + u) * unit`, `k = 0, 1, ..`, rotated so that the particle of
    /// point `slot` comes last.
    pub(super) fn comb(&self, unit: f64, slot: usize, u: f64, ancestors: &mut [usize]) {
        let count = ancestors.len();
        if self.ends.len() > FEW {
            self.long_comb(unit, u, ancestors);
            return ancestors.rotate_right(count - 1 - slot);
        }
        let mut place = count - 1 - slot;
        for k in 0..count as u32 {
            ancestors[place] = self.find((f64::from(k) + u) * unit);
            place = if place + 1 < count { place + 1 } else { 0 };
        }
    }

    /// Systematic lookup for many particles, in order and without a search: particle `i` ends before point `k` if
    /// `k >= end_i - u`, so the ancestor of `k` is the particle after the last one that ends before it.
    fn long_comb(&self, unit: f64, u: f64, ancestors: &mut [usize]) {
        let (count, scale) = (ancestors.len(), unit.recip());
        ancestors.fill(0);
        for (end, next) in self.ends.iter().zip(1..) {
            let point = (end * scale - u + 1.0) as usize;
            // No point lies behind this end.
            if point < count {
                ancestors[point] = next;
            }
        }
        let mut particle = 0;
        for ancestor in ancestors {
            particle = particle.max(*ancestor);
            *ancestor = particle;
        }
    }
}

/// Draws one index with probability proportional to `weights`, which are overwritten.
pub(super) fn choose(stream: &mut Stream, weights: &mut [f64]) -> usize {
    Pieces::of(weights).draw(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;
    use proptest::prelude::*;

    fn some_weights() -> impl Strategy<Value = Vec<f64>> {
        let weight = prop_oneof![3 => 1e-3..1.0f64, 1 => Just(0.0), 1 => 1e-12..1e-9f64];
        proptest::collection::vec(weight, 1..80).prop_filter("some weight", |w| w.iter().any(|&w| w > 0.0))
    }

    proptest! {
        /// Ends are cumulated weights in ascending order; a particle without weight is found at no point.
        #[test]
        fn pieces_are_as_long_as_weights(weights in some_weights(), u in 0.0..=1.0f64) {
            let mut ends = weights.clone();
            let pieces = Pieces::of(&mut ends);
            let last = weights.iter().rposition(|&w| w > 0.0).unwrap();
            prop_assert_eq!(pieces.ends.len(), last);
            prop_assert!(pieces.ends.is_sorted());
            let mut sum = 0.0;
            for (end, weight) in pieces.ends.iter().chain([&pieces.total]).zip(&weights) {
                sum += weight;
                prop_assert!((end - sum).abs() <= 1e-14 * sum);
            }
            let found = pieces.find(u * pieces.total);
            prop_assert!(weights[found] > 0.0);
            prop_assert_eq!(found, pieces.ends.partition_point(|&end| end <= u * pieces.total));
        }

        /// The count for few particles and the search for many agree at points that are near no end.
        #[test]
        fn both_combs_pick_alike(weights in some_weights(), u in 0.0..1.0f64, slot in 0..80_usize) {
            let (mut ends, count) = (weights.clone(), weights.len());
            let pieces = Pieces::of(&mut ends);
            let (unit, slot) = (pieces.total / count as f64, slot % count);
            let off = |end: &f64| (end / unit - u - (end / unit - u).round()).abs();
            prop_assume!(pieces.ends.iter().all(|end| off(end) > 1e-9));
            let (mut short, mut long) = (vec![0; count], vec![0; count]);
            pieces.comb(unit, slot, u, &mut short);
            pieces.long_comb(unit, u, &mut long);
            prop_assert_eq!(&long, &(0..count).map(|k| pieces.find((k as f64 + u) * unit)).collect::<Vec<_>>());
            long.rotate_right(count - 1 - slot);
            prop_assert_eq!(short, long);
        }
    }

    /// For few and many particles, each stratum's point comes from its own draw, and the skipped stratum draws nothing.
    #[test]
    fn strata_are_searched_alike() {
        for count in [1, 5, 33, 60] {
            let mut ends: Vec<f64> = (0..count).map(|k| 1.0 + ((k * 7) % 5) as f64).collect();
            let (pieces, without) = (Pieces::of(&mut ends), count / 2);
            let unit = pieces.total / count as f64;
            let [mut ours, mut theirs] = [0, 0].map(|lane| Seed::new(4).stream(lane, 0));
            let mut found = vec![usize::MAX; count];
            pieces.strata(&mut ours, unit, &mut found, Some(without));
            for (k, found) in found.into_iter().enumerate() {
                if k == without {
                    assert_eq!(found, usize::MAX);
                    continue;
                }
                let point = (k as f64 + theirs.uniform()) * unit;
                assert_eq!(found, pieces.ends.partition_point(|&end| end <= point), "{count} {k}");
            }
        }
    }

    /// Shares of 40,000 draws within 5 standard errors: false alarm 3e-6.
    #[test]
    fn draws_have_their_probabilities() {
        let (weights, n) = ([1.0, 0.0, 4.0, 2.0, 3.0], 40_000);
        let (mut hits, mut stream) = ([0.0; 5], Seed::new(1).stream(0, 0));
        (0..n).for_each(|_| hits[choose(&mut stream, &mut weights.clone())] += 1.0);
        for (hits, weight) in hits.iter().zip(weights) {
            let share = weight / 10.0;
            let error = (share * (1.0 - share) / f64::from(n)).sqrt();
            assert!((hits / f64::from(n) - share).abs() <= 5.0 * error);
        }
    }
}
