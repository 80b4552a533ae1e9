//! The one loop.

use std::ops::ControlFlow;

use mcsa::{Address, Error, Estimator, Optimizer, Seed, bits};
use serde::{Deserialize, Serialize};

use crate::{Observer, Stop, View};

/// What stays fixed in a fit: target, family, estimator, optimiser, seed.
///
/// ```text
/// lambda_{t+1} = ascend(lambda_t, g_t),   g_t an estimate of E_p[d/dlambda log q_lambda(z)]
/// ```
///
/// Step `t` draws from the streams `(lane, t)` of the seed and from nothing else. So the trajectory
/// has the same bits with or without observers, and across any number of stops and resumptions.
pub struct Ascent<'a, P: ?Sized, F: ?Sized, E, O> {
    /// What is fitted.
    pub target: &'a P,
    /// What fits it.
    pub family: &'a F,
    /// What estimates the direction.
    pub estimator: E,
    /// What moves lambda.
    pub optimizer: O,
    /// Where chance comes from.
    pub seed: Seed,
}

/// What moves in a fit, and all of it: this is the checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fit<S, O> {
    seed: Seed,
    step: u64,
    #[serde(with = "bits::vector")]
    params: Vec<f64>,
    estimator: S,
    optimizer: O,
}

impl<S, O> Fit<S, O> {
    /// Steps made.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Lambda.
    pub fn params(&self) -> &[f64] {
        &self.params
    }

    /// The estimator's state: the chains.
    pub fn estimator(&self) -> &S {
        &self.estimator
    }
}

/// How a run ended, if not by an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// All steps were made.
    Finished,
    /// An observer asked for it.
    Stopped(Stop),
}

impl<P, F, E, O> Ascent<'_, P, F, E, O>
where
    P: ?Sized,
    F: ?Sized,
    E: Estimator<P, F>,
    O: Optimizer,
{
    /// A fit before its first step, at lambda `params`.
    ///
    /// # Errors
    /// If target, family, params and estimator do not fit each other; the message says which and where.
    pub fn start(&self, params: Vec<f64>) -> Result<Fit<E::State, O::State>, Error> {
        let refuse = |error: Error| error.within("Ascent");
        self.estimator.check_params(self.target, self.family, &params).map_err(refuse)?;
        let mut lanes = self.seed.streams(self.estimator.lanes(), 0);
        let estimator = self.estimator.init(self.target, self.family, &params, &mut lanes).map_err(refuse)?;
        let optimizer = self.optimizer.init(params.len());
        Ok(Fit { seed: self.seed, step: 0, params, estimator, optimizer })
    }

    /// Makes `steps` more steps, or fewer if an observer stops the run. Nothing is allocated per step.
    ///
    /// # Errors
    /// If the fit belongs to another seed, target, family or estimator. If a direction is not finite, or lambda
    /// becomes impossible: then lambda is where the last good step left it, and the step is not counted.
    pub fn run(
        &self,
        fit: &mut Fit<E::State, O::State>,
        steps: u64,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Ended, Error> {
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        let mut lanes = self.seed.streams(self.estimator.lanes(), 0);
        let mut direction = vec![0.0; fit.params.len()];
        let mut before = fit.params.clone();
        let mut work = vec![0.0; self.estimator.work_len(self.target, self.family)];
        for _ in 0..steps {
            let step = fit.step + 1;
            for (lane, stream) in lanes.iter_mut().enumerate() {
                stream.go_to(Address::of(lane as u64, step));
            }
            let info = self
                .estimator
                .ascent_direction(
                    self.target,
                    self.family,
                    &fit.params,
                    &mut fit.estimator,
                    &mut lanes,
                    &mut direction,
                    &mut work,
                )
                .and_then(|info| mcsa::all_finite("direction", &direction).map(|()| info))
                .map_err(|error| error.within(format!("Ascent, step {step}")))?;
            before.copy_from_slice(&fit.params);
            self.optimizer.ascend(&mut fit.optimizer, &mut fit.params, &direction);
            if let Err(error) = self.estimator.check_params(self.target, self.family, &fit.params) {
                fit.params.copy_from_slice(&before);
                return Err(error.within(format!("Ascent, step {step}, after the optimiser")));
            }
            fit.step = step;
            let view = View { step, params: &fit.params, direction: &direction, info: &info };
            let mut wish = None;
            for observer in observers.iter_mut() {
                if let ControlFlow::Break(stop) = observer.observe(&view) {
                    wish.get_or_insert(stop);
                }
            }
            if let Some(stop) = wish {
                return Ok(Ended::Stopped(stop));
            }
        }
        Ok(Ended::Finished)
    }

    /// Whether a fit, as read from a file, belongs here.
    fn check(&self, fit: &Fit<E::State, O::State>) -> Result<(), Error> {
        if fit.seed != self.seed {
            return Err(Error::invalid(format!(
                "the fit was started with seed {}, not {}",
                fit.seed, self.seed
            )));
        }
        self.estimator.check_params(self.target, self.family, &fit.params)?;
        self.estimator.check(self.target, self.family, &fit.estimator)?;
        self.optimizer.check(fit.params.len(), &fit.optimizer)
    }
}
