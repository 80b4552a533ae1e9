//! Optimisation loop: the fixed parts of a fit, its runs, its state, its configurations, and observers.

use std::ops::ControlFlow;
use std::path::PathBuf;

use faer::Mat;
use mcsa_core::{
    Error, Estimator, Family, Optimizer, Record, Seed, Stream, bits, checksum, fits_in_memory, numeric,
    type_name,
};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};

use crate::checkpoint::{Checkpoint, Progress, fit_file};
use crate::iterates::Iterates;
use crate::statistics::positions;
use crate::stopping::Judging;
use crate::{Outcome, ParamsOrigin, RunStatistics, Stationary, Stop};

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
    pub fn start(&self, params: Vec<f64>) -> Result<AscentState<E::State, O::State>, Error> {
        self.start_with(params, |params, lanes| self.estimator.init(self.target, self.family, params, lanes))
    }

    /// Starts a fit at lambda `params` with the chains at the columns of `positions`, such as the last points of a warm-up.
    ///
    /// # Errors
    /// As [`start`](Self::start); if the number of points is not the number of chains, a point has another dimension or is not
    /// finite, or the estimator has no chains.
    pub fn start_at(
        &self,
        params: Vec<f64>,
        positions: Mat<f64>,
    ) -> Result<AscentState<E::State, O::State>, Error> {
        self.start_with(params, |params, lanes| {
            self.estimator.init_at(self.target, self.family, params, positions, lanes)
        })
    }

    fn start_with(
        &self,
        params: Vec<f64>,
        init: impl FnOnce(&[f64], &mut [Stream]) -> Result<E::State, Error>,
    ) -> Result<AscentState<E::State, O::State>, Error> {
        let refuse = |error: Error| error.within("Ascent");
        self.estimator.check_params(self.target, self.family, &params).map_err(refuse)?;
        fits_in_memory("lanes", self.estimator.lanes(), Stream::NUMBERS).map_err(refuse)?;
        let mut lanes = self.seed.streams(self.estimator.lanes(), 0);
        let estimator = init(&params, &mut lanes).map_err(refuse)?;
        let optimizer = self.optimizer.init(params.len());
        let chains = self.estimator.chains(&estimator).map_or(0, |chains| chains.len());
        let watch = RunStatistics::new(params.len(), chains);
        let reach = FARTHEST * params.iter().fold(1.0_f64, |reach, param| reach.max(param.abs()));
        Ok(AscentState {
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
        start: impl FnOnce() -> Result<AscentState<E::State, O::State>, Error>,
    ) -> Result<AscentState<E::State, O::State>, Error> {
        let file = fit_file(path);
        let Some(fit) = file.read()? else { return start() };
        self.check(&fit).map_err(|error| file.refuse(&error.to_string()))?;
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
    /// # Errors
    /// If seed, target or family differ, or the states do not match.
    pub fn adopt(&self, fit: &mut AscentState<E::State, O::State>) -> Result<(), Error> {
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
    /// # Errors
    /// If the fit belongs to another seed, target, family, estimator or optimiser; the message names the difference. If an
    /// observer fails, such as a checkpoint that cannot be written.
    pub fn run<'r>(
        &self,
        fit: &mut AscentState<E::State, O::State>,
        run: impl Into<Run<'r, F, E::State, O::State>>,
    ) -> Result<Outcome, Error>
    where
        F: 'r,
    {
        let mut run = run.into();
        let steps = if run.is_total { run.steps.saturating_sub(fit.step) } else { run.steps };
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        run.observers.iter_mut().try_for_each(|seat| seat.observer().begin(fit, steps))?;
        let outcome = match self.advance(fit, steps, &mut run)? {
            Some(outcome) => outcome,
            None if fit.watch.steps_without_movement() > 0 => {
                Outcome::PathStoodStill { steps: fit.watch.steps_without_movement() }
            }
            None => {
                let at_end = run.rule.as_mut().and_then(|rule| rule((self.family, self.seed), fit, true));
                at_end.unwrap_or(Outcome::BudgetSpent { accuracy: None })
            }
        };
        run.observers.iter_mut().try_for_each(|seat| seat.observer().finish(fit, &outcome))?;
        Ok(outcome)
    }

    /// The loop. `None` if all steps were made.
    fn advance(
        &self,
        fit: &mut AscentState<E::State, O::State>,
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
            let decided = run.rule.as_mut().and_then(|rule| rule((self.family, self.seed), fit, false));
            if fit.watch.steps_without_finite_density() >= BLIND {
                let (non_finite, steps) = (fit.watch.non_finite(), std::mem::take(&mut fit.watch.blind));
                return Ok(Some(Outcome::NothingFinite { step, steps, non_finite }));
            }
            if let Some(outcome) = decided.or(wish.map(Outcome::Stopped)) {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    /// The recommended lambda and its origin, of a fit that belongs to this ascent.
    pub(crate) fn judged<'f>(
        &self,
        fit: &'f AscentState<E::State, O::State>,
    ) -> Result<(ParamsOrigin, &'f [f64]), Error> {
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        Ok(self.recommended(fit))
    }

    /// The recommended lambda and its origin: the average that a [`Stationary`](crate::Stationary) rule reported at the
    /// last step, else the average that the optimiser keeps, else the last iterate. An average that is invalid for the
    /// family is skipped.
    pub fn recommended<'f>(&self, fit: &'f AscentState<E::State, O::State>) -> (ParamsOrigin, &'f [f64]) {
        let sound = |params: &[f64]| self.estimator.check_params(self.target, self.family, params).is_ok();
        if let Some((window, average)) = fit.stated().filter(|(_, average)| sound(average)) {
            return (ParamsOrigin::RuleAverage { window }, average);
        }
        match self.optimizer.average(fit.optimizer()).filter(|average| sound(average)) {
            Some(average) => (ParamsOrigin::OptimizerAverage, average),
            None => (ParamsOrigin::LastIterate, fit.params()),
        }
    }

    /// Checks that a fit belongs to this ascent.
    pub(crate) fn check(&self, fit: &AscentState<E::State, O::State>) -> Result<(), Error> {
        fit.configs.same(&self.configs())?;
        self.fits(fit)
    }

    /// Checks the shapes of a fit's states and, once after it was read from a file, its cached densities.
    fn fits(&self, fit: &AscentState<E::State, O::State>) -> Result<(), Error> {
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

/// Run of a fit: the number of steps, and what happens along the way.
///
/// ```
/// use std::ops::ControlFlow;
/// use mcsa_core::Seed;
/// use mcsa_estimators::{Ascent, Run, Stationary, View, pmcsa};
/// # let (target, family) = (mcsa_models::Gaussian::standard(2), mcsa_families::MeanField::new(2));
/// # let optimizer = mcsa_optim::Adam::new(0.01)?;
/// let ascent = Ascent { target: &target, family: &family, estimator: pmcsa(10), optimizer, seed: Seed::new(1) };
/// let mut fit = ascent.start(vec![1.0, 1.0, 0.0, 0.0])?;
/// let mut path = Vec::new();
/// let mut keep = |view: &View<'_, _, _>| {
///     path.push(view.fit.params()[0]);
///     ControlFlow::Continue(())
/// };
/// let outcome = ascent.run(&mut fit, Run::of(20_000).until(Stationary::to(0.2)?).observe(&mut keep))?;
/// assert!(path.len() as u64 == fit.step() && fit.step() < 20_000, "{outcome}");
/// # Ok::<(), mcsa_core::Error>(())
/// ```
/// A number of steps alone is a run without rule and observers: `ascent.run(&mut fit, 1_000)`.
pub struct Run<'r, F: ?Sized, S, O> {
    steps: u64,
    /// True if `steps` counts those of earlier runs too.
    is_total: bool,
    rule: Option<Box<Rule<'r, F, S, O>>>,
    observers: Vec<Seat<'r, S, O>>,
}

/// [`Judging::judge`] of a rule.
type Rule<'r, F, S, O> = dyn FnMut((&F, Seed), &mut AscentState<S, O>, bool) -> Option<Outcome> + 'r;

/// An observer, lent or owned by the run.
enum Seat<'r, S, O> {
    Lent(&'r mut dyn Observer<S, O>),
    Owned(Box<dyn Observer<S, O> + 'r>),
}

impl<'r, S, O> Seat<'r, S, O> {
    fn observer(&mut self) -> &mut (dyn Observer<S, O> + 'r) {
        match self {
            Self::Lent(observer) => *observer,
            Self::Owned(observer) => observer.as_mut(),
        }
    }
}

impl<'r, F: ?Sized, S, O> Run<'r, F, S, O> {
    /// A run of `steps` more steps.
    pub fn of(steps: u64) -> Self {
        Self { steps, is_total: false, rule: None, observers: Vec::new() }
    }

    /// A run until the fit has made `step` steps in all, those of earlier runs included. A run that is interrupted and continued
    /// from its checkpoint thus ends at the same step.
    pub fn to(step: u64) -> Self {
        Self { is_total: true, ..Self::of(step) }
    }

    /// This run, ended earlier when the rule's accuracy is reached. The averaged iterate is in the
    /// [`Accuracy`](crate::Accuracy) of the outcome; averages start at the first step made under a rule.
    #[must_use]
    pub fn until(self, rule: Stationary) -> Self
    where
        F: Family,
    {
        let mut judging = Judging::new(rule);
        let judge = move |place: (&F, Seed), fit: &mut AscentState<S, O>, are_made| {
            judging.judge(place, fit, are_made)
        };
        Self { rule: Some(Box::new(judge)), ..self }
    }

    /// This run with an observer of every step.
    #[must_use]
    pub fn observe(mut self, observer: &'r mut dyn Observer<S, O>) -> Self {
        self.observers.push(Seat::Lent(observer));
        self
    }

    /// This run with the fit saved to a file before the first step, every `steps` steps and at the end. A fit continued from the file
    /// by [`Ascent::resume_or`] is bit-identical to one that was never interrupted.
    ///
    /// The file is replaced as a whole, so an interruption at any time leaves the former or the new one, and a checksum detects a
    /// damaged file. A file that holds another fit, a later step of this one, or anything else is not overwritten: the run ends with an
    /// error before its first step, as it does if the file cannot be written. Later the run goes on, tries again when the next
    /// checkpoint is due, and returns an error only if the last one fails too; the fit in memory is complete then.
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>, steps: u64) -> Self
    where
        S: Serialize + DeserializeOwned + 'r,
        O: Serialize + DeserializeOwned + 'r,
    {
        self.observers.push(Seat::Owned(Box::new(Checkpoint { file: fit_file(path), steps: steps.max(1) })));
        self
    }

    /// This run with a progress bar on standard error: steps, time left, acceptance rate. Silent if standard error is not a terminal.
    #[must_use]
    pub fn progress(mut self) -> Self {
        self.observers.push(Seat::Owned(Box::<Progress>::default()));
        self
    }
}

impl<F: ?Sized, S, O> From<u64> for Run<'_, F, S, O> {
    fn from(steps: u64) -> Self {
        Self::of(steps)
    }
}

/// The complete state of a fit, which is its checkpoint.
///
/// A fit belongs to the target, family, estimator, optimiser and seed it was started with: it keeps their configurations,
/// which are compared in every run. The data of a target are compared through the log density at the chains: the first use
/// of a fit read from a file evaluates that density once more, if the estimator caches it.
///
/// Any serde format can store it. Reading a fit with other state types returns an error that names them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AscentState<S, O> {
    #[serde(deserialize_with = "read_configs::<S, O, _>")]
    pub(crate) configs: Configs,
    pub(crate) seed: Seed,
    pub(crate) step: u64,
    #[serde(with = "bits::vector")]
    pub(crate) params: Vec<f64>,
    pub(crate) estimator: S,
    pub(crate) optimizer: O,
    pub(crate) watch: RunStatistics,
    pub(crate) iterates: Option<Iterates>,
    #[serde(with = "bits::scalar")]
    pub(crate) reach: f64,
    #[serde(skip)]
    pub(crate) verified: Verified,
}

/// True if the cached densities of a fit were compared with the target since it was read from a file. Ignored by `==`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Verified(pub(crate) bool);

impl PartialEq for Verified {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<S, O> AscentState<S, O> {
    /// Number of steps made, including those whose direction was rejected.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The current lambda.
    pub fn params(&self) -> &[f64] {
        &self.params
    }

    /// The estimator's state: the chains.
    pub fn estimator(&self) -> &S {
        &self.estimator
    }

    /// The optimiser's state.
    pub fn optimizer(&self) -> &O {
        &self.optimizer
    }

    /// The running record of the steps.
    pub fn statistics(&self) -> &RunStatistics {
        &self.watch
    }

    /// The average that a stopping rule reported after the last step, and the number of steps it covers.
    pub(crate) fn stated(&self) -> Option<(u64, &[f64])> {
        self.iterates.as_ref().and_then(|iterates| iterates.stated(self.step))
    }

    /// Lambda, and the block means of its path since a stopping rule first observed the fit; the path starts now if none did.
    pub(crate) fn path(&mut self) -> (&[f64], &mut Iterates) {
        let count = self.params.len();
        (&self.params, self.iterates.get_or_insert_with(|| Iterates::new(count)))
    }
}

/// Number of characters up to which a configuration is kept in full; a longer one is kept with its length and checksum.
const LONGEST: usize = 600;

/// The configurations of a fit and the type names of its states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Configs {
    target: String,
    family: String,
    estimator: String,
    optimizer: String,
    states: [String; 2],
}

/// Deserialises configurations and checks the state types, before the states themselves are read.
fn read_configs<'de, S, O, D: Deserializer<'de>>(deserializer: D) -> Result<Configs, D::Error> {
    let read = Configs::deserialize(deserializer)?;
    let states = [type_name::<S>(), type_name::<O>()];
    if read.states == states {
        return Ok(read);
    }
    let ([estimator, optimizer], [of_estimator, of_optimizer]) = (&read.states, &states);
    Err(D::Error::custom(format!(
        "the fit was made by {} with {}, whose states are {estimator} and {optimizer}; it is read as one with states \
         {of_estimator} and {of_optimizer}: read it for the estimator and the optimizer that made it",
        read.estimator, read.optimizer
    )))
}

impl Configs {
    /// Configurations of a fit with states of types `S` and `O`.
    pub(crate) fn of<P: ?Sized, S, O>(family: String, estimator: String, optimizer: String) -> Self {
        Self {
            target: short(type_name::<P>()),
            family: short(family),
            estimator: short(estimator),
            optimizer: short(optimizer),
            states: [type_name::<S>(), type_name::<O>()],
        }
    }

    /// Checks that a fit with these configurations can continue under `new` ones.
    pub(crate) fn same(&self, new: &Self) -> Result<(), Error> {
        let start = "start a new fit instead, from its params if they mean the same";
        same("target", &self.target, &new.target, start)?;
        same("family", &self.family, &new.family, start)?;
        let adopt = "go on with the former, or change it on purpose by Ascent::adopt";
        same("estimator", &self.estimator, &new.estimator, adopt)?;
        same("optimizer", &self.optimizer, &new.optimizer, adopt)
    }

    /// Checks that estimator and optimiser may be replaced by those of `new`.
    pub(crate) fn may_become(&self, new: &Self) -> Result<(), Error> {
        let new = Self { target: new.target.clone(), family: new.family.clone(), ..self.clone() };
        self.same(&new)
    }
}

fn same(what: &str, old: &str, new: &str, advice: &str) -> Result<(), Error> {
    if old == new {
        return Ok(());
    }
    let (was, is) = difference(old, new);
    Err(Error::invalid(format!("the fit was made with another {what}: it had `{was}`, not `{is}`; {advice}")))
}

/// The differing entries of two configurations, from the first to the last.
fn difference<'t>(old: &'t str, new: &'t str) -> (&'t str, &'t str) {
    let same = old.char_indices().zip(new.chars()).take_while(|((_, a), b)| a == b);
    let head = same.last().map_or(0, |((k, a), _)| k + a.len_utf8());
    let start = old[..head].rfind(['{', ',']).map_or(0, |k| k + 1);
    let most = old.len().min(new.len()) - head;
    let pairs = old.char_indices().rev().zip(new.chars().rev());
    let tail = pairs.take_while(|((k, a), b)| a == b && old.len() - k <= most).last();
    let tail = tail.map_or(0, |((k, _), _)| old.len() - k);
    let cut = |text: &'t str| {
        let from = text.len() - tail;
        let end = text[from..].find(['}', ',']).map_or(text.len(), |k| from + k);
        text[start..end].trim()
    };
    match (cut(old), cut(new)) {
        ("", _) | (_, "") => (old, new),
        entries => entries,
    }
}

fn short(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let head: String = text.chars().take(LONGEST / 2).collect();
    format!("{head} .. ({} letters, checksum {:016x})", text.len(), checksum(text.bytes()))
}

/// Read-only view of a fit after a step.
pub struct View<'a, S, O> {
    /// The fit after the step: its step, counted from 1, its params lambda, its chains.
    pub fit: &'a AscentState<S, O>,
    /// The ascent direction of the step.
    pub direction: &'a [f64],
    /// The estimator's metrics.
    pub info: &'a dyn Record,
}

/// Observer of a run of a fit with estimator state `S` and optimiser state `O`. The iterates are bit-identical with or without
/// observers.
///
/// Any closure `FnMut(&View<S, O>) -> ControlFlow<Stop>` is an observer.
pub trait Observer<S, O> {
    /// Called before the first step of a run of at most `steps` steps. The default does nothing.
    ///
    /// # Errors
    /// If the observer cannot do its work; the run then ends before its first step.
    fn begin(&mut self, fit: &AscentState<S, O>, steps: u64) -> Result<(), Error> {
        let _ = (fit, steps);
        Ok(())
    }

    /// Called after every step.
    fn observe(&mut self, view: &View<'_, S, O>) -> ControlFlow<Stop>;

    /// Called when the run has ended. The default does nothing.
    ///
    /// # Errors
    /// If the observer could not do its work. The run returns this error; the fit remains valid.
    fn finish(&mut self, fit: &AscentState<S, O>, outcome: &Outcome) -> Result<(), Error> {
        let _ = (fit, outcome);
        Ok(())
    }
}

impl<S, O, T: FnMut(&View<'_, S, O>) -> ControlFlow<Stop>> Observer<S, O> for T {
    fn observe(&mut self, view: &View<'_, S, O>) -> ControlFlow<Stop> {
        self(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_that_differs_is_named() {
        let adam = |rate: &str| format!("Adam(Settings {{ rate: {rate}, first: 0.9, second: 0.999 }})");
        assert_eq!(difference(&adam("0.01"), &adam("0.001")), ("rate: 0.01", "rate: 0.001"));
        assert_eq!(difference(&adam("Constant(0.5)"), &adam("Constant(0.25)")).1, "rate: Constant(0.25)");
        assert_eq!(difference("Sgd { rate: 1.0 }", "Adam"), ("Sgd { rate: 1.0 }", "Adam"));
        assert_eq!(difference("A { k: 1 }", "A { k: 11 }"), ("k: 1", "k: 11"));
        assert_eq!(difference("{a, a, b}", "{a, b}"), ("a, b", "b"));
        assert_eq!(difference("MeanField", "MeanField { dim: 1 }"), ("MeanField", "MeanField { dim: 1 }"));
        let error = same("optimizer", &adam("0.1"), &adam("0.2"), "go on").unwrap_err().to_string();
        assert_eq!(
            error,
            "the fit was made with another optimizer: it had `rate: 0.1`, not `rate: 0.2`; go on"
        );
    }

    #[test]
    fn long_configurations_are_told_apart_by_their_ends() {
        let long = |end: &str| short(format!("{}{end}", "é".repeat(500)));
        assert_eq!(long("a"), long("a"));
        assert!(long("a") != long("b") && long("a").len() < 1_000);
        assert_eq!(short("Imh".into()), "Imh");
    }
}
