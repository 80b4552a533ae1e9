//! Variances and biases of estimators at fixed lambda.

use mcsa_core::{Address, Counted, Error, Estimator, Family, Gradient, Stream, bits, same_length};
use mcsa_families::MeanField;
use serde::{Deserialize, Serialize};

use super::running::JobRun;
use super::{JobEnd, Running, totals};
use crate::catalog::Views;
use crate::store::Row;
use crate::task::{Job, Scatter, Setting, Variance};

impl Variance {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<JobEnd>, Error> {
        let problem = self.target.build(running.catalogue, job.seed)?;
        let dim = problem.posterior.dim();
        let target = Counted::new(&*problem.posterior);
        let built = MeanField::new(dim);
        let counted = Counted::new(&built);
        // Parameters at which the family equals the target.
        let at_target = built.at(&vec![0.0; dim], &vec![1.0; dim])?;
        let params = built.at(&vec![self.gap; dim], &vec![self.scale; dim])?;
        let (family, plain): (&dyn Family, &dyn Gradient) = (&counted, &target);
        let views = Views { closed: Some(&counted), pushforward: None };
        let estimator = self.method.build(views, None)?;
        let counts = || totals(target.counts(), &[counted.counts()]);
        let mut run = JobRun::resume(job, running, Sums::new(params.len()), &counts)?;
        run.records.check(params.len()).map_err(|error| run.checkpoints.named(error))?;
        let mut lanes = job.seed.named("states").streams(estimator.lanes(), 0);
        let mut drawn = job.seed.named("transitions").streams(estimator.lanes(), 0);
        let mut direction = vec![0.0; params.len()];
        let mut work = vec![0.0; estimator.work_len(plain, family)];
        let is_over = run.make(run.records.count, |_, sums, number| {
            // Equal addresses give equal states: chains drawn from the target itself, by the `q` that equals it.
            lanes.iter_mut().zip(0..).for_each(|(lane, k)| lane.go_to(Address::of(k, 0)));
            drawn.iter_mut().zip(0..).for_each(|(lane, k)| lane.go_to(Address::of(k, number + 1)));
            let mut state = estimator.init(plain, family, &at_target, &mut lanes)?;
            let (lanes, out, work) = (&mut drawn, &mut direction, &mut work);
            estimator.ascent_direction(plain, family, &params, &mut state, lanes, out, work)?;
            sums.add(&direction);
            Ok(())
        })?;
        let sum: f64 = run.records.square[..params.len() / 2].iter().sum();
        let value = sum / (self.transitions.max(2) - 1) as f64;
        let rows = vec![Row::new(self.transitions, [("variance", value)])];
        Ok(is_over.then(|| (rows, run.meter.cost())))
    }
}

impl Scatter {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<JobEnd>, Error> {
        let problem = self.target.build(running.catalogue, job.seed)?;
        let target = Counted::new(&*problem.posterior);
        let built = MeanField::new(self.setting.dim);
        let counted = Counted::new(&built);
        let (family, plain): (&dyn Family, &dyn Gradient) = (&counted, &target);
        let views = Views { closed: Some(&counted), pushforward: None };
        let estimator = self.method.build(views, None)?;
        let setting = &self.setting;
        // Rows of completed parameters, and the sums over chains at the current one.
        let counts = || totals(target.counts(), &[counted.counts()]);
        let start = (Vec::<Row>::new(), Sums::new(setting.dim));
        let mut run = JobRun::resume(job, running, start, &counts)?;
        let (rows, sums) = &run.records;
        sums.check(setting.dim).map_err(|error| run.checkpoints.named(error))?;
        let mut direction = vec![0.0; 2 * setting.dim];
        let mut work = vec![0.0; estimator.work_len(plain, family)];
        let made = rows.len() as u64 * setting.chains + sums.count;
        let is_over = run.make(made, |_, (rows, sums), number| {
            let (lambda, chain) = (number / setting.chains + 1, number % setting.chains);
            let mean = mean_of(setting, &mut job.seed.named("lambda").stream(0, lambda));
            let params = built.at(&mean, &vec![setting.scale; setting.dim])?;
            let seed = job.seed.named("chains").child(lambda).child(chain);
            let mut around = seed.named("start").stream(0, 0);
            let centre: Vec<f64> = (0..setting.dim).map(|_| around.normal()).collect();
            let start = built.at(&centre, &vec![setting.start; setting.dim])?;
            let mut lanes = seed.streams(estimator.lanes(), 0);
            let mut state = estimator.init(plain, family, &start, &mut lanes)?;
            for step in 1..=setting.length {
                lanes.iter_mut().zip(0..).for_each(|(lane, k)| lane.go_to(Address::of(k, step)));
                let (lanes, out, work) = (&mut lanes, &mut direction, &mut work);
                estimator.ascent_direction(plain, family, &params, &mut state, lanes, out, work)?;
            }
            sums.add(&direction[..setting.dim]);
            if sums.count == setting.chains {
                // E_p s = (E_p z - mu) / scale^2.
                let expected: Vec<f64> = mean.iter().map(|m| -m / setting.scale.powi(2)).collect();
                let stream = job.seed.named("measure").stream(0, lambda);
                let measures = (problem.evaluator)(&built, &params, stream)?;
                rows.push(Row::new(lambda, measures.into_iter().chain(spread(sums, &expected))));
                *sums = Sums::new(setting.dim);
            }
            Ok(())
        })?;
        Ok(is_over.then(|| (run.records.0, run.meter.cost())))
    }
}

fn mean_of(setting: &Setting, stream: &mut Stream) -> Vec<f64> {
    let square: f64 = (0..setting.freedom).map(|_| stream.normal().powi(2)).sum();
    let scale = setting.spread / (square / setting.freedom as f64).sqrt();
    (0..setting.dim).map(|_| scale * stream.normal()).collect()
}

/// Variance and bias of directions, by our definition and then as published.
fn spread(sums: &Sums, expected: &[f64]) -> [(&'static str, f64); 4] {
    let (count, dim) = (sums.count as f64, sums.mean.len() as f64);
    let within: f64 = sums.square.iter().sum();
    let grand = sums.mean.iter().sum::<f64>() / dim;
    let between: f64 = sums.mean.iter().map(|mean| (mean - grand).powi(2)).sum();
    let errors = || sums.mean.iter().zip(expected).map(|(mean, expected)| mean - expected);
    [
        ("variance", within / (count - 1.0)),
        ("bias", errors().map(|error| error * error).sum::<f64>().sqrt()),
        ("pooled_variance", (within + count * between) / (count * dim - 1.0)),
        ("pooled_bias", (errors().sum::<f64>() / dim).abs()),
    ]
}

/// Count, mean and sum of squared deviations from the mean.
///
/// ```text
/// mean_n = mean_{n-1} + (g - mean_{n-1}) / n,     square_n = square_{n-1} + (g - mean_{n-1}) (g - mean_n)
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) count: u64,
    #[serde(with = "bits::vector")]
    pub(crate) mean: Vec<f64>,
    #[serde(with = "bits::vector")]
    pub(crate) square: Vec<f64>,
}

impl Sums {
    pub(crate) fn new(len: usize) -> Self {
        Self { count: 0, mean: vec![0.0; len], square: vec![0.0; len] }
    }

    /// It is an error if sums from a checkpoint have not `len` coordinates.
    fn check(&self, len: usize) -> Result<(), Error> {
        same_length("means of directions", len, self.mean.len())?;
        same_length("squares of directions", len, self.square.len())
    }

    pub(crate) fn add(&mut self, values: &[f64]) {
        self.count += 1;
        for ((g, mean), square) in values.iter().zip(&mut self.mean).zip(&mut self.square) {
            let off = g - *mean;
            *mean += off / self.count as f64;
            *square += off * (g - *mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two directions in two coordinates, by hand: variances 2 and 8 about means 1 and 3; all four entries about 2.
    #[test]
    fn sums_are_those_of_the_definition() {
        let mut sums = Sums::new(2);
        sums.add(&[0.0, 1.0]);
        sums.add(&[2.0, 5.0]);
        let found = spread(&sums, &[1.0, 0.0]).map(|(_, value)| value);
        let expected = [10.0, 3.0, 14.0 / 3.0, 1.5];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }
}
