//! Variances of estimators while lambda stays.

use mcsa::{Address, Counted, Error, Estimator, Seed};
use mcsa_families::MeanField;
use serde::{Deserialize, Serialize};

use super::{Done, Running, aside, now, totals};
use crate::catalog::{CountedFamily, CountedTarget, Method, Target, WithEstimator};
use crate::experiment::Preset;
use crate::grid::{Entry, expand};
use crate::store::{Ended, Row};

/// The section `[variances]`: every method at every gap between the target and `q`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variances {
    /// The dimension of the target, a standard normal.
    pub dim: usize,
    /// The standard deviation of `q`.
    pub scale: f64,
    /// How far the mean of `q` is from that of the target, in each coordinate.
    pub gaps: Vec<f64>,
    /// What is compared.
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
}

/// The variance of one method's direction, given the states its chains are in.
///
/// ```text
/// p = N(0, I),   q = N(gap, scale^2 I),   states ~ p, drawn once;   sum_i Var(g_i | states) over the means' part of lambda
/// ```
/// `transitions` directions are drawn, each from the same states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variance {
    /// The target: a standard normal.
    pub target: Target,
    /// The standard deviation of `q`.
    pub scale: f64,
    /// The mean of `q`.
    pub gap: f64,
    /// Whose direction.
    pub method: Method,
    /// From how many transitions.
    pub transitions: u64,
}

impl Variances {
    pub(crate) fn check(&self) -> Result<(), Error> {
        expand::<Method>("variances.method", &self.methods).map(drop)
    }

    pub(crate) fn tasks(&self, preset: &Preset) -> Result<Vec<Variance>, Error> {
        let methods = expand::<Method>("variances.method", &self.methods)?;
        let target = Target::StandardGaussian { dim: self.dim };
        let mut tasks = Vec::new();
        for &gap in &self.gaps {
            for method in methods.iter().map(|m| &m.value).filter(|m| preset.admits(target.label(), m)) {
                tasks.push(Variance {
                    target: target.clone(),
                    scale: self.scale,
                    gap,
                    method: method.clone(),
                    transitions: preset.steps,
                });
            }
        }
        Ok(tasks)
    }
}

impl Variance {
    pub(super) fn run(&self, seed: Seed, running: &Running<'_>) -> Result<Done, Error> {
        let problem = self.target.build(running.catalogue, seed)?;
        let dim = problem.posterior.dim();
        let target = Counted::new(&*problem.posterior);
        let built = MeanField::new(dim);
        let family: CountedFamily<'_> = Counted::new(&built);
        let at_target = built.at(&vec![0.0; dim], &vec![1.0; dim])?;
        let params = built.at(&vec![self.gap; dim], &vec![self.scale; dim])?;
        let scene = Scene { variance: self, seed, target: &target, family: &family, at_target, params };
        let done = self.method.meet(scene)?;
        (running.progress)(self.work());
        Ok(done)
    }

    fn work(&self) -> u64 {
        self.transitions * self.method.effort()
    }
}

struct Scene<'s, 'a> {
    variance: &'s Variance,
    seed: Seed,
    target: &'s CountedTarget<'a>,
    family: &'s CountedFamily<'a>,
    /// The member of the family that is the target.
    at_target: Vec<f64>,
    params: Vec<f64>,
}

impl<'a> WithEstimator<'a> for Scene<'_, 'a> {
    type Out = Done;

    fn with<E: Estimator<CountedTarget<'a>, CountedFamily<'a>>>(self, estimator: E) -> Result<Done, Error> {
        let Self { variance, seed, target, family, at_target, params } = self;
        let start = now();
        let num_params = params.len();
        let mut lanes = aside(seed, "states").streams(estimator.lanes(), 0);
        let mut drawn = aside(seed, "transitions").streams(estimator.lanes(), 0);
        let mut direction = vec![0.0; num_params];
        let mut work = vec![0.0; estimator.work_len(target, family)];
        let (mut mean, mut square) = (vec![0.0; num_params], vec![0.0; num_params]);
        for transition in 1..=variance.transitions {
            // The same addresses give the same states: chains drawn from the target itself, by the `q` that equals it.
            lanes.iter_mut().zip(0..).for_each(|(lane, k)| lane.go_to(Address::of(k, 0)));
            drawn.iter_mut().zip(0..).for_each(|(lane, k)| lane.go_to(Address::of(k, transition)));
            let mut state = estimator.init(target, family, &at_target, &mut lanes)?;
            estimator.ascent_direction(
                target,
                family,
                &params,
                &mut state,
                &mut drawn,
                &mut direction,
                &mut work,
            )?;
            for (k, g) in direction.iter().enumerate() {
                let off = g - mean[k];
                mean[k] += off / transition as f64;
                square[k] += off * (g - mean[k]);
            }
        }
        let sum: f64 = square[..num_params / 2].iter().sum();
        let value = sum / (variance.transitions.max(2) - 1) as f64;
        let row = Row { step: variance.transitions, values: [("variance".to_owned(), value)].into() };
        let counts = totals(target.counts(), family.counts());
        Ok((vec![row], Ended { counts, seconds: start.elapsed().as_secs_f64(), ..Ended::default() }))
    }
}
