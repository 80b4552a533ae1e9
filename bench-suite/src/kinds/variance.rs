//! Variances of estimators at fixed lambda.

use mcsa_core::{Address, Counted, Error, Estimator, Gradient};
use mcsa_families::MeanField;

use super::checkpoints::Checkpoints;
use super::spent::{Meter, Spent};
use super::sums::Sums;
use super::{Done, Running, totals};
use crate::catalog::Views;
use crate::store::Row;
use crate::task::{Job, Variance};

impl Variance {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        let mut checkpoints = Checkpoints::new(job, running);
        let problem = self.target.build(running.catalogue, job.seed)?;
        let dim = problem.posterior.dim();
        let target = Counted::new(&*problem.posterior);
        let built = MeanField::new(dim);
        let family = Counted::new(&built);
        // Parameters at which the family equals the target.
        let at_target = built.at(&vec![0.0; dim], &vec![1.0; dim])?;
        let params = built.at(&vec![self.gap; dim], &vec![self.scale; dim])?;
        let (views, plain): (_, &dyn Gradient) = (Views::closed(&family), &target);
        let estimator = self.method.build(views, None)?;
        let num_params = params.len();
        let start = || (Sums::new(num_params), Spent::default());
        let (mut sums, before): (Sums, _) = checkpoints.last()?.unwrap_or_else(start);
        sums.check(num_params).map_err(|error| checkpoints.named(error))?;
        let meter = Meter::after(before);
        let spent = || meter.spent(totals(target.counts(), &[family.counts()]));
        let effort = self.method.effort();
        checkpoints.tell(sums.count * effort);
        let mut lanes = job.seed.named("states").streams(estimator.lanes(), 0);
        let mut drawn = job.seed.named("transitions").streams(estimator.lanes(), 0);
        let mut direction = vec![0.0; num_params];
        let mut work = vec![0.0; estimator.work_len(plain, views.family)];
        while sums.count < self.transitions {
            let made = checkpoints.stretch(self.transitions - sums.count);
            for transition in sums.count + 1..=sums.count + made {
                // Equal addresses give equal states: chains drawn from the target itself, by the `q` that equals it.
                lanes.iter_mut().zip(0..).for_each(|(lane, k)| lane.go_to(Address::of(k, 0)));
                drawn.iter_mut().zip(0..).for_each(|(lane, k)| lane.go_to(Address::of(k, transition)));
                let mut state = estimator.init(plain, views.family, &at_target, &mut lanes)?;
                let (lanes, out) = (&mut drawn, &mut direction);
                estimator.ascent_direction(
                    plain,
                    views.family,
                    &params,
                    &mut state,
                    lanes,
                    out,
                    &mut work,
                )?;
                sums.add(&direction);
            }
            if !checkpoints.goes_on(made, made * effort, || (&sums, spent())) {
                return Ok(None);
            }
        }
        let sum: f64 = sums.square[..num_params / 2].iter().sum();
        let value = sum / (self.transitions.max(2) - 1) as f64;
        Ok(Some((vec![Row::new(self.transitions, [("variance", value)])], spent().ended())))
    }
}
