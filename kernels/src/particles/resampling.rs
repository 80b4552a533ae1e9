//! Who has descendants.

use mcsa::Stream;
use serde::{Deserialize, Serialize};

use super::pivotal::settle;

/// How many descendants each of `S` particles has. All rules are unbiased, `E[n_i] = S W_i`, so that estimates of the evidence
/// are unbiased too; they differ in how far `n_i` may stray.
///
/// Inside conditional SMC one ancestor, that of the retained path, is given, and the others must be drawn from the rule's
/// law *given that one*, as if slots had been shuffled: an outcome counts `n_r` times. For multinomial resampling the others are
/// simply independent; for the others see [`ancestors_given_into`](Self::ancestors_given_into).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resampling {
    /// Independent draws (MSC, Alg. 4).
    Multinomial,
    /// `floor(S W_i)` for certain, the remainder by independent draws (Liu & Chen 1998).
    Residual,
    /// One uniform in each of `S` equal strata (Kitagawa 1996).
    Stratified,
    /// One uniform, shifted to all strata (Carpenter, Clifford & Fearnhead 1999).
    #[default]
    Systematic,
    /// Srinivasan sampling: `n_i` is `S W_i` rounded down or up, settled pair by pair (Gerber, Chopin & Whiteley 2019).
    Ssp,
}

/// One index, with probabilities proportional to these weights, which sum to `total`.
pub(super) fn choose(stream: &mut Stream, weights: &[f64], total: f64) -> usize {
    let ends = weights[..weights.len() - 1].iter().scan(0.0, |sum, weight| {
        *sum += weight;
        Some(*sum / total)
    });
    let mut left = total * stream.uniform_between(ends);
    for (k, &weight) in weights.iter().enumerate() {
        if left < weight {
            return k;
        }
        left -= weight;
    }
    // Rounding led past the last; it has to be one with a weight.
    weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0)
}

/// Cumulated masses, infinite from the last particle that has any: rounding then leads past none.
fn ends_into(masses: impl Iterator<Item = f64>, ends: &mut [f64]) {
    let (mut sum, mut last) = (0.0, 0);
    for (k, (end, mass)) in ends.iter_mut().zip(masses).enumerate() {
        last = if mass > 0.0 { k } else { last };
        sum += mass;
        *end = sum;
    }
    ends[last..].fill(f64::INFINITY);
}

/// The particle in whose piece a number lies.
fn find(ends: &[f64], u: f64) -> usize {
    ends.partition_point(|&end| end <= u)
}

impl Resampling {
    /// Draws the ancestor of each of `S` new particles from weights that sum to one. In which slots the descendants of one
    /// particle stand depends on the rule. `ends` is lent memory for `S` numbers.
    ///
    /// # Panics
    /// If the lengths differ, or there is no particle.
    pub fn ancestors_into(
        self,
        stream: &mut Stream,
        weights: &[f64],
        ancestors: &mut [usize],
        ends: &mut [f64],
    ) {
        let size = weights.len() as f64;
        let count = weights.len();
        assert_eq!((ancestors.len(), ends.len()), (count, count), "an ancestor per particle");
        match self {
            Self::Multinomial => {
                ends_into(weights.iter().copied(), ends);
                draw(stream, ends, ancestors);
            }
            Self::Residual => {
                let settled = certain(weights, ancestors);
                residual_ends(weights, ends);
                draw(stream, ends, &mut ancestors[settled..]);
            }
            Self::Stratified => {
                ends_into(weights.iter().map(|weight| size * weight), ends);
                strata(stream, ends, ancestors, None);
            }
            Self::Systematic => {
                ends_into(weights.iter().map(|weight| size * weight), ends);
                let u = stream.uniform_between(ends.iter().map(|end| end.fract()));
                comb(ends, 0, u, ancestors);
            }
            Self::Ssp => {
                settle(stream, weights.iter().copied(), None, ends);
                multiply(weights.iter().copied(), ends, ancestors);
            }
        }
    }

    /// The same given that slot 0 descends from `retained`.
    ///
    /// ```text
    /// multinomial   the other slots are independent draws
    /// residual      that slot was a certain one with probability floor(S W_r) / (S W_r), else one of the draws
    /// stratified    its stratum is that of a uniform point in the retained particle's piece; other strata as ever
    /// systematic    so is the shift, and with it all others (Chopin & Singh 2015)
    /// SSP           each decision about the retained particle is tilted by the mean of n_r that it leads to
    /// ```
    ///
    /// The last three depend on the order of particles, and a retained path that were always first would be known by its
    /// place. So they begin at a particle chosen uniformly and go round, which would change nothing for a systematic shift; and
    /// the new slots are turned, not sorted, until the retained one is first.
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
        let (count, size) = (weights.len(), weights.len() as f64);
        assert_eq!((ancestors.len(), ends.len()), (count, count), "an ancestor per particle");
        let mass = size * weights[retained];
        assert!(mass > 0.0, "the retained particle has weight");
        match self {
            Self::Multinomial => {
                ends_into(weights.iter().copied(), ends);
                ancestors[0] = retained;
                return draw(stream, ends, &mut ancestors[1..]);
            }
            Self::Residual => {
                let settled = certain(weights, ancestors);
                residual_ends(weights, ends);
                let odds = mass.floor() / mass;
                let is_certain = settled == count || stream.uniform_between([odds]) < odds;
                if is_certain {
                    draw(stream, ends, &mut ancestors[settled..]);
                } else {
                    ancestors[settled] = retained;
                    draw(stream, ends, &mut ancestors[settled + 1..]);
                }
                if let Some(slot) = ancestors.iter().position(|&ancestor| ancestor == retained) {
                    ancestors.swap(0, slot);
                }
                // Rounding may have left it out.
                ancestors[0] = retained;
                return;
            }
            Self::Systematic => {
                ends_into(weights.iter().map(|weight| size * weight), ends);
                let start = if retained == 0 { 0.0 } else { ends[retained - 1] };
                let cuts = (0..=count).flat_map(|k| {
                    let shifts = ends.iter().map(|end| end.fract()).chain([0.0]);
                    shifts.map(move |shift| (k as f64 + shift - start) / mass)
                });
                let point = start + mass * stream.uniform_between(cuts);
                let slot = (point as usize).min(count - 1);
                let u = point - slot as f64;
                comb(ends, slot, u, ancestors);
                // Rounding may have left it out.
                ancestors[0] = retained;
                return;
            }
            _ => {}
        }
        let first = stream.index(count).expect("there are particles");
        let turned = || weights[first..].iter().chain(&weights[..first]).copied();
        let place = if retained < first { retained + count - first } else { retained - first };
        let slot = if self == Self::Ssp {
            settle(stream, turned(), Some(place), ends);
            multiply(turned(), ends, ancestors);
            let own = ancestors.iter().filter(|&&ancestor| ancestor == place).count();
            let before = ancestors.iter().take_while(|&&ancestor| ancestor < place).count();
            // Rounding may have left it out.
            before.min(count - 1) + if own > 1 { stream.index(own).unwrap_or(0) } else { 0 }
        } else {
            ends_into(turned().map(|weight| size * weight), ends);
            let start = if place == 0 { 0.0 } else { ends[place - 1] };
            let cuts = (1..count).map(|k| (k as f64 - start) / mass);
            let point = start + mass * stream.uniform_between(cuts);
            let slot = (point as usize).min(count - 1);
            strata(stream, ends, ancestors, Some(slot));
            slot
        };
        ancestors[slot] = place;
        ancestors.rotate_left(slot);
        for ancestor in ancestors {
            let turned = *ancestor + first;
            *ancestor = if turned < count { turned } else { turned - count };
        }
    }
}

/// Independent draws.
fn draw(stream: &mut Stream, ends: &[f64], ancestors: &mut [usize]) {
    for ancestor in ancestors {
        *ancestor = find(ends, stream.uniform_between(ends.iter().copied()));
    }
}

/// A point in each stratum `k .. k + 1`, but in the one that is left out.
fn strata(stream: &mut Stream, ends: &[f64], ancestors: &mut [usize], without: Option<usize>) {
    let mut particle = 0;
    for (k, ancestor) in ancestors.iter_mut().enumerate() {
        if without == Some(k) {
            continue;
        }
        let point = k as f64 + stream.uniform_between(ends.iter().map(|end| end - k as f64));
        while ends[particle] <= point {
            particle += 1;
        }
        *ancestor = particle;
    }
}

/// The points `u, 1 + u, 2 + u ..`; that of `slot` goes first, and the others round.
///
/// Particle `i` ends before point `k` if `k >= end_i - u`; so the ancestor of `k` is the number of ends counted up to there, and
/// no branch depends on a weight.
fn comb(ends: &[f64], slot: usize, u: f64, ancestors: &mut [usize]) {
    let count = ancestors.len();
    ancestors.fill(0);
    for end in &ends[..count - 1] {
        let point = (end - u + 1.0) as i64 as usize;
        if point < count {
            ancestors[if point < slot { point + count - slot } else { point - slot }] += 1;
        }
    }
    let (head, tail) = ancestors.split_at_mut(count - slot);
    let mut particle = 0;
    for ancestor in tail.iter_mut().chain(head) {
        particle += *ancestor;
        *ancestor = particle;
    }
}

/// Fills the first slots with the descendants that are certain, and says how many they are.
fn certain(weights: &[f64], ancestors: &mut [usize]) -> usize {
    let (size, mut settled) = (weights.len() as f64, 0);
    for (particle, weight) in weights.iter().enumerate() {
        let count = ((size * weight) as usize).min(ancestors.len() - settled);
        ancestors[settled..][..count].fill(particle);
        settled += count;
    }
    settled
}

fn residual_ends(weights: &[f64], ends: &mut [f64]) {
    let size = weights.len() as f64;
    let masses = weights.iter().map(|weight| (size * weight).fract());
    let total: f64 = masses.clone().sum();
    // Without a remainder nothing is drawn.
    ends_into(masses.map(|mass| mass / total), ends);
}

/// Writes each particle as often as it was settled.
fn multiply(weights: impl Iterator<Item = f64>, ups: &[f64], ancestors: &mut [usize]) {
    let (size, mut slot) = (ups.len() as f64, 0);
    let mut last = 0;
    for (particle, (weight, up)) in weights.zip(ups).enumerate() {
        let count = ((size * weight) as usize + usize::from(*up > 0.5)).min(ancestors.len() - slot);
        ancestors[slot..][..count].fill(particle);
        slot += count;
        if count > 0 {
            last = particle;
        }
    }
    // Only rounding leaves a slot free.
    ancestors[slot..].fill(last);
}
