//! Variances and biases of estimators at many parameters.

use std::collections::BTreeMap;

use mcsa::{Address, Counted, Error, Estimator, Stream};
use mcsa_families::MeanField;
use serde::{Deserialize, Serialize};

use super::{Done, Running, aside, now, totals};
use crate::catalog::{CountedFamily, CountedTarget, Method, Problem, Target, WithEstimator};
use crate::experiment::Preset;
use crate::grid::{Entry, expand};
use crate::plan::Job;
use crate::store::{Ended, Row};

/// The section `[scatter]`: every method at the same random parameters.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scatters {
    /// What is the same in all.
    pub setting: Setting,
    /// What is compared.
    #[serde(rename = "method", default)]
    methods: Vec<Entry>,
}

/// Target, guides and chains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Setting {
    /// The dimension of the target, a standard normal.
    pub dim: usize,
    /// The standard deviation of `q`.
    pub scale: f64,
    /// Means of `q` are multivariate t with this scale..
    pub spread: f64,
    /// .. and so many degrees of freedom.
    pub freedom: usize,
    /// How many estimates there are at each parameter, each from chains of its own.
    pub chains: u64,
    /// How many steps at this parameter before the estimate that counts, which is the last.
    pub length: u64,
    /// Chains start around a point drawn from a standard normal, with this standard deviation.
    pub start: f64,
}

/// The spread of one method's direction at `lambdas` random parameters, a row for each.
///
/// ```text
/// p = N(0, I),   q = N(mu, scale^2 I),   mu ~ t;   g_c: the means' part of the direction from chains c
/// variance = sum_i Var_c(g_ci),   bias = |mean_c g_c - E_p s|
/// ```
/// As published, `pooled_variance` is that of all entries of all directions, and so counts how far means of different
/// coordinates are apart; `pooled_bias` is the mean of all errors, in which those of coordinates cancel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scatter {
    /// The target: a standard normal.
    pub target: Target,
    /// What is the same for all methods.
    pub setting: Setting,
    /// Whose direction.
    pub method: Method,
    /// At how many parameters.
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
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Done, Error> {
        let problem = self.target.build(running.catalogue, job.seed)?;
        let target = Counted::new(&*problem.posterior);
        let built = MeanField::new(self.setting.dim);
        let family: CountedFamily<'_> = Counted::new(&built);
        let scene =
            Scene { scatter: self, job, problem: &problem, target: &target, family: &family, built: &built };
        let done = self.method.meet(scene)?;
        (running.progress)(self.work());
        Ok(done)
    }

    pub(super) fn work(&self) -> u64 {
        self.lambdas * self.setting.chains * self.setting.length * self.method.effort()
    }
}

impl Setting {
    /// A mean of `q`.
    fn mean(&self, stream: &mut Stream) -> Vec<f64> {
        let square: f64 = (0..self.freedom).map(|_| stream.normal().powi(2)).sum();
        let scale = self.spread / (square / self.freedom as f64).sqrt();
        (0..self.dim).map(|_| scale * stream.normal()).collect()
    }
}

struct Scene<'s, 'a> {
    scatter: &'s Scatter,
    job: &'s Job,
    problem: &'s Problem,
    target: &'s CountedTarget<'a>,
    family: &'s CountedFamily<'a>,
    built: &'s MeanField,
}

impl<'a> WithEstimator<'a> for Scene<'_, 'a> {
    type Out = Done;

    fn with<E: Estimator<CountedTarget<'a>, CountedFamily<'a>>>(self, estimator: E) -> Result<Done, Error> {
        let Self { scatter: Scatter { setting, lambdas, .. }, job, problem, target, family, built } = self;
        let since = now();
        let mut direction = vec![0.0; 2 * setting.dim];
        let mut work = vec![0.0; estimator.work_len(target, family)];
        let mut rows = Vec::new();
        for lambda in 1..=*lambdas {
            let mean = setting.mean(&mut aside(job.seed, "lambda").stream(0, lambda));
            let params = built.at(&mean, &vec![setting.scale; setting.dim])?;
            let seed = aside(job.seed, "chains").child(lambda);
            let mut spread = Spread::new(setting.dim);
            for chain in 0..setting.chains {
                let seed = seed.child(chain);
                let mut around = seed.named("start").stream(0, 0);
                let centre: Vec<f64> = (0..setting.dim).map(|_| around.normal()).collect();
                let start = built.at(&centre, &vec![setting.start; setting.dim])?;
                let mut lanes = seed.streams(estimator.lanes(), 0);
                let mut state = estimator.init(target, family, &start, &mut lanes)?;
                for step in 1..=setting.length {
                    lanes.iter_mut().zip(0..).for_each(|(lane, k)| lane.go_to(Address::of(k, step)));
                    let (lanes, out) = (&mut lanes, &mut direction);
                    estimator.ascent_direction(target, family, &params, &mut state, lanes, out, &mut work)?;
                }
                spread.add(&direction[..setting.dim]);
            }
            // E_p s = (E_p z - mu) / scale^2.
            let expected: Vec<f64> = mean.iter().map(|m| -m / setting.scale.powi(2)).collect();
            let stream = aside(job.seed, "measure").stream(0, lambda);
            let measures = problem.judge.measure(built, &params, stream)?;
            let mut values: BTreeMap<String, f64> =
                measures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            values.extend(spread.values(&expected).map(|(name, value)| (name.to_owned(), value)));
            rows.push(Row { step: lambda, values });
        }
        let counts = totals(target.counts(), family.counts());
        Ok((rows, Ended { counts, seconds: since.elapsed().as_secs_f64(), ..Ended::default() }))
    }
}

/// Sums over directions, coordinate by coordinate (Welford).
struct Spread {
    count: f64,
    mean: Vec<f64>,
    square: Vec<f64>,
}

impl Spread {
    fn new(dim: usize) -> Self {
        Self { count: 0.0, mean: vec![0.0; dim], square: vec![0.0; dim] }
    }

    fn add(&mut self, direction: &[f64]) {
        self.count += 1.0;
        for ((g, mean), square) in direction.iter().zip(&mut self.mean).zip(&mut self.square) {
            let off = g - *mean;
            *mean += off / self.count;
            *square += off * (g - *mean);
        }
    }

    /// Ours, then as published.
    fn values(&self, expected: &[f64]) -> [(&'static str, f64); 4] {
        let dim = self.mean.len() as f64;
        let within: f64 = self.square.iter().sum();
        let grand = self.mean.iter().sum::<f64>() / dim;
        let between: f64 = self.mean.iter().map(|mean| (mean - grand).powi(2)).sum();
        let errors = || self.mean.iter().zip(expected).map(|(mean, expected)| mean - expected);
        [
            ("variance", within / (self.count - 1.0)),
            ("bias", errors().map(|error| error * error).sum::<f64>().sqrt()),
            ("pooled_variance", (within + self.count * between) / (self.count * dim - 1.0)),
            ("pooled_bias", (errors().sum::<f64>() / dim).abs()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two directions in two coordinates, by hand: variances 2 and 8 about means 1 and 3; all four entries about 2.
    #[test]
    fn sums_are_those_of_the_definition() {
        let mut spread = Spread::new(2);
        spread.add(&[0.0, 1.0]);
        spread.add(&[2.0, 5.0]);
        let found = spread.values(&[1.0, 0.0]).map(|(_, value)| value);
        let expected = [10.0, 3.0, 14.0 / 3.0, 1.5];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }
}
