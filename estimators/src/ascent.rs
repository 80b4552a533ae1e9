//! The optimisation loop.

use std::ops::ControlFlow;
use std::path::PathBuf;

use faer::Mat;
use mcsa_core::{Error, Estimator, Optimizer, Seed, Stream, fits_in_memory, numeric};

use crate::configs::Configs;
use crate::fit::Verified;
use crate::watch::positions;
use crate::{Checkpoint, Fit, Outcome, Run, View, Watch};

/// The fixed parts of a fit: target, family, estimator, optimiser and seed.
///
/// ```text
/// lambda_{t+1} = ascend(lambda_t, g_t),   g_t an estimate of E_p[d/dlambda log q_lambda(z)]
/// ```
///
/// Step `t` draws from the streams `(lane, t)` of the seed only. So the iterates are bit-identical with or without
/// observers or a stopping rule, and across any number of stops and resumptions.
pub struct Ascent<'a, P: ?Sized, F: ?Sized, E, O> {
    /// The target p, the density to be approximated.
    pub target: &'a P,
    /// The variational family q_lambda.
    pub family: &'a F,
    /// The estimator of the ascent direction.
    pub estimator: E,
    /// The optimiser that moves lambda.
    pub optimizer: O,
    /// The seed of all random streams.
    pub seed: Seed,
}

/// Limit of the growth of lambda relative to its start; `Lbfgs` uses the same limit.
const FARTHEST: f64 = 1e10;
/// Consecutive steps without any finite density after which a run ends.
const BLIND: u64 = 256;

impl<P, F, E, O> Ascent<'_, P, F, E, O>
where
    P: ?Sized,
    F: ?Sized,
    E: Estimator<P, F>,
    O: Optimizer,
{
    /// Starts a fit at lambda `params`, before its first step. Chains start at draws of `q_lambda`.
    ///
    /// # Errors
    /// If target, family, params and estimator do not match; the message names the mismatch and its place.
    pub fn start(&self, params: Vec<f64>) -> Result<Fit<E::State, O::State>, Error> {
        self.start_with(params, |params, lanes| self.estimator.init(self.target, self.family, params, lanes))
    }

    /// Starts a fit at lambda `params` with the chains at the columns of `positions`, such as the last points of a warm-up.
    ///
    /// ```
    /// use mcsa_core::Seed;
    /// use mcsa_estimators::{Ascent, Average, ScoreClimb};
    /// use mcsa_kernels::{Nuts, Sampling};
    /// let (target, family) = (mcsa_models::Gaussian::standard(2), mcsa_families::MeanField::new(2));
    /// // Eight chains find the target and tune the kernel, and the fit goes on with both.
    /// let warm = Sampling::new(8, 0).warm_up(300).run(&Nuts::new(0.1)?, &target, Seed::new(1))?;
    /// let estimator = ScoreClimb::new(warm.kernel, 8, Average::Chains);
    /// let optimizer = mcsa_optim::Adam::new(0.01)?;
    /// let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(2) };
    /// let mut fit = ascent.start_at(vec![0.0; 4], warm.positions)?;
    /// ascent.run(&mut fit, 100)?;
    /// # Ok::<(), mcsa_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`start`](Self::start); if the number of points is not the number of chains, a point has another dimension or is not
    /// finite, or the estimator has no chains.
    pub fn start_at(&self, params: Vec<f64>, positions: Mat<f64>) -> Result<Fit<E::State, O::State>, Error> {
        self.start_with(params, |params, lanes| {
            self.estimator.init_at(self.target, self.family, params, positions, lanes)
        })
    }

    fn start_with(
        &self,
        params: Vec<f64>,
        init: impl FnOnce(&[f64], &mut [Stream]) -> Result<E::State, Error>,
    ) -> Result<Fit<E::State, O::State>, Error> {
        let refuse = |error: Error| error.within("Ascent");
        self.estimator.check_params(self.target, self.family, &params).map_err(refuse)?;
        fits_in_memory("lanes", self.estimator.lanes(), 1).map_err(refuse)?;
        let mut lanes = self.seed.streams(self.estimator.lanes(), 0);
        let estimator = init(&params, &mut lanes).map_err(refuse)?;
        let optimizer = self.optimizer.init(params.len());
        let chains = self.estimator.chains(&estimator).map_or(0, |chains| chains.len());
        let watch = Watch::new(params.len(), chains);
        let reach = FARTHEST * params.iter().fold(1.0_f64, |reach, param| reach.max(param.abs()));
        Ok(Fit {
            configs: self.configs(),
            seed: self.seed,
            step: 0,
            params,
            estimator,
            optimizer,
            watch,
            iterates: None,
            reach,
            verified: Verified(true),
        })
    }

    /// The fit in the checkpoint file at `path`, or the one that `start` makes if there is no file.
    ///
    /// # Errors
    /// If the file cannot be used or holds a fit that does not belong to this ascent, or if `start` fails.
    pub fn resume_or(
        &self,
        path: impl Into<PathBuf>,
        start: impl FnOnce() -> Result<Fit<E::State, O::State>, Error>,
    ) -> Result<Fit<E::State, O::State>, Error> {
        let checkpoint = Checkpoint::at(path);
        let Some(fit) = checkpoint.read()? else { return start() };
        self.check(&fit).map_err(|error| checkpoint.refuse(&error.to_string()))?;
        Ok(fit)
    }

    fn configs(&self) -> Configs {
        let family = self.estimator.family_config(self.family);
        Configs::of::<P, E::State, O::State>(family, self.estimator.config(), self.optimizer.config())
    }

    /// Assigns a fit to this estimator and optimiser, to continue with another learning rate or another step size of a
    /// kernel. The states are kept and have to match; target, family and seed must be those of the fit. The path that a
    /// [`Stationary`](crate::Stationary) rule has observed is kept: the rule waits until the new part outweighs the old.
    ///
    /// ```
    /// use mcsa_core::Seed;
    /// use mcsa_estimators::{Ascent, pmcsa};
    /// use mcsa_families::MeanField;
    /// use mcsa_models::Gaussian;
    /// use mcsa_optim::Adam;
    /// let (target, family) = (Gaussian::standard(1), MeanField::new(1));
    /// let with_rate = |rate| -> Result<_, mcsa_core::Error> {
    ///     let (estimator, optimizer, seed) = (pmcsa(4), Adam::new(rate)?, Seed::new(1));
    ///     Ok(Ascent { target: &target, family: &family, estimator, optimizer, seed })
    /// };
    /// let mut fit = with_rate(0.1)?.start(vec![0.0; 2])?;
    /// with_rate(0.1)?.run(&mut fit, 10)?;
    /// let error = with_rate(0.01)?.run(&mut fit, 10).unwrap_err();
    /// assert!(error.to_string().contains("made with another optimizer"));
    /// with_rate(0.01)?.adopt(&mut fit)?;
    /// with_rate(0.01)?.run(&mut fit, 10)?;
    /// # Ok::<(), mcsa_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If seed, target or family differ, or the states do not match.
    pub fn adopt(&self, fit: &mut Fit<E::State, O::State>) -> Result<(), Error> {
        let configs = self.configs();
        fit.configs
            .may_become(&configs)
            .and_then(|()| self.fits(fit))
            .map_err(|error| error.within("Ascent"))?;
        (fit.configs, fit.verified) = (configs, Verified(true));
        Ok(())
    }

    /// Runs the fit: a number of steps, or a [`Run`] with a stopping rule, observers, progress and checkpoints. Steps allocate no
    /// memory.
    ///
    /// Three failures end a run with an outcome: a direction that is not finite, a step to an invalid or far too distant
    /// lambda (lambda then keeps its value from before the step), and 256 steps in a row without any finite density.
    ///
    /// # Errors
    /// If the fit belongs to another seed, target, family, estimator or optimiser; the message names the difference. If an
    /// observer fails, such as a checkpoint that cannot be written.
    pub fn run<'r>(
        &self,
        fit: &mut Fit<E::State, O::State>,
        run: impl Into<Run<'r, F, E::State, O::State>>,
    ) -> Result<Outcome, Error>
    where
        F: 'r,
    {
        let mut run = run.into();
        let steps = run.length.steps(fit.step);
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        if let Some(rule) = &mut run.rule {
            rule.begin(self.family, self.seed, fit);
        }
        run.observers.iter_mut().try_for_each(|seat| seat.observer().begin(fit, steps))?;
        let outcome = match self.advance(fit, steps, &mut run)? {
            Some(outcome) => outcome,
            None if fit.watch.still() > 0 => Outcome::PathStoodStill { steps: fit.watch.still() },
            None => match &mut run.rule {
                Some(rule) => rule.at_end(self.family, self.seed, fit),
                None => Outcome::BudgetSpent { accuracy: None },
            },
        };
        run.observers.iter_mut().try_for_each(|seat| seat.observer().finish(fit, &outcome))?;
        Ok(outcome)
    }

    /// The loop. `None` if all steps were made.
    fn advance(
        &self,
        fit: &mut Fit<E::State, O::State>,
        steps: u64,
        run: &mut Run<'_, F, E::State, O::State>,
    ) -> Result<Option<Outcome>, Error> {
        fit.verified = Verified(true);
        let mut lanes = self.seed.streams(self.estimator.lanes(), 0);
        let mut direction = vec![0.0; fit.params.len()];
        let mut before = fit.params.clone();
        let mut chains_before = positions(self.estimator.chains(&fit.estimator));
        let mut work = vec![0.0; self.estimator.work_len(self.target, self.family)];
        for _ in 0..steps {
            let step = fit.step + 1;
            Stream::go_to_step(&mut lanes, step);
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
                .map_err(|error| error.within(format!("Ascent, step {step}")))?;
            // The random numbers of this step are spent even if its direction is rejected: the next step uses fresh ones.
            fit.step = step;
            let chains = self.estimator.chains(&fit.estimator);
            if !numeric::all_below(&direction, f64::INFINITY)
                && let Some(parameter) = direction.iter().position(|g| !g.is_finite())
            {
                return Ok(Some(Outcome::NonFinite { step, parameter, value: direction[parameter] }));
            }
            fit.watch.note(&info, &direction, chains, &mut chains_before);
            before.copy_from_slice(&fit.params);
            self.optimizer.ascend(&mut fit.optimizer, &mut fit.params, &direction);
            if let Err(error) = self.estimator.check_params(self.target, self.family, &fit.params) {
                let parameter = fit.params.iter().position(|p| !p.is_finite());
                fit.params.copy_from_slice(&before);
                return Ok(Some(Outcome::Diverged { step, parameter, reason: error.to_string() }));
            }
            if !numeric::all_below(&fit.params, fit.reach)
                && let Some(parameter) = fit.params.iter().position(|param| param.abs() > fit.reach)
            {
                let (value, reach) = (fit.params[parameter], fit.reach);
                let reason = format!(
                    "params[{parameter}] is {value:e}, beyond {reach:e}, 1e10 times what the fit began with: a smaller rate may help"
                );
                fit.params.copy_from_slice(&before);
                return Ok(Some(Outcome::Diverged { step, parameter: Some(parameter), reason }));
            }
            let view = View { fit, direction: &direction, info: &info };
            let mut wish = None;
            for seat in &mut run.observers {
                if let ControlFlow::Break(stop) = seat.observer().observe(&view) {
                    wish.get_or_insert(stop);
                }
            }
            // The rule observes every step, including one after which an observer stops the run.
            let decided = run.rule.as_mut().and_then(|rule| rule.after_step(self.family, self.seed, fit));
            if fit.watch.blind() >= BLIND {
                let non_finite = fit.watch.non_finite();
                return Ok(Some(Outcome::NothingFinite { step, steps: fit.watch.take_blind(), non_finite }));
            }
            if let Some(outcome) = decided.or(wish.map(Outcome::Stopped)) {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    /// Checks that a fit belongs to this ascent.
    pub(crate) fn check(&self, fit: &Fit<E::State, O::State>) -> Result<(), Error> {
        fit.configs.same(&self.configs())?;
        self.fits(fit)
    }

    /// Checks the shapes of a fit's states and, once after it was read from a file, its cached densities.
    fn fits(&self, fit: &Fit<E::State, O::State>) -> Result<(), Error> {
        if fit.seed != self.seed {
            return Err(Error::invalid(format!(
                "the fit was started with seed {}, not {}",
                fit.seed, self.seed
            )));
        }
        self.estimator.check_params(self.target, self.family, &fit.params)?;
        self.estimator.check(self.target, self.family, &fit.estimator)?;
        let chains = self.estimator.chains(&fit.estimator).map_or(0, |chains| chains.len());
        fit.watch.check(fit.params.len(), chains)?;
        fit.iterates.as_ref().map_or(Ok(()), |iterates| iterates.check(fit.params.len()))?;
        self.optimizer.check(fit.params.len(), &fit.optimizer)?;
        match fit.verified.0 {
            true => Ok(()),
            false => self.estimator.verify(self.target, self.family, &fit.estimator),
        }
    }
}
