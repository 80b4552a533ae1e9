//! Variances of estimators at fixed lambda.

use mcsa_core::{Address, Counted, Error, Estimator, Seed};
use mcsa_families::MeanField;

use super::checkpoints::Checkpoints;
use super::spent::{Meter, Spent};
use super::sums::Sums;
use super::{Done, Running, totals};
use crate::catalog::{CountedFamily, CountedTarget, WithEstimator};
use crate::store::Row;
use crate::task::{Job, Variance};

impl Variance {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        let checkpoints = Checkpoints::new(job, running);
        let problem = self.target.build(running.catalogue, job.seed)?;
        let dim = problem.posterior.dim();
        let target = Counted::new(&*problem.posterior);
        let built = MeanField::new(dim);
        let family: CountedFamily<'_> = Counted::new(&built);
        let at_target = built.at(&vec![0.0; dim], &vec![1.0; dim])?;
        let params = built.at(&vec![self.gap; dim], &vec![self.scale; dim])?;
        let (variance, seed) = (self, job.seed);
        let scene =
            Scene { variance, seed, checkpoints, target: &target, family: &family, at_target, params };
        self.method.meet(scene)
    }
}

struct Scene<'s, 'a> {
    variance: &'s Variance,
    seed: Seed,
    checkpoints: Checkpoints<'s>,
    target: &'s CountedTarget<'a>,
    family: &'s CountedFamily<'a>,
    /// Parameters at which the family equals the target.
    at_target: Vec<f64>,
    params: Vec<f64>,
}

impl<'a> WithEstimator<'a> for Scene<'_, 'a> {
    type Out = Option<Done>;

    fn with<E: Estimator<CountedTarget<'a>, CountedFamily<'a>>>(
        self,
        estimator: E,
    ) -> Result<Option<Done>, Error> {
        let Self { variance, seed, mut checkpoints, target, family, at_target, params } = self;
        let num_params = params.len();
        let start = || (Sums::new(num_params), Spent::default());
        let (mut sums, before): (Sums, _) = checkpoints.last()?.unwrap_or_else(start);
        sums.check(num_params).map_err(|error| checkpoints.named(error))?;
        let meter = Meter::after(before);
        let spent = || meter.spent(totals(target.counts(), &[family.counts()]));
        let effort = variance.method.effort();
        checkpoints.tell(sums.count * effort);
        let mut lanes = seed.named("states").streams(estimator.lanes(), 0);
        let mut drawn = seed.named("transitions").streams(estimator.lanes(), 0);
        let mut direction = vec![0.0; num_params];
        let mut work = vec![0.0; estimator.work_len(target, family)];
        while sums.count < variance.transitions {
            let made = checkpoints.stretch(variance.transitions - sums.count);
            for transition in sums.count + 1..=sums.count + made {
                // Equal addresses give equal states: chains drawn from the target itself, by the `q` that equals it.
                lanes.iter_mut().zip(0..).for_each(|(lane, k)| lane.go_to(Address::of(k, 0)));
                drawn.iter_mut().zip(0..).for_each(|(lane, k)| lane.go_to(Address::of(k, transition)));
                let mut state = estimator.init(target, family, &at_target, &mut lanes)?;
                let (lanes, out) = (&mut drawn, &mut direction);
                estimator.ascent_direction(target, family, &params, &mut state, lanes, out, &mut work)?;
                sums.add(&direction);
            }
            if !checkpoints.goes_on(made, made * effort, || (&sums, spent())) {
                return Ok(None);
            }
        }
        let sum: f64 = sums.square[..num_params / 2].iter().sum();
        let value = sum / (variance.transitions.max(2) - 1) as f64;
        Ok(Some((vec![Row::new(variance.transitions, [("variance", value)])], spent().ended())))
    }
}
