//! Variances and biases of estimators at many random parameters.

use std::collections::BTreeMap;

use mcsa_core::{Address, Counted, Error, Estimator, Stream};
use mcsa_families::MeanField;
use serde::{Deserialize, Serialize};

use super::checkpoints::Checkpoints;
use super::spent::{Meter, Spent};
use super::sums::Sums;
use super::{Done, Running, aside, totals};
use crate::catalog::{CountedFamily, CountedTarget, Method, Problem, Target, WithEstimator};
use crate::experiment::Preset;
use crate::grid::{Entry, expand};
use crate::plan::Job;
use crate::store::{Ended, Row};

/// The section `[scatter]`: every method at one set of random parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scatters {
    /// Settings shared by all methods.
    pub setting: Setting,
    /// Methods to compare.
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
}

/// Settings of target, guides and chains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Setting {
    /// Dimension of the target, a standard normal.
    pub dim: usize,
    /// Standard deviation of `q`.
    pub scale: f64,
    /// Scale of the multivariate t from which means of `q` are drawn.
    pub spread: f64,
    /// Degrees of freedom of that t.
    pub freedom: usize,
    /// Number of estimates at each parameter, each from its own chains.
    pub chains: u64,
    /// Number of steps at a parameter; only the estimate of the last step is used.
    pub length: u64,
    /// Standard deviation of the chains' starting points around a point drawn from a standard normal.
    pub start: f64,
}

/// Variance and bias of one method's direction at `lambdas` random parameters, one row for each.
///
/// ```text
/// p = N(0, I),   q = N(mu, scale^2 I),   mu ~ t;   g_c: the means' part of the direction from chains c
/// variance = sum_i Var_c(g_ci),   bias = |mean_c g_c - E_p s|
/// ```
/// As published, `pooled_variance` is the variance over all entries of all directions, so that it includes the differences
/// between the means of different coordinates; `pooled_bias` is the mean of all errors, in which errors of different
/// coordinates cancel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scatter {
    /// Target: a standard normal.
    pub target: Target,
    /// Settings shared by all methods.
    pub setting: Setting,
    /// Estimator of the direction.
    pub method: Method,
    /// Number of parameters.
    pub lambdas: u64,
}

impl Scatters {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Setting { dim, freedom, chains, length, .. } = self.setting;
        if dim == 0 || freedom == 0 || chains < 2 || length == 0 {
            return Err(Error::invalid("scatter: dim, freedom and length are at least 1, chains at least 2"));
        }
        expand::<Method>("scatter.method", &self.methods).map(drop)
    }

    pub(crate) fn tasks(&self, preset: &Preset) -> Result<Vec<Scatter>, Error> {
        let target = Target::StandardGaussian { dim: self.setting.dim };
        let methods =
            expand::<Method>("scatter.method", &self.methods)?.into_iter().map(|placed| placed.value);
        let task =
            |method| Scatter { target: target.clone(), setting: self.setting, method, lambdas: preset.steps };
        Ok(methods.filter(|method| preset.admits(target.label(), method)).map(task).collect())
    }
}

impl Scatter {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<Done>, Error> {
        let checkpoints = Checkpoints::new(job, running);
        let problem = self.target.build(running.catalogue, job.seed)?;
        let target = Counted::new(&*problem.posterior);
        let built = MeanField::new(self.setting.dim);
        let family: CountedFamily<'_> = Counted::new(&built);
        let (problem, target, family, built) = (&problem, &target, &family, &built);
        self.method.meet(Scene { scatter: self, job, checkpoints, problem, target, family, built })
    }

    pub(super) fn work(&self) -> u64 {
        self.lambdas * self.setting.chains * self.work_of_chain()
    }

    fn work_of_chain(&self) -> u64 {
        self.setting.length * self.method.effort()
    }
}

impl Setting {
    /// Draws a mean of `q`.
    fn mean(&self, stream: &mut Stream) -> Vec<f64> {
        let square: f64 = (0..self.freedom).map(|_| stream.normal().powi(2)).sum();
        let scale = self.spread / (square / self.freedom as f64).sqrt();
        (0..self.dim).map(|_| scale * stream.normal()).collect()
    }
}

struct Scene<'s, 'a> {
    scatter: &'s Scatter,
    job: &'s Job,
    checkpoints: Checkpoints<'s>,
    problem: &'s Problem,
    target: &'s CountedTarget<'a>,
    family: &'s CountedFamily<'a>,
    built: &'s MeanField,
}

impl<'a> WithEstimator<'a> for Scene<'_, 'a> {
    type Out = Option<Done>;

    fn with<E: Estimator<CountedTarget<'a>, CountedFamily<'a>>>(
        self,
        estimator: E,
    ) -> Result<Option<Done>, Error> {
        let Self { scatter, job, mut checkpoints, problem, target, family, built } = self;
        let Scatter { setting, lambdas, .. } = scatter;
        // Rows of completed parameters, and the sums over chains at the current one.
        let start = || (Vec::new(), Sums::new(setting.dim), Spent::default());
        let (mut rows, mut sums, before): (Vec<Row>, Sums, _) = checkpoints.last()?.unwrap_or_else(start);
        sums.check(setting.dim).map_err(|error| checkpoints.named(error))?;
        let meter = Meter::after(before);
        let spent = || meter.spent(totals(target.counts(), family.counts()));
        let work_of_chain = scatter.work_of_chain();
        let mut left =
            (lambdas * setting.chains).saturating_sub(rows.len() as u64 * setting.chains + sums.count);
        checkpoints.tell(scatter.work() - left * work_of_chain);
        let mut direction = vec![0.0; 2 * setting.dim];
        let mut work = vec![0.0; estimator.work_len(target, family)];
        for lambda in rows.len() as u64 + 1..=*lambdas {
            let mean = setting.mean(&mut aside(job.seed, "lambda").stream(0, lambda));
            let params = built.at(&mean, &vec![setting.scale; setting.dim])?;
            let seed = aside(job.seed, "chains").child(lambda);
            while sums.count < setting.chains {
                let made = checkpoints.stretch(left).min(setting.chains - sums.count);
                for chain in sums.count..sums.count + made {
                    let seed = seed.child(chain);
                    let mut around = seed.named("start").stream(0, 0);
                    let centre: Vec<f64> = (0..setting.dim).map(|_| around.normal()).collect();
                    let start = built.at(&centre, &vec![setting.start; setting.dim])?;
                    let mut lanes = seed.streams(estimator.lanes(), 0);
                    let mut state = estimator.init(target, family, &start, &mut lanes)?;
                    for step in 1..=setting.length {
                        lanes.iter_mut().zip(0..).for_each(|(lane, k)| lane.go_to(Address::of(k, step)));
                        let (lanes, out, work) = (&mut lanes, &mut direction, &mut work);
                        estimator.ascent_direction(target, family, &params, &mut state, lanes, out, work)?;
                    }
                    sums.add(&direction[..setting.dim]);
                }
                if !checkpoints.goes_on(made, made * work_of_chain, || (&rows, &sums, spent())) {
                    return Ok(None);
                }
                left -= made;
            }
            // E_p s = (E_p z - mu) / scale^2.
            let expected: Vec<f64> = mean.iter().map(|m| -m / setting.scale.powi(2)).collect();
            let stream = aside(job.seed, "measure").stream(0, lambda);
            let measures = problem.judge.measure(built, &params, stream)?;
            let mut values: BTreeMap<String, f64> =
                measures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            values.extend(spread(&sums, &expected).map(|(name, value)| (name.to_owned(), value)));
            rows.push(Row { step: lambda, values });
            sums = Sums::new(setting.dim);
        }
        let Spent { counts, seconds, .. } = spent();
        Ok(Some((rows, Ended { counts, seconds, ..Ended::default() })))
    }
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
