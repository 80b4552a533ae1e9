//! Adapter that runs any optimiser of this crate as a solver of argmin.

use argmin::core::{ArgminError, Error, Gradient, IterState, KV, Problem, Solver};
use mcsa_core::Optimizer;
use serde::{Deserialize, Serialize};

/// Solver of argmin that runs an optimiser of this crate.
///
/// argmin descends, so the direction is minus the problem's gradient; a run by argmin is bit-identical to calling the optimiser
/// directly. The cost is never evaluated: under noise it says little, and it may be more expensive than the gradient. So argmin's
/// `best_cost` remains infinite and its `best_param` is the last param; only `max_iters` ends a run.
///
/// A gradient that is not finite, or has another length than the param, ends the run with an error.
///
/// ```
/// use argmin::core::{Error, Executor, Gradient};
/// use mcsa_optim::{Sgd, Stochastic};
/// struct Parabola;
/// impl Gradient for Parabola {
///     type Param = Vec<f64>;
///     type Gradient = Vec<f64>;
///     fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> { Ok(vec![x[0] - 4.0]) }
/// }
/// let solver = Stochastic::new(Sgd::new(0.5)?);
/// let run = Executor::new(Parabola, solver).configure(|state| state.param(vec![0.0]).max_iters(2)).run()?;
/// assert_eq!(run.state.best_param, Some(vec![3.0]));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "O: Serialize", deserialize = "O: Deserialize<'de>"))]
pub struct Stochastic<O: Optimizer> {
    optimizer: O,
    state: Option<O::State>,
}

impl<O: Optimizer> Stochastic<O> {
    /// Solver for a new run of `optimizer`.
    pub fn new(optimizer: O) -> Self {
        Self { optimizer, state: None }
    }

    /// The state of the optimiser, once the run has begun. It holds, for example, the average of [`Averaged`](crate::Averaged).
    pub fn state(&self) -> Option<&O::State> {
        self.state.as_ref()
    }
}

/// State that argmin keeps for solvers with gradients.
type Iterate = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;

const NO_PARAM: &str = "`Stochastic` needs an initial param: `configure(|state| state.param(..))`";

impl<P, O> Solver<P, Iterate> for Stochastic<O>
where
    P: Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
    O: Optimizer,
{
    fn name(&self) -> &str {
        "mcsa stochastic"
    }

    fn init(&mut self, _: &mut Problem<P>, iterate: Iterate) -> Result<(Iterate, Option<KV>), Error> {
        let param = iterate.param.as_ref().ok_or(ArgminError::NotInitialized { text: NO_PARAM.into() })?;
        mcsa_core::all_finite("param", param)?;
        self.state = Some(self.optimizer.init(param.len()));
        Ok((iterate, None))
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<P>,
        mut iterate: Iterate,
    ) -> Result<(Iterate, Option<KV>), Error> {
        let not_begun = || ArgminError::NotInitialized { text: NO_PARAM.into() };
        let state = self.state.as_mut().ok_or_else(not_begun)?;
        let mut param = iterate.take_param().ok_or_else(not_begun)?;
        let mut gradient = problem.gradient(&param)?;
        mcsa_core::same_length("gradient", param.len(), gradient.len())?;
        mcsa_core::all_finite("gradient", &gradient)?;
        gradient.iter_mut().for_each(|g| *g = -*g);
        self.optimizer.ascend(state, &mut param, &gradient);
        gradient.iter_mut().for_each(|g| *g = -*g);
        Ok((iterate.param(param).gradient(gradient), None))
    }
}
