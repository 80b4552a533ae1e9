//! Optimisers by name.

use mcsa::core::{Error, Optimizer};
use mcsa::optim::{
    AdaGrad, AdaGradState, Adam, AdamState, Dog, DogState, Momentum, MomentumState, Nesterov, NesterovState,
    RmsProp, RmsPropState, Sgd, SgdState,
};
use serde::{Deserialize, Serialize};

macro_rules! rules {
    ($($variant:ident($state:ident)),+ $(,)?) => {
        /// An optimiser by name, with its settings.
        #[derive(Debug, Clone, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub(crate) enum Rule {
            $($variant($variant)),+
        }

        /// State of a [`Rule`].
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub(crate) enum RuleState {
            $($variant($state)),+
        }

        impl Optimizer for Rule {
            type State = RuleState;

            fn init(&self, num_params: usize) -> RuleState {
                match self {
                    $(Self::$variant(rule) => RuleState::$variant(rule.init(num_params))),+
                }
            }

            fn check(&self, num_params: usize, state: &RuleState) -> Result<(), Error> {
                match (self, state) {
                    $((Self::$variant(rule), RuleState::$variant(state)) => rule.check(num_params, state),)+
                    _ => Err(Error::invalid("the state belongs to another optimiser")),
                }
            }

            fn config(&self) -> String {
                match self {
                    $(Self::$variant(rule) => rule.config()),+
                }
            }

            fn average<'s>(&self, state: &'s RuleState) -> Option<&'s [f64]> {
                match (self, state) {
                    $((Self::$variant(rule), RuleState::$variant(state)) => rule.average(state),)+
                    _ => None,
                }
            }

            fn ascend(&self, state: &mut RuleState, params: &mut [f64], direction: &[f64]) {
                match (self, state) {
                    $((Self::$variant(rule), RuleState::$variant(state)) => rule.ascend(state, params, direction),)+
                    _ => unreachable!("a state is checked before it is used"),
                }
            }
        }
    };
}

rules! {
    Adam(AdamState),
    Sgd(SgdState),
    Momentum(MomentumState),
    Nesterov(NesterovState),
    RmsProp(RmsPropState),
    AdaGrad(AdaGradState),
    Dog(DogState),
}
