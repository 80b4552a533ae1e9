//! Memory of an annealed path: what its reverse sweep needs of its forward sweep.

use crate::Surrogate;

use mcsa_core::borrow;

/// Tape of one path, as slices of lent memory. A row has d numbers.
#[derive(Debug)]
pub(super) struct Tape<'a> {
    /// `z_0 .. z_K`.
    pub(super) points: &'a mut [f64],
    /// `h_1 .. h_K`, where the momentum is kicked.
    pub(super) halves: &'a mut [f64],
    /// `v_0 .. v_{K-1}`.
    pub(super) before: &'a mut [f64],
    /// `v^_1 .. v^_K`.
    pub(super) after: &'a mut [f64],
    /// `L^-1 (h_k - mean)`.
    pub(super) whitened: &'a mut [f64],
    /// Gradients of `log q_0` at the halves.
    pub(super) base: &'a mut [f64],
    /// Gradients of the surrogate at the halves.
    pub(super) guide: &'a mut [f64],
    /// Memory that the surrogate prepares once per path.
    pub(super) memory: &'a mut [f64],
    /// Tape of the surrogate, step after step.
    pub(super) kept: &'a mut [f64],
}

impl<'a> Tape<'a> {
    /// Length of the memory of a path of `steps` steps.
    pub(super) fn len<S: Surrogate + ?Sized>(surrogate: &S, steps: usize) -> usize {
        (7 * steps + 1) * surrogate.dim() + surrogate.memory_len() + steps * surrogate.tape_len()
    }

    pub(super) fn of<S: Surrogate + ?Sized>(surrogate: &S, steps: usize, mut lent: &'a mut [f64]) -> Self {
        let d = surrogate.dim();
        Self {
            points: borrow(&mut lent, (steps + 1) * d),
            halves: borrow(&mut lent, steps * d),
            before: borrow(&mut lent, steps * d),
            after: borrow(&mut lent, steps * d),
            whitened: borrow(&mut lent, steps * d),
            base: borrow(&mut lent, steps * d),
            guide: borrow(&mut lent, steps * d),
            memory: borrow(&mut lent, surrogate.memory_len()),
            kept: borrow(&mut lent, steps * surrogate.tape_len()),
        }
    }
}
