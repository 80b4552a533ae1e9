//! Resampling schemes: lookup of particles by cumulated weights.

use mcsa_core::Stream;
use serde::{Deserialize, Serialize};

/// Resampling scheme: the distribution of the numbers `n_i` of descendants of `S` particles with normalised weights `W_i`.
/// Both schemes are unbiased, `E[n_i] = S W_i`, and so are their estimates of the evidence; they differ in the spread of
/// `n_i`.
///
/// In conditional SMC one ancestor, that of the retained path, is given. The other ancestors must be drawn from the
/// scheme's distribution *given that one*, as if slots had been shuffled: an outcome has weight proportional to `n_r`, the
/// retained particle's number of descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resampling {
    /// Independent draws (MSC, Alg. 4).
    Multinomial,
    /// One uniform point, repeated in all `S` strata of equal length (Carpenter, Clifford & Fearnhead 1999).
    #[default]
    Systematic,
}

impl Resampling {
    /// Both schemes.
    pub const ALL: [Self; 2] = [Self::Multinomial, Self::Systematic];

    /// Draws the ancestor of each of `S` new particles from weights of any scale. The order in which descendants fill the
    /// slots depends on the scheme. `ends` is lent memory for `S` numbers.
    ///
    /// With a `retained` particle, the draw is conditional on the last slot descending from it.
    ///
    /// ```text
    /// multinomial   the other slots are independent draws
    /// systematic    a uniform point of the retained particle's piece fixes the shift, and all other points (Chopin & Singh 2015)
    /// ```
    ///
    /// A systematic scheme depends on the order of the particles, and a retained path that is always last would be
    /// distinguished by its place. So the new slots are rotated, not sorted, until the retained slot is last.
    ///
    /// # Panics
    /// If the lengths differ, all weights vanish, or the retained particle has no weight.
    pub fn ancestors_into(
        self,
        stream: &mut Stream,
        weights: &[f64],
        retained: Option<usize>,
        ancestors: &mut [usize],
        ends: &mut [f64],
    ) {
        let count = weights.len();
        assert_eq!((ancestors.len(), ends.len()), (count, count), "an ancestor per particle");
        ends.copy_from_slice(weights);
        let pieces = Pieces::of(ends);
        assert!(retained.map_or(pieces.total, |retained| weights[retained]) > 0.0, "an ancestor has weight");
        let unit = pieces.total / count as f64;
        let shifts = || pieces.ends.iter().map(|end| (end / unit).fract());
        match (self, retained) {
            (Self::Multinomial, None) => pieces.draw_all(stream, ancestors),
            (Self::Multinomial, Some(_)) => pieces.draw_all(stream, &mut ancestors[..count - 1]),
            (Self::Systematic, None) => {
                let u = stream.uniform_between(shifts());
                pieces.comb(unit, count - 1, u, ancestors);
            }
            (Self::Systematic, Some(retained)) => {
                let (start, weight) = (pieces.start(retained), weights[retained]);
                let cuts = (0..=count).flat_map(|k| {
                    let shifts = shifts().chain([0.0]);
                    shifts.map(move |shift| ((k as f64 + shift) * unit - start) / weight)
                });
                let scale = count as f64 / pieces.total;
                let point = (start + weight * stream.uniform_between(cuts)) * scale;
                let slot = (point as usize).min(count - 1);
                pieces.comb(unit, slot, point - slot as f64, ancestors);
            }
        }
        if let Some(retained) = retained {
            // Rounding may have left the retained particle out.
            ancestors[count - 1] = retained;
        }
    }
}

/// Cumulated weights: a line cut into pieces, one per particle and as long as the particle's weight.
struct Pieces<'w> {
    /// End of each piece, without the last piece of positive length: a point rounded past the total then still finds that
    /// particle.
    ends: &'w [f64],
    total: f64,
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
    fn of(weights: &'w mut [f64]) -> Self {
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
    fn find(&self, point: f64) -> usize {
        if self.ends.len() > FEW {
            return self.ends.partition_point(|&end| end <= point);
        }
        self.ends.iter().map(|&end| u64::from(end <= point)).sum::<u64>() as usize
    }

    /// Draws a particle with probability proportional to its weight.
    #[inline]
    fn draw(&self, stream: &mut Stream) -> usize {
        self.find(self.total * stream.uniform_between(self.ends.iter().map(|end| end / self.total)))
    }

    fn draw_all(&self, stream: &mut Stream, ancestors: &mut [usize]) {
        ancestors.iter_mut().for_each(|ancestor| *ancestor = self.draw(stream));
    }

    /// Start of a particle's piece.
    fn start(&self, particle: usize) -> f64 {
        if particle == 0 { 0.0 } else { self.ends[particle - 1] }
    }

    /// Systematic lookup: the particles at the points `(k + u) * unit`, `k = 0, 1, ..`, rotated so that the particle of
    /// point `slot` comes last.
    fn comb(&self, unit: f64, slot: usize, u: f64, ancestors: &mut [usize]) {
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
pub(crate) fn choose(stream: &mut Stream, weights: &mut [f64]) -> usize {
    Pieces::of(weights).draw(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
