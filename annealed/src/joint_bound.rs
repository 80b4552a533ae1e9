//! Evidence lower bound in model parameters and variational parameters jointly, from minibatches of the data.

use mcsa_core::{Error, Estimator, Pushforward, Stream};
use mcsa_estimators::{ElboInfo, FlowElbo};
use serde::{Deserialize, Serialize};

use crate::{LearnableRows, Minibatched, Rows};

/// Ascent on the bound of `log p(y; theta)` in lambda and theta together, from minibatches. The family's points are `(theta, z)`, with
/// theta at a point of its parameters ([`WithTheta`](mcsa_families::WithTheta)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointBound {
    /// The bound at one theta.
    pub bound: Minibatched<FlowElbo>,
}

impl<M, F> Estimator<M, F> for JointBound
where
    M: LearnableRows + ?Sized,
    F: Pushforward + ?Sized,
{
    type State = Rows;
    type Info = ElboInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn family_config(&self, family: &F) -> String {
        family.config()
    }

    fn num_params(&self, _: &M, family: &F) -> usize {
        family.num_params()
    }

    fn check_params(&self, _: &M, family: &F, params: &[f64]) -> Result<(), Error> {
        family.check(params)
    }

    fn lanes(&self) -> usize {
        2
    }

    fn work_len(&self, model: &M, family: &F) -> usize {
        let rows = vec![0; self.bound.batch];
        model.on(&rows).map_or(0, |target| self.bound.elbo.work_len(&target, family))
    }

    fn init(&self, model: &M, family: &F, params: &[f64], lanes: &mut [Stream]) -> Result<Rows, Error> {
        let state = Rows::first(self.bound.batch);
        state.check(self.bound.batch, model.num_data()).map_err(|error| error.within("JointBound"))?;
        {
            let target = model.on(&state.rows).map_err(|error| error.within("JointBound"))?;
            self.bound.elbo.init(&target, family, params, &mut lanes[1..])?;
        }
        Ok(state)
    }

    fn check(&self, model: &M, family: &F, state: &Rows) -> Result<(), Error> {
        state.check(self.bound.batch, model.num_data())?;
        self.bound.elbo.check(&model.on(&state.rows)?, family, &())
    }

    fn ascent_direction(
        &self,
        model: &M,
        family: &F,
        params: &[f64],
        state: &mut Rows,
        lanes: &mut [Stream],
        direction: &mut [f64],
        work: &mut [f64],
    ) -> Result<ElboInfo, Error> {
        let (own, lanes) = lanes.split_at_mut(1);
        state.draw(&mut own[0], model.num_data());
        let target = model.on(&state.rows)?;
        self.bound.elbo.ascent_direction(&target, family, params, &mut (), lanes, direction, work)
    }
}
