//! Cycles and mixtures of two kernels.

use faer::Mat;
use mcsa_core::{ChainState, Ensemble, Error, Kernel, LogDensity, Proposal, Stream};
use serde::{Deserialize, Serialize};

use crate::{Reversible, Tally};

/// Cycle of two kernels, `K_1 K_2`: every step applies the first, then the second. Invariant if both are; in general not
/// reversible.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cycle<A, B> {
    /// The kernel that moves the chains first.
    pub first: A,
    /// The kernel that moves the chains second.
    pub second: B,
}

/// Mixture of two kernels, `w K_1 + (1 - w) K_2`: every step applies one of the two, drawn anew. Invariant, and reversible,
/// if both are.
///
/// The first lane draws the kernel for all chains, so that every step moves all chains as one batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts<A, B>")]
pub struct Mixture<A, B> {
    first: A,
    second: B,
    weight: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts<A, B> {
    first: A,
    second: B,
    weight: f64,
}

impl<A, B> TryFrom<Parts<A, B>> for Mixture<A, B> {
    type Error = Error;

    fn try_from(parts: Parts<A, B>) -> Result<Self, Error> {
        Self::new(parts.weight, parts.first, parts.second)
    }
}

impl<A, B> Mixture<A, B> {
    /// The mixture that applies `first` with probability `weight`, else `second`.
    ///
    /// # Errors
    /// If the weight is outside `[0, 1]`.
    pub fn new(weight: f64, first: A, second: B) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&weight) {
            return Err(Error::parameter("weight", weight, "between 0 and 1").within("Mixture"));
        }
        Ok(Self { first, second, weight })
    }
}

impl<A, B> Cycle<A, B> {
    /// Fields other than the two kernels, as text for `config`.
    fn rest(&self) -> String {
        String::new()
    }
}

impl<A, B> Mixture<A, B> {
    /// Fields other than the two kernels, as text for `config`.
    fn rest(&self) -> String {
        format!(", weight: {:?}", self.weight)
    }
}

/// The state of a [`Cycle`] or [`Mixture`]: one state per kernel. The chains are those of the first state; they are copied
/// to the second before the second kernel moves them, and copied back afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Composed<A, B> {
    first: A,
    second: B,
}

impl<A: ChainState, B: ChainState> ChainState for Composed<A, B> {
    fn chains(&self) -> &Ensemble {
        self.first.chains()
    }

    fn chains_mut(&mut self) -> &mut Ensemble {
        self.first.chains_mut()
    }
}

impl<A: ChainState, B: ChainState> Composed<A, B> {
    /// Copies the chains of the first state to the second, runs `step` on the second, and copies its chains back.
    fn on_second<I>(&mut self, step: impl FnOnce(&mut B) -> I) -> I {
        self.second.chains_mut().copy_from(self.first.chains());
        let info = step(&mut self.second);
        self.first.chains_mut().copy_from(self.second.chains());
        info
    }
}

impl<A: Reversible, B: Reversible> Reversible for Mixture<A, B> {}

macro_rules! two_kernels {
    ($name:ident, |$kernel:ident, $first:ident, $second:ident, $lanes:ident| $step:expr) => {
        impl<P: LogDensity + ?Sized, A: Kernel<P>, B: Kernel<P>> Kernel<P> for $name<A, B> {
            type State = Composed<A::State, B::State>;
            type Info = Tally;

            fn config(&self) -> String {
                let (first, second) = (self.first.config(), self.second.config());
                format!("{} {{ first: {first}, second: {second}{} }}", stringify!($name), self.rest())
            }

            fn verify(&self, target: &P, state: &Self::State) -> Result<(), Error> {
                // The second kernel receives the first kernel's chains before it moves them.
                self.first.verify(target, &state.first)
            }

            fn columns(&self, chains: usize) -> usize {
                self.first.columns(chains).max(self.second.columns(chains))
            }

            fn work_len(&self, target: &P, chains: usize) -> usize {
                self.first.work_len(target, chains).max(self.second.work_len(target, chains))
            }

            fn init(&self, target: &P, positions: Mat<f64>) -> Result<Self::State, Error> {
                let first = self.first.init(target, positions.clone())?;
                Ok(Composed { first, second: self.second.init(target, positions)? })
            }

            fn start(
                &self,
                target: &P,
                positions: Mat<f64>,
                lanes: &mut [Stream],
            ) -> Result<Self::State, Error> {
                let first = self.first.start(target, positions.clone(), lanes)?;
                Ok(Composed { first, second: self.second.start(target, positions, lanes)? })
            }

            fn check(&self, target: &P, chains: usize, state: &Self::State) -> Result<(), Error> {
                self.first
                    .check(target, chains, &state.first)
                    .and_then(|()| self.second.check(target, chains, &state.second))
                    .map_err(|error| error.within(stringify!($name)))
            }

            fn step(
                &self,
                target: &P,
                proposal: &mut dyn Proposal,
                state: &mut Self::State,
                $lanes: &mut [Stream],
                work: &mut [f64],
            ) -> Tally {
                let ($kernel, mut tally) = (self, Tally::default());
                let (uses_first, uses_second) = $step;
                if uses_first {
                    tally.add(&self.first.step(target, proposal, &mut state.first, $lanes, work));
                }
                if uses_second {
                    tally.add(
                        &state.on_second(|second| self.second.step(target, proposal, second, $lanes, work)),
                    );
                }
                tally
            }
        }
    };
}

two_kernels!(Cycle, |_kernel, first, second, lanes| (true, true));
two_kernels!(Mixture, |kernel, first, second, lanes| {
    let first = lanes.first_mut().is_none_or(|lane| lane.accept(kernel.weight.ln()));
    (first, !first)
});
