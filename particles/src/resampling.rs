//! Resampling schemes: lookup of particles by cumulated weights, and unbiased rounding of expected numbers.

use mcsa_core::Stream;
use serde::{Deserialize, Serialize};

/// Resampling scheme: the distribution of the numbers `n_i` of descendants of `S` particles with normalised weights `W_i`.
/// All schemes are unbiased, `E[n_i] = S W_i`, and so are their estimates of the evidence; they differ in the spread of
/// `n_i`.
///
/// In conditional SMC one ancestor, that of the retained path, is given. The other ancestors must be drawn from the
/// scheme's distribution *given that one*, as if slots had been shuffled: an outcome has weight proportional to `n_r`, the
/// retained particle's number of descendants. For multinomial resampling the others are simply independent; for the other
/// schemes see [`ancestors_given_into`](Self::ancestors_given_into).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resampling {
    /// Independent draws (MSC, Alg. 4).
    Multinomial,
    /// `floor(S W_i)` descendants for certain, the remainder by independent draws (Liu & Chen 1998).
    Residual,
    /// One uniform point in each of `S` equal strata (Kitagawa 1996).
    Stratified,
    /// One uniform point, repeated in all `S` strata (Carpenter, Clifford & Fearnhead 1999).
    #[default]
    Systematic,
    /// Srinivasan sampling process: `n_i` is `S W_i` rounded down or up, decided pair by pair (Gerber, Chopin & Whiteley 2019).
    Ssp,
}

impl Resampling {
    /// Every scheme.
    pub const ALL: [Self; 5] =
        [Self::Multinomial, Self::Residual, Self::Stratified, Self::Systematic, Self::Ssp];

    /// Draws the ancestor of each of `S` new particles from weights of any scale. The order in which descendants fill the
    /// slots depends on the scheme. `ends` is lent memory for `S` numbers.
    ///
    /// # Panics
    /// If the lengths differ, or all weights vanish.
    pub fn ancestors_into(
        self,
        stream: &mut Stream,
        weights: &[f64],
        ancestors: &mut [usize],
        ends: &mut [f64],
    ) {
        let count = weights.len();
        assert_eq!((ancestors.len(), ends.len()), (count, count), "an ancestor per particle");
        ends.copy_from_slice(weights);
        let pieces = Pieces::of(ends);
        assert!(pieces.total > 0.0, "a particle has weight");
        let (unit, scale) = (pieces.total / count as f64, count as f64 / pieces.total);
        match self {
            Self::Multinomial => pieces.draw_all(stream, ancestors),
            Self::Residual => {
                let scale = upwards(scale, count);
                let settled = certain(weights, scale, ancestors);
                remainders(weights, scale, ends).draw_all(stream, &mut ancestors[settled..]);
            }
            Self::Stratified => pieces.strata(stream, unit, ancestors, None),
            Self::Systematic => {
                let u = stream.uniform_between(pieces.ends.iter().map(|end| (end / unit).fract()));
                pieces.comb(unit, count - 1, u, ancestors);
            }
            Self::Ssp => {
                let numbers = || weights.iter().map(|weight| weight * scale);
                settle(stream, numbers(), None, ends);
                multiply(numbers(), ends, ancestors);
            }
        }
    }

    /// Draws ancestors as [`ancestors_into`](Self::ancestors_into), conditional on the last slot descending from `retained`.
    ///
    /// ```text
    /// multinomial   the other slots are independent draws
    /// residual      that slot was a certain one with probability floor(S W_r) / (S W_r), else one of the draws
    /// stratified    that slot's stratum contains a uniform point of the retained particle's piece; other strata are unchanged
    /// systematic    such a point fixes the shift, and with it all other points (Chopin & Singh 2015)
    /// SSP           each decision about the retained particle is tilted by the mean of n_r that it leads to
    /// ```
    ///
    /// The last three schemes depend on the order of the particles, and a retained path that is always last would be
    /// distinguished by its place. Stratified and SSP resampling therefore start at a particle drawn uniformly and go round
    /// cyclically, which would change nothing for a systematic shift; and the new slots are rotated, not sorted, until the
    /// retained one is last.
    ///
    /// # Panics
    /// As [`ancestors_into`](Self::ancestors_into), or if the retained particle has no weight.
    pub fn ancestors_given_into(
        self,
        stream: &mut Stream,
        weights: &[f64],
        retained: usize,
        ancestors: &mut [usize],
        ends: &mut [f64],
    ) {
        let count = weights.len();
        assert_eq!((ancestors.len(), ends.len()), (count, count), "an ancestor per particle");
        assert!(weights[retained] > 0.0, "the retained particle has weight");
        ends.copy_from_slice(weights);
        let pieces = Pieces::of(ends);
        let (unit, scale) = (pieces.total / count as f64, count as f64 / pieces.total);
        match self {
            Self::Multinomial => pieces.draw_all(stream, &mut ancestors[..count - 1]),
            Self::Residual => {
                let scale = upwards(scale, count);
                let settled = certain(weights, scale, ancestors);
                let rest = remainders(weights, scale, ends);
                let number = weights[retained] * scale;
                let odds = number.floor() / number;
                let is_certain = settled == count || stream.uniform_between([odds]) < odds;
                if is_certain {
                    rest.draw_all(stream, &mut ancestors[settled..]);
                } else {
                    ancestors[settled] = retained;
                    rest.draw_all(stream, &mut ancestors[settled + 1..]);
                }
                if let Some(slot) = ancestors.iter().position(|&ancestor| ancestor == retained) {
                    ancestors.swap(count - 1, slot);
                }
            }
            Self::Systematic => {
                let (start, weight) = (pieces.start(retained), weights[retained]);
                let cuts = (0..=count).flat_map(|k| {
                    let shifts = pieces.ends.iter().map(|end| (end / unit).fract()).chain([0.0]);
                    shifts.map(move |shift| ((k as f64 + shift) * unit - start) / weight)
                });
                let point = (start + weight * stream.uniform_between(cuts)) * scale;
                let slot = (point as usize).min(count - 1);
                pieces.comb(unit, slot, point - slot as f64, ancestors);
            }
            Self::Stratified | Self::Ssp => {
                let first = stream.index(count).expect("there are particles");
                let numbers =
                    || weights[first..].iter().chain(&weights[..first]).map(|weight| weight * scale);
                let place = if retained < first { retained + count - first } else { retained - first };
                let slot = if self == Self::Ssp {
                    settle(stream, numbers(), Some(place), ends);
                    multiply(numbers(), ends, ancestors);
                    let own = ancestors.iter().filter(|&&ancestor| ancestor == place).count();
                    let before = ancestors.iter().take_while(|&&ancestor| ancestor < place).count();
                    before.min(count - 1) + if own > 1 { stream.index(own).unwrap_or(0) } else { 0 }
                } else {
                    ends.iter_mut().zip(numbers()).for_each(|(end, number)| *end = number);
                    let pieces = Pieces::of(ends);
                    let (start, number) = (pieces.start(place), weights[retained] * scale);
                    let cuts = (1..count).map(|k| (k as f64 - start) / number);
                    let point = start + number * stream.uniform_between(cuts);
                    let slot = (point as usize).min(count - 1);
                    pieces.strata(stream, 1.0, ancestors, Some(slot));
                    slot
                };
                ancestors[slot] = place;
                ancestors.rotate_right(count - 1 - slot);
                for ancestor in &mut *ancestors {
                    let turned = *ancestor + first;
                    *ancestor = if turned < count { turned } else { turned - count };
                }
            }
        }
        // Rounding may have left the retained particle out.
        ancestors[count - 1] = retained;
    }
}

/// Enlarges `scale` by more than the rounding error of a sum of `count` terms: an expected number that is whole, such as
/// that of equal weights, is not rounded below it.
fn upwards(scale: f64, count: usize) -> f64 {
    scale * (1.0 + (count as f64 + 4.0) * f64::EPSILON)
}

/// Fills the first slots with the certain descendants; returns their number.
fn certain(weights: &[f64], scale: f64, ancestors: &mut [usize]) -> usize {
    let mut settled = 0;
    for (particle, weight) in weights.iter().enumerate() {
        let count = ((weight * scale) as usize).min(ancestors.len() - settled);
        ancestors[settled..][..count].fill(particle);
        settled += count;
    }
    settled
}

/// Fractional remainders of the expected numbers, as pieces. A particle without remainder is not drawn.
fn remainders<'w>(weights: &[f64], scale: f64, ends: &'w mut [f64]) -> Pieces<'w> {
    for (end, weight) in ends.iter_mut().zip(weights) {
        *end = fraction(weight * scale);
    }
    Pieces::of(ends)
}

/// Writes each particle once per descendant: its certain ones, plus one if rounded up.
fn multiply(numbers: impl Iterator<Item = f64>, ups: &[f64], ancestors: &mut [usize]) {
    let (mut slot, mut last) = (0, 0);
    for (particle, (number, up)) in numbers.zip(ups).enumerate() {
        let count = (number as usize + usize::from(*up > 0.5)).min(ancestors.len() - slot);
        ancestors[slot..][..count].fill(particle);
        slot += count;
        if count > 0 {
            last = particle;
        }
    }
    // Only rounding errors leave a slot free.
    ancestors[slot..].fill(last);
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

    /// Stratified lookup: for each `k`, the particle at a uniform point of the stratum from `k * unit` to `(k + 1) * unit`.
    /// Stratum `without` is skipped.
    fn strata(&self, stream: &mut Stream, unit: f64, ancestors: &mut [usize], without: Option<usize>) {
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

/// Fractional part of an expected number of particles. Not `f64::fract`, which is a function call on older instruction sets.
fn fraction(number: f64) -> f64 {
    number - (number as i64) as f64
}

/// Rounds the fractional parts `x_i` of expected numbers `S W_i` to 0 or 1, such that every mean and the total are
/// preserved (Srinivasan 2001):
///
/// ```text
/// x + y <= 1:   (x + y, 0) with probability x / (x + y),                 else (0, x + y)
/// x + y >  1:   (1, x + y - 1) with probability (1 - y) / (2 - x - y),   else (x + y - 1, 1)
/// ```
///
/// In each pair one number is settled, the other is paired with the next. Every `n_i + x_i` is a martingale. So the
/// distribution that weights outcomes in proportion to `n_r`, with r the retained particle, is obtained by multiplying the
/// probability of each decision about r by the ratio of `n_r + x_r` after to before it.
fn settle(stream: &mut Stream, numbers: impl Iterator<Item = f64>, retained: Option<usize>, x: &mut [f64]) {
    let mut certain = 0.0;
    for (k, (x, number)) in x.iter_mut().zip(numbers).enumerate() {
        *x = fraction(number);
        if retained == Some(k) {
            certain = number.floor();
        }
    }
    let mut open = 0;
    for next in 1..x.len() {
        let (a, b) = (x[open], x[next]);
        let sum = a + b;
        let (won, lost, mut odds) = match sum {
            0.0 => continue,
            sum if sum <= 1.0 => (sum, 0.0, a / sum),
            _ => (1.0, sum - 1.0, (1.0 - b) / (2.0 - sum)),
        };
        if retained == Some(open) {
            odds *= (certain + won) / (certain + a);
        } else if retained == Some(next) {
            odds *= (certain + lost) / (certain + b);
        }
        let wins = stream.uniform_between([odds]) < odds;
        (x[open], x[next]) = if wins { (won, lost) } else { (lost, won) };
        // The number settled at 0 or 1 stays; the other is paired with the next.
        let open_goes_on = wins == (sum <= 1.0);
        if !open_goes_on {
            open = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;
    use proptest::prelude::*;

    /// A slot that rounding left free goes to the last particle with descendants, not to one that has none.
    #[test]
    fn a_free_slot_goes_to_a_particle_with_descendants() {
        let mut ancestors = [9; 3];
        multiply([1.0, 1.0, 1.0 - f64::EPSILON].into_iter(), &[0.0; 3], &mut ancestors);
        assert_eq!(ancestors, [0, 1, 1]);
        multiply([0.5, 1.5, 1.0].into_iter(), &[1.0, 0.0, 0.0], &mut ancestors);
        assert_eq!(ancestors, [0, 1, 2]);
    }

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
}
