//! Optimisers by name.

use mcsa_core::{Error, Optimizer};
use mcsa_optim::{
    AdaGrad, AdaGradState, Adam, AdamState, Dog, DogState, Momentum, MomentumState, Nesterov, NesterovState,
    RmsProp, RmsPropState, Sgd, SgdState,
};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

macro_rules! rules {
    ($($(#[$doc:meta])* $variant:ident($config:ident, $state:ident)),+ $(,)?) => {
        /// An optimiser by name, with its settings; `rate` may be a schedule.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        #[strum(serialize_all = "kebab-case")]
        pub enum OptimizerConfig {
            $($(#[$doc])* $variant($config)),+
        }

        /// State of an [`OptimizerConfig`].
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub enum OptimizerState {
            $($(#[$doc])* $variant($state)),+
        }

        impl Optimizer for OptimizerConfig {
            type State = OptimizerState;

            fn init(&self, num_params: usize) -> OptimizerState {
                match self {
                    $(Self::$variant(rule) => OptimizerState::$variant(rule.init(num_params))),+
                }
            }

            fn check(&self, num_params: usize, state: &OptimizerState) -> Result<(), Error> {
                match (self, state) {
                    $((Self::$variant(rule), OptimizerState::$variant(state)) => rule.check(num_params, state),)+
                    _ => Err(Error::invalid("the state belongs to another optimiser")),
                }
            }

            fn config(&self) -> String {
                match self {
                    $(Self::$variant(rule) => rule.config()),+
                }
            }

            fn average<'s>(&self, state: &'s OptimizerState) -> Option<&'s [f64]> {
                match (self, state) {
                    $((Self::$variant(rule), OptimizerState::$variant(state)) => rule.average(state),)+
                    _ => None,
                }
            }

            fn ascend(&self, state: &mut OptimizerState, params: &mut [f64], direction: &[f64]) {
                match (self, state) {
                    $((Self::$variant(rule), OptimizerState::$variant(state)) => rule.ascend(state, params, direction),)+
                    _ => unreachable!("a state is checked before it is used"),
                }
            }
        }
    };
}

rules! {
    /// Adam: step sizes per coordinate from two moving averages.
    Adam(Adam, AdamState),
    /// Stochastic gradient ascent.
    Sgd(Sgd, SgdState),
    /// Momentum (heavy ball).
    Momentum(Momentum, MomentumState),
    /// Nesterov's momentum.
    Nesterov(Nesterov, NesterovState),
    /// RMSProp: step sizes per coordinate from one moving average.
    RmsProp(RmsProp, RmsPropState),
    /// AdaGrad: step sizes per coordinate from a growing sum.
    AdaGrad(AdaGrad, AdaGradState),
    /// DoG: steps without a learning rate.
    Dog(Dog, DogState),
}

impl OptimizerConfig {
    /// Name used in files.
    pub fn kind(&self) -> &'static str {
        self.into()
    }
}
