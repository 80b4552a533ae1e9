//! Bounds of models with local latents, estimated from minibatches of the data.

use crate::{LocalFamily, LocalLatents, LocalMinibatch};

use mcsa_core::{Error, Estimator, Stream, same_length};
use serde::{Deserialize, Serialize};

use mcsa_estimators::{ElboInfo, FlowElbo};

use crate::Rows;

/// Evidence lower bound of a model with local latents, from a fresh minibatch in every step.
///
/// ```text
/// I: B of N data, uniform without replacement
/// log p(theta) - log q(theta) + N/B sum_{n in I} [l_n(w_n; theta) - log q_n(w_n)]
/// ```
/// Parameters of data outside the minibatch have derivative zero in that step; an optimiser with momentum moves them on
/// (SL-DAIS, App. A).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalMinibatched {
    /// Number B of rows per step.
    pub batch: usize,
    /// Estimator of the bound.
    pub elbo: FlowElbo,
}

impl LocalMinibatched {
    /// The bound from minibatches of this size and one draw.
    pub const fn new(batch: usize) -> Self {
        Self { batch, elbo: FlowElbo::new(1) }
    }
}

impl<M, F> Estimator<M, F> for LocalMinibatched
where
    M: LocalLatents + ?Sized,
    F: LocalFamily,
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
        let rows = vec![0; self.batch];
        let target = LocalMinibatch::new(model, &rows);
        target.map_or(0, |target| self.elbo.work_len(&target, &family.on(&rows)))
    }

    fn init(&self, model: &M, family: &F, params: &[f64], lanes: &mut [Stream]) -> Result<Rows, Error> {
        let (state, data) = (Rows::first(self.batch), model.num_data());
        same_length("data of the family", data, family.num_data())?;
        state.check(self.batch, data).map_err(|error| error.within("LocalMinibatched"))?;
        let target =
            LocalMinibatch::new(model, &state.rows).map_err(|error| error.within("LocalMinibatched"))?;
        self.elbo.init(&target, &family.on(&state.rows), params, &mut lanes[1..])?;
        Ok(state)
    }

    fn check(&self, model: &M, family: &F, state: &Rows) -> Result<(), Error> {
        state.check(self.batch, model.num_data())?;
        self.elbo.check(&LocalMinibatch::new(model, &state.rows)?, &family.on(&state.rows), &())
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
        let target = LocalMinibatch::new(model, &state.rows)?;
        self.elbo.ascent_direction(&target, &family.on(&state.rows), params, &mut (), lanes, direction, work)
    }
}
