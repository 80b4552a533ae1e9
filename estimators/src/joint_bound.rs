//! Evidence lower bound in model parameters and variational parameters jointly, from minibatches of the data.

use mcsa_core::{Error, Estimator, LearnableRows, Pushforward, Stream};

use crate::family_parameters::family_parameters;
use crate::{ElboInfo, FlowElbo, Joint, Minibatched, Rows};

/// Ascent on the bound of `log p(y; theta)` in lambda and theta together. The family's points are `(theta, z)`, with theta at a point
/// of its parameters.
impl<M, F> Estimator<M, F> for Joint<Minibatched<FlowElbo>>
where
    M: LearnableRows + ?Sized,
    F: Pushforward + ?Sized,
{
    type State = Rows;
    type Info = ElboInfo;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    family_parameters!(M, F);

    fn lanes(&self) -> usize {
        2
    }

    fn work_len(&self, model: &M, family: &F) -> usize {
        let rows = vec![0; self.climb.batch];
        model.on(&rows).map_or(0, |target| self.climb.elbo.work_len(&target, family))
    }

    fn init(&self, model: &M, family: &F, params: &[f64], lanes: &mut [Stream]) -> Result<Rows, Error> {
        let state = Rows::first(self.climb.batch);
        state.check(self.climb.batch, model.num_data()).map_err(|error| error.within("Joint"))?;
        {
            let target = model.on(&state.rows).map_err(|error| error.within("Joint"))?;
            self.climb.elbo.init(&target, family, params, &mut lanes[1..])?;
        }
        Ok(state)
    }

    fn check(&self, model: &M, family: &F, state: &Rows) -> Result<(), Error> {
        state.check(self.climb.batch, model.num_data())?;
        self.climb.elbo.check(&model.on(&state.rows)?, family, &())
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
        self.climb.elbo.ascent_direction(&target, family, params, &mut (), lanes, direction, work)
    }
}
