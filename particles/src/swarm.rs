//! One sequential Monte Carlo pass over all times, with or without a retained path, and its weights.

use mcsa_core::{Error, Stream, borrow, fits_in_memory};

use crate::resampling::choose;
use crate::{Lineage, PathProposal, Resampling, StateSpace};

/// Settings of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rules {
    pub(crate) particles: usize,
    pub(crate) resampling: Resampling,
    pub(crate) threshold: f64,
    pub(crate) lineage: Lineage,
    /// True if states and ancestors of all times are kept, which tracing a path needs.
    pub(crate) keeps: bool,
}

/// Results of a pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    /// `log Z-hat`; `-inf` if all weights vanished.
    pub(crate) log_evidence: f64,
    /// Effective sample size, averaged over time.
    pub(crate) effective: f64,
    /// Number of resampled times.
    pub(crate) resampled: u64,
    /// Number of weights that were NaN or infinite; they count as zero.
    pub(crate) non_finite: u64,
    /// Factor of the evidence not yet in `log_evidence`, which saves a logarithm per time.
    mean: f64,
}

impl Tally {
    const NONE: Self = Self { log_evidence: 0.0, effective: 0.0, resampled: 0, non_finite: 0, mean: 1.0 };

    /// Multiplies the evidence by the mean of the weights.
    fn gather(&mut self, sum: Sum, particles: usize) {
        self.log_evidence += sum.top;
        self.mean *= sum.total / particles as f64;
        if self.mean < 1e-200 {
            self.log_evidence += self.mean.ln();
            self.mean = 1.0;
        }
    }
}

/// The particles of a pass, in lent memory; every array has one entry per particle. The retained path, if there is one, is
/// the last particle.
struct Swarm<'w> {
    rules: Rules,
    dim: usize,
    /// States of all times, or of the last two if `keeps` is false.
    states: &'w mut [f64],
    /// Ancestors of all times, or of the last if `keeps` is false.
    ancestors: &'w mut [usize],
    /// Log weights since the last resampling, for the intermediate target.
    log_weights: &'w mut [f64],
    /// `log p(x_t | z_t) - log psi_t(z_t)`, added to the weight at the next time.
    pending: &'w mut [f64],
    /// Weights of the particles, followed by the weights of the retained path's candidate ancestors, or by memory for
    /// cumulated weights.
    weights: &'w mut [f64],
    previous: &'w mut [f64],
    /// `pending` of the ancestors, plus their log weights if they were not resampled.
    carried: &'w mut [f64],
    fresh: &'w mut [f64],
    /// One state, repeated for every particle.
    repeated: &'w mut [f64],
    /// Log weights plus `pending` for each time.
    finals: &'w mut [f64],
}

impl Rules {
    /// Checks the threshold, and that there are at least `least` particles of `dim` numbers.
    pub(crate) fn check(&self, least: usize, dim: usize) -> Result<(), Error> {
        if self.particles < least {
            let expected = if least == 1 { "at least 1" } else { "at least 2, the retained path included" };
            return Err(Error::parameter("particles", self.particles as f64, expected));
        }
        fits_in_memory("particles", self.particles, dim)?;
        // Written so that NaN is an error.
        if !(0.0..=1.0).contains(&self.threshold) {
            return Err(Error::parameter("threshold", self.threshold, "between 0 and 1"));
        }
        Ok(())
    }

    /// Numbers of times whose states, ancestors and final weights are kept.
    fn kept(&self, times: usize) -> [usize; 3] {
        let finals = if self.lineage == Lineage::Backward { times } else { 0 };
        if self.keeps { [times, times, finals] } else { [2, 1, finals] }
    }

    pub(crate) fn work_len<P: StateSpace + ?Sized>(&self, target: &P) -> usize {
        let ([states, ancestors, finals], dim) = (self.kept(target.num_states()), target.state_dim());
        self.particles * (states * dim + ancestors + finals + 2 * dim + 6)
    }

    fn swarm<'w>(self, times: usize, dim: usize, mut work: &'w mut [f64]) -> Swarm<'w> {
        let [states, ancestors, finals] = self.kept(times);
        let mut lend = |count: usize| borrow(&mut work, self.particles * count);
        let ancestors = lend(ancestors);
        let entries = ancestors.len();
        Swarm {
            rules: self,
            dim,
            states: lend(states * dim),
            ancestors: &mut bytemuck::cast_slice_mut(ancestors)[..entries],
            log_weights: lend(1),
            pending: lend(1),
            weights: lend(2),
            previous: lend(dim),
            carried: lend(1),
            fresh: lend(1),
            repeated: lend(dim),
            finals: lend(finals),
        }
    }

    /// Runs particles over all times. If `path` is given, it is replaced by a path drawn from the particles, and if
    /// `retains`, its old value is the retained path. If all weights vanish, `path` is unchanged.
    pub(crate) fn run<P: StateSpace + ?Sized>(
        self,
        target: &P,
        proposal: &mut dyn PathProposal,
        mut path: Option<&mut [f64]>,
        retains: bool,
        stream: &mut Stream,
        work: &mut [f64],
    ) -> Tally {
        let times = target.num_states();
        let mut swarm = self.swarm(times, target.state_dim(), work);
        let mut tally = Tally::NONE;
        let retained = if retains { path.as_deref() } else { None };
        for t in 0..times {
            if t > 0 && !swarm.multiply(target, t, retained, stream, &mut tally) {
                tally.log_evidence = f64::NEG_INFINITY;
                return tally;
            }
            swarm.move_on(target, proposal, t, retained, stream);
        }
        for (weight, due) in swarm.log_weights.iter_mut().zip(&*swarm.pending) {
            *weight += due;
        }
        let Some(sum) = swarm.weigh(&mut tally) else {
            tally.log_evidence = f64::NEG_INFINITY;
            return tally;
        };
        tally.gather(sum, self.particles);
        tally.log_evidence += tally.mean.ln();
        tally.effective = (tally.effective + sum.effective()) / times as f64;
        if let Some(path) = &mut path {
            swarm.trace(target, times, stream, path);
        }
        tally
    }
}

impl Swarm<'_> {
    /// Offset of the states of time `t`.
    fn block(&self, t: usize) -> usize {
        (if self.rules.keeps { t } else { t & 1 }) * self.rules.particles * self.dim
    }

    /// Offset of the ancestors of time `t`.
    fn row(&self, t: usize) -> usize {
        if self.rules.keeps { t * self.rules.particles } else { 0 }
    }

    /// Computes the weights and their sums. `None` if all vanish.
    fn weigh(&mut self, tally: &mut Tally) -> Option<Sum> {
        let weights = &mut self.weights[..self.rules.particles];
        exponentiate(self.log_weights, weights, &mut tally.non_finite)
    }

    /// Sets the ancestors of time `t`, resampled or not, with their states and carried weights. False if all weights vanish.
    fn multiply<P: StateSpace + ?Sized>(
        &mut self,
        target: &P,
        t: usize,
        retained: Option<&[f64]>,
        stream: &mut Stream,
        tally: &mut Tally,
    ) -> bool {
        let Some(sum) = self.weigh(tally) else { return false };
        tally.effective += sum.effective();
        let (size, row, before) = (self.rules.particles, self.row(t), self.block(t - 1));
        let resamples = self.rules.threshold >= 1.0 || sum.effective() < self.rules.threshold * size as f64;
        if self.rules.lineage == Lineage::Backward {
            let finals = &mut self.finals[(t - 1) * size..][..size];
            for ((last, weight), due) in finals.iter_mut().zip(&*self.log_weights).zip(&*self.pending) {
                // A particle that was not resampled has no other possible ancestor.
                *last = if resamples { weight + due } else { f64::NAN };
            }
        }
        if resamples {
            tally.resampled += 1;
            tally.gather(sum, size);
            let states = &self.states[before..][..size * self.dim];
            let (weights, ends) = self.weights.split_at_mut(size);
            let adopted = retained.map(|path| {
                if self.rules.lineage != Lineage::Ancestors {
                    return size - 1;
                }
                repeat(&path[t * self.dim..][..self.dim], self.repeated);
                target.log_transitions(t, states, self.repeated, self.fresh);
                add(self.fresh, self.log_weights, self.pending);
                // If the ancestor weights all vanish, the path keeps its own past.
                exponentiate(self.fresh, ends, &mut 0).map_or(size - 1, |_| choose(stream, ends))
            });
            // Given a retained path of weight zero the conditional distribution does not exist.
            if adopted.is_some_and(|adopted| weights[adopted] == 0.0) {
                return false;
            }
            let ancestors = &mut self.ancestors[row..][..size];
            self.rules.resampling.ancestors_into(stream, weights, adopted, ancestors, ends);
            for (carried, &ancestor) in self.carried.iter_mut().zip(&*ancestors) {
                *carried = self.pending[ancestor];
            }
            for (previous, &ancestor) in self.previous.chunks_exact_mut(self.dim).zip(&*ancestors) {
                assign(previous, &states[ancestor * self.dim..]);
            }
        } else {
            for (slot, ancestor) in self.ancestors[row..][..size].iter_mut().enumerate() {
                *ancestor = slot;
            }
            sum_into(self.pending, self.log_weights, self.carried);
            self.previous.copy_from_slice(&self.states[before..][..size * self.dim]);
        }
        true
    }

    /// Draws the states of time `t` and adds their log weights.
    fn move_on<P: StateSpace + ?Sized>(
        &mut self,
        target: &P,
        proposal: &mut dyn PathProposal,
        t: usize,
        retained: Option<&[f64]>,
        stream: &mut Stream,
    ) {
        let (dim, block) = (self.dim, self.block(t));
        let z = &mut self.states[block..][..self.rules.particles * dim];
        let previous: &[f64] = if t == 0 { &[] } else { self.previous };
        let others = self.rules.particles - usize::from(retained.is_some());
        let (before, own_before) = previous.split_at((others * dim).min(previous.len()));
        let (moved, kept) = z.split_at_mut(others * dim);
        let (weights, own_weight) = self.fresh.split_at_mut(others);
        proposal.propose_into(t, before, stream, moved, weights);
        if let Some(path) = retained {
            assign(kept, &path[t * dim..]);
            proposal.log_weights(t, own_before, kept, own_weight);
        }
        if t == 0 {
            self.carried.fill(0.0);
        }
        sum_into(self.fresh, self.carried, self.log_weights);
        target.log_observations(t, z, self.pending);
        proposal.log_twists(t, z, self.fresh);
        untwist(self.pending, self.fresh);
    }

    /// Draws one path by the final weights. Needs the states of all times (`keeps`).
    fn trace<P: StateSpace + ?Sized>(
        &mut self,
        target: &P,
        times: usize,
        stream: &mut Stream,
        path: &mut [f64],
    ) {
        let (dim, size) = (self.dim, self.rules.particles);
        let (weights, ends) = self.weights.split_at_mut(size);
        let mut slot = choose(stream, weights);
        for t in (0..times).rev() {
            let block = t * size * dim;
            let here = &self.states[block + slot * dim..][..dim];
            assign(&mut path[t * dim..][..dim], here);
            if t == 0 {
                break;
            }
            slot = if self.rules.lineage == Lineage::Backward {
                repeat(here, self.repeated);
                let before = &self.states[(t - 1) * size * dim..][..size * dim];
                target.log_transitions(t, before, self.repeated, self.fresh);
                let finals = &self.finals[(t - 1) * size..][..size];
                for (fresh, last) in self.fresh.iter_mut().zip(finals) {
                    *fresh += last;
                }
                let ancestor = self.ancestors[t * size + slot];
                let sum = exponentiate(self.fresh, ends, &mut 0);
                sum.map_or(ancestor, |_| choose(stream, ends))
            } else {
                self.ancestors[t * size + slot]
            };
        }
    }
}

// Functions of slices, so that the compiler knows that the arguments do not overlap and emits one version of each loop.

fn sum_into(a: &[f64], b: &[f64], out: &mut [f64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a + b;
    }
}

fn add(out: &mut [f64], a: &[f64], b: &[f64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out += a + b;
    }
}

/// Subtracts twists from the pending terms; a term of `-inf` stays, whatever the twist.
fn untwist(pending: &mut [f64], twists: &[f64]) {
    for (pending, twist) in pending.iter_mut().zip(twists) {
        *pending = if *pending == f64::NEG_INFINITY { *pending } else { *pending - twist };
    }
}

/// An element-wise copy: a state is too short for a call of `memcpy`.
fn assign(state: &mut [f64], from: &[f64]) {
    for (z, from) in state.iter_mut().zip(from) {
        *z = *from;
    }
}

fn repeat(state: &[f64], out: &mut [f64]) {
    if let [z] = *state {
        out.fill(z);
    } else {
        out.chunks_exact_mut(state.len()).for_each(|out| out.copy_from_slice(state));
    }
}

/// Sums of weights relative to the largest, computed from log weights.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sum {
    /// The largest log weight.
    top: f64,
    /// Sum of the weights, divided by the largest.
    total: f64,
    squares: f64,
}

impl Sum {
    /// Sums of `weights`, which are relative to the largest.
    #[inline]
    fn of(top: f64, weights: &[f64]) -> Self {
        let (mut totals, mut squares) = ([0.0; STRANDS], [0.0; STRANDS]);
        let chunks = weights.chunks_exact(STRANDS);
        let rest = chunks.remainder();
        for chunk in chunks {
            for ((total, square), weight) in totals.iter_mut().zip(&mut squares).zip(chunk) {
                *total += weight;
                *square += weight * weight;
            }
        }
        for ((total, square), weight) in totals.iter_mut().zip(&mut squares).zip(rest) {
            *total += weight;
            *square += weight * weight;
        }
        let joined = |[a, b, c, d]: [f64; STRANDS]| (a + b) + (c + d);
        Self { top, total: joined(totals), squares: joined(squares) }
    }

    /// Effective sample size (Kong 1992).
    fn effective(self) -> f64 {
        self.total * self.total / self.squares
    }
}

/// Writes weights relative to the largest; `None` if no weight is positive. A log weight that is NaN or `+inf` is a fault
/// of the model: it is replaced by `-inf` and counted in `faults`.
fn exponentiate(log_weights: &mut [f64], weights: &mut [f64], faults: &mut u64) -> Option<Sum> {
    let relative = |log_weights: &[f64], weights: &mut [f64]| {
        let top = largest(log_weights);
        if top == f64::NEG_INFINITY {
            return None;
        }
        for (weight, log_weight) in weights.iter_mut().zip(log_weights) {
            *weight = log_weight - top;
        }
        mcsa_core::numeric::exp(weights);
        Some(Sum::of(top, weights))
    };
    let sum = relative(log_weights, weights)?;
    // A fault makes the sum non-finite, so that the usual case needs no test of each weight.
    if sum.total.is_finite() {
        return Some(sum);
    }
    for weight in log_weights.iter_mut().filter(|weight| weight.is_nan() || **weight == f64::INFINITY) {
        *weight = f64::NEG_INFINITY;
        *faults += 1;
    }
    relative(log_weights, weights)
}

/// Number of independent partial sums of a reduction: a serial chain of sums is most of the cost of a few particles.
const STRANDS: usize = 4;

/// Largest number; NaN is ignored.
#[inline]
fn largest(values: &[f64]) -> f64 {
    let larger = |top: f64, value: f64| if value > top { value } else { top };
    let mut tops = [f64::NEG_INFINITY; STRANDS];
    let chunks = values.chunks_exact(STRANDS);
    let rest = chunks.remainder().iter().copied().fold(f64::NEG_INFINITY, larger);
    for chunk in chunks {
        for (top, &value) in tops.iter_mut().zip(chunk) {
            *top = larger(*top, value);
        }
    }
    tops.into_iter().fold(rest, larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_as_effective_as_their_number() {
        let (mut weights, mut faults) = ([0.0; 4], 0);
        let sum = exponentiate(&mut [-900.0; 4], &mut weights, &mut faults).unwrap();
        assert_eq!((weights, sum.top, sum.total, sum.effective(), faults), ([1.0; 4], -900.0, 4.0, 4.0, 0));
    }

    #[test]
    fn faults_have_no_weight_and_are_counted() {
        let (mut logs, mut weights) = ([f64::NAN, 2.0, f64::INFINITY, f64::NEG_INFINITY], [0.0; 4]);
        let mut faults = 0;
        let sum = exponentiate(&mut logs, &mut weights, &mut faults).unwrap();
        assert_eq!((weights, sum.total, faults), ([0.0, 1.0, 0.0, 0.0], 1.0, 2));
        assert_eq!(exponentiate(&mut [f64::NEG_INFINITY; 4], &mut weights, &mut faults), None);
        assert_eq!(exponentiate(&mut [f64::INFINITY; 4], &mut weights, &mut faults), None);
    }
}
