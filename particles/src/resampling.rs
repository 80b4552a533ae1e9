//! Resampling schemes.

use mcsa_core::Stream;
use serde::{Deserialize, Serialize};

use super::pieces::Pieces;
use super::pivotal::{fraction, settle};

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

#[cfg(test)]
mod tests {
    use super::*;

    /// A slot that rounding left free goes to the last particle with descendants, not to one that has none.
    #[test]
    fn a_free_slot_goes_to_a_particle_with_descendants() {
        let mut ancestors = [9; 3];
        multiply([1.0, 1.0, 1.0 - f64::EPSILON].into_iter(), &[0.0; 3], &mut ancestors);
        assert_eq!(ancestors, [0, 1, 1]);
        multiply([0.5, 1.5, 1.0].into_iter(), &[1.0, 0.0, 0.0], &mut ancestors);
        assert_eq!(ancestors, [0, 1, 2]);
    }
}
