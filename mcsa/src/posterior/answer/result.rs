//! Result of a fit, at its end or before, and what it hands to a sampler.

use std::fmt;

use faer::Mat;
use mcsa_core::{AffineMap, Error, Seed, counted};
use mcsa_estimators::Draws;
use mcsa_optim::deterministic::Gaussian;

use super::summary::{self, Evidence, Parameter};
use crate::posterior::chains::mixing::Mixing;
use crate::posterior::climb::moments::gaussian;
use crate::posterior::density::Evaluations;
use crate::posterior::density::prior::PriorLook;
use crate::posterior::rule::RULE;
use crate::posterior::{Chains, FitState, Objection, Shape, Stage, Target, Verdict};

/// Number of draws at which a sampler starts if no chain was run.
const DRAWN: usize = 8;

/// Result of a fit: weighted draws, moments, evidence, and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct FitResult {
    /// The family of q.
    pub shape: Shape,
    /// The parameters of q.
    pub params: Vec<f64>,
    /// Weighted draws of q.
    pub draws: Draws,
    /// Every parameter on its constrained scale: moments and quantiles of the weighted draws. NaN if the verdict is no and
    /// [nothing came close](Self::is_close).
    pub parameters: Vec<Parameter>,
    /// The draws on the constrained scale: a row for each of the `parameters`, a column for each of the `draws`.
    pub constrained: Mat<f64>,
    /// Log evidence; NaN beside a no if the draws are so far from the posterior that their moments are not shown either.
    pub evidence: Evidence,
    /// The verdict.
    pub verdict: Verdict,
    /// Diagnostics of the chains, if their draws are the answer. The `draws` are then theirs, with equal weights, and `shape` and
    /// `params` do not describe them.
    pub sampled: Option<Mixing>,
    /// The chains of the check by another kernel, or of the answer; their last positions are starts for another sampler.
    pub chains: Chains,
    /// Evaluations of the target, those of the verdict and the draws included.
    pub evaluations: Evaluations,
    /// Estimates from draws of the prior, if the target gives its prior apart, as a [`Posterior`](crate::posterior::Posterior) does.
    pub prior: Option<PriorLook>,
}

impl fmt::Display for FitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>16} {:>12} {:>10} {:>12} {:>12} {:>12} {:>12}",
            "", "mean", "error", "sd", "5 %", "50 %", "95 %"
        )?;
        if !self.is_close() {
            writeln!(f, "no moments: no attempt came close to the posterior")?;
        }
        for row in shortened(&self.parameters) {
            let (name, mean, error, sd, [low, middle, high]) = match row {
                Row::Of(Parameter { name, mean, error, sd, quantiles }) => (name, mean, error, sd, quantiles),
                Row::More(left) => {
                    writeln!(f, "{:>16}", format!("... {left} more"))?;
                    continue;
                }
            };
            let width = if sd.is_nan() { high - low } else { *sd };
            let shown = |x: &f64| if x.is_nan() { "-".into() } else { places(*x, width) };
            let [mean, error, sd, low, middle, high] = [mean, error, sd, low, middle, high].map(shown);
            writeln!(f, "{name:>16} {mean:>12} {error:>10} {sd:>12} {low:>12} {middle:>12} {high:>12}")?;
        }
        if self.is_close() && self.parameters.iter().any(|parameter| parameter.sd.is_nan()) {
            writeln!(f, "-: it rests on a few draws far out; use the quantiles")?;
        }
        let Evidence { log, error, lower, upper } = self.evidence;
        match log.is_nan() {
            true => f.write_str("log evidence not estimated\n")?,
            false => writeln!(f, "log evidence {log:.3} +- {error:.3}, bounds {lower:.3} and {upper:.3}")?,
        }
        if let Some(look) = self.prior {
            writeln!(f, "{look}")?;
        }
        if let Some(Mixing { r_hat, sample_size, divergences, .. }) = self.sampled {
            writeln!(
                f,
                "{} draws of {} chains: effective sample size {sample_size:.0} or more, R-hat {r_hat:.3} or less, {}; {} evaluations",
                self.draws.len(),
                self.chains.positions.ncols(),
                counted(divergences, "divergence"),
                self.evaluations.total()
            )?;
            return f.write_str(&wrapped(&format!("Reliable: {}", self.verdict)));
        }
        writeln!(
            f,
            "{} draws of {}: effective sample size {:.0}, k-hat {:.2}; {} evaluations",
            self.draws.len(),
            self.shape,
            self.draws.sample_size,
            self.draws.shape,
            self.evaluations.total()
        )?;
        f.write_str(&wrapped(&format!("Reliable: {}", self.verdict)))
    }
}

/// A row of the table of parameters: one of them, or the number of those that are left out.
#[derive(Debug, PartialEq)]
enum Row<'a> {
    Of(&'a Parameter),
    More(usize),
}

/// Rows up to which the table is printed whole, entries of an array up to which a longer one has them all, and entries that it has of others.
const WHOLE: usize = 100;
const SHORT: usize = 20;
const FIRST: usize = 10;

/// The rows of the table. A long one has the first entries of each long array and the last.
fn shortened(parameters: &[Parameter]) -> Vec<Row<'_>> {
    if parameters.len() <= WHOLE {
        return parameters.iter().map(Row::Of).collect();
    }
    let mut rows = Vec::new();
    for array in parameters.chunk_by(|a, b| a.name.split('[').next() == b.name.split('[').next()) {
        match array {
            [first @ .., last] if array.len() > SHORT => {
                rows.extend(first[..FIRST].iter().map(Row::Of));
                rows.extend([Row::More(first.len() - FIRST), Row::Of(last)]);
            }
            _ => rows.extend(array.iter().map(Row::Of)),
        }
    }
    rows
}

/// Lines of at most [`WIDTH`] characters where words allow it; what goes on is indented.
fn wrapped(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let mut now = " ".repeat(indent);
        for word in line.split_whitespace() {
            if now.trim().is_empty() {
                now += word;
            } else if now.chars().count() + 1 + word.chars().count() > WIDTH {
                lines.push(std::mem::replace(&mut now, format!("    {word}")));
            } else {
                now = now + " " + word;
            }
        }
        lines.push(now);
    }
    lines.join("\n")
}

/// Width of the verdict in print.
const WIDTH: usize = 110;

/// True if the draws are near enough to the posterior for their moments to be shown beside a no.
fn is_close(draws: &Draws) -> bool {
    draws.sample_size >= RULE.close.0 && draws.shape <= RULE.close.1
}

/// A number with the decimal places that fit a standard deviation, or with a power of ten.
fn places(x: f64, sd: f64) -> String {
    match sd {
        _ if !(x.abs() < 1e7) => format!("{x:.4e}"),
        0.01.. => format!("{x:.4}"),
        1e-5.. => format!("{x:.7}"),
        _ => format!("{x:.4e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Parameter, Row, WIDTH, places, shortened, wrapped};

    #[test]
    fn a_long_table_has_the_ends_of_its_long_arrays() {
        let named = |name: String| Parameter { name, mean: 0.0, error: 0.0, sd: 1.0, quantiles: [0.0; 3] };
        let of = |entries: usize| -> Vec<Parameter> {
            let arrays = [("a", 20), ("b", entries)]
                .map(|(name, entries)| (0..entries).map(move |i| format!("{name}[{i}]")));
            arrays.into_iter().flatten().chain(["s".into()]).map(named).collect()
        };
        let long = of(90);
        let rows = shortened(&long);
        assert_eq!(rows.len(), 20 + 12 + 1);
        assert_eq!(rows[30..], [Row::More(79), Row::Of(&long[109]), Row::Of(&long[110])]);
        // Counterexample: a table of a hundred rows is whole.
        assert_eq!(shortened(&of(79)).len(), 100);
    }

    #[test]
    fn long_lines_are_wrapped_between_words() {
        let (word, item) = ("twelve chars", "  - a short item");
        let text = format!("{}\n{item}", [word; 20].join(" "));
        let lines: Vec<String> = wrapped(&text).lines().map(str::to_owned).collect();
        assert!(lines.len() == 4 && lines.iter().all(|line| line.len() <= WIDTH), "{lines:?}");
        assert!(lines[1].starts_with("    ") && lines[3] == item, "{lines:?}");
        assert_eq!(
            lines.join(" ").split_whitespace().collect::<Vec<_>>(),
            text.split_whitespace().collect::<Vec<_>>()
        );
    }

    #[test]
    fn small_and_large_numbers_keep_their_digits() {
        assert_eq!(places(1.25, 0.5), "1.2500");
        assert_eq!(places(0.001_25, 0.000_5), "0.0012500");
        assert_eq!(places(1.25e-8, 1e-8), "1.2500e-8");
        assert_eq!(places(-1.25e40, 1e40), "-1.2500e40");
        assert_eq!(places(f64::NAN, f64::NAN), "NaN");
    }
}

impl FitState {
    /// The result before the end of the fit: weighted draws of the q reached, no chains of another kernel, and the verdict no. `None` before the
    /// first round of a climb. The state is only read: the fit can go on.
    ///
    /// ```
    /// use mcsa::posterior::{FitState, Options, Stage, Target};
    /// let model = mcsa::models::Gaussian::standard(2);
    /// let target = Target::with_gradient(&model);
    /// let mut fitting = FitState::new(&Options::seeded(1))?;
    /// assert!(fitting.partial_result(&target)?.is_none());
    /// while fitting.stage != Stage::Verdict {
    ///     fitting.advance(&target)?;
    /// }
    /// let fitted = fitting.partial_result(&target)?.expect("a climb has ended");
    /// assert!(fitted.parameters[0].mean.abs() < 0.1 && !fitted.verdict.is_yes());
    /// # Ok::<(), mcsa::prelude::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the draws cannot be made, the target has another dimension than the state, or its [check](Target::checked) fails.
    pub fn partial_result(&self, target: &Target<'_>) -> Result<Option<FitResult>, Error> {
        self.check(target)?;
        if self.stage == Stage::Done {
            return self.finish(target).map(Some);
        }
        if self.climbs.first().is_none_or(|climb| climb.rounds.is_empty()) {
            return Ok(None);
        }
        let before = target.evaluations();
        let draws = self.draw(target.density(), None, &|| true)?;
        target.check()?;
        let mut fitted = FitResult::of(self, target, draws, Chains::none(target.dim()))?;
        fitted.verdict.objections.push(Objection::Interrupted);
        fitted.evaluations = self.spent.and(before, target.evaluations());
        Ok(Some(fitted))
    }
}

/// Starting points, a metric and the objections for a sampler, above all when the verdict is no.
///
/// ```
/// use mcsa::prelude::*;
/// use mcsa::core::Whitened;
/// use mcsa::Options;
/// // A limit that is too small for a yes.
/// let target = mcsa::models::Student::new(vec![0.0, 5.0], vec![1.0, 3.0], 8.0)?;
/// let fitted = mcsa::fit(&target, &Options { evaluations: Some(1_000), ..Options::seeded(1) })?;
/// let start = fitted.sampler_start()?;
/// assert!(!start.objections.is_empty() && start.objections == fitted.verdict.objections);
/// // NUTS goes on from a few draws, in coordinates in which the weighted draws have covariance I.
/// let white = Whitened::new(&target, start.map()?)?;
/// let starts = white.map().inverse(start.starts.as_ref());
/// let plan = Sampling::new(starts.ncols(), 500).warm_up(200);
/// let sample = plan.run_from(&Nuts::new(0.5)?, &white, starts, Seed::new(1))?;
/// let draws = white.map().forward(sample.draws.as_ref());
/// assert_eq!(draws.ncols(), 8 * 500);
/// assert!(sample.r_hat().iter().all(|r_hat| *r_hat < 1.01));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SamplerStart {
    /// Starting points, one per column: the last positions of the chains of another kernel, as far as they are finite; draws if there are none.
    pub starts: Mat<f64>,
    /// Mean `m = sum_i W_i z_i` of the weighted draws.
    pub mean: Vec<f64>,
    /// Metric: the covariance `sum_i W_i (z_i - m)(z_i - m)'` of the weighted draws. If their effective sample size is at most
    /// the dimension, or this covariance has no factor, mean and covariance are those of the draws without weights. If that
    /// covariance has no factor either, the mean holds medians, and the covariance is diagonal, from the quantiles at 16 and
    /// 84 %.
    pub covariance: Mat<f64>,
    /// Checks that failed.
    pub objections: Vec<Objection>,
}

impl FitResult {
    /// The result with these draws and chains, and the objections and evaluations of the state.
    pub(crate) fn of(
        state: &FitState,
        target: &Target<'_>,
        draws: Draws,
        chains: Chains,
    ) -> Result<Self, Error> {
        let (climb, objections) = (state.current()?, state.objections.clone());
        let by_chains = state.by_chains();
        let of_chains = by_chains.map(|_| chains.positions.ncols());
        let (mut parameters, constrained) = summary::parameters(*target.density().inner(), &draws, of_chains);
        let is_hidden = !objections.is_empty() && by_chains.is_none() && !is_close(&draws);
        if is_hidden {
            let [mean, error, sd] = [f64::NAN; 3];
            parameters.iter_mut().for_each(|parameter| {
                let name = std::mem::take(&mut parameter.name);
                *parameter = Parameter { name, mean, error, sd, quantiles: [f64::NAN; 3] };
            });
        }
        let evidence = match by_chains {
            _ if is_hidden || objections.iter().any(Objection::is_improper) => Evidence::NONE,
            Some((.., evidence)) => evidence,
            None => Evidence::of(&draws, &chains.log_weights),
        };
        Ok(Self {
            shape: climb.shape,
            params: climb.proposal(target.dim())?,
            parameters,
            constrained,
            evidence,
            verdict: Verdict {
                objections,
                has_gradient: state.has_gradient(target),
                by_chains: by_chains.is_some(),
            },
            sampled: by_chains.map(|(_, mixing, _)| mixing),
            evaluations: state.spent,
            prior: state.prior,
            draws,
            chains,
        })
    }

    /// False if the verdict is no and the draws are far from the posterior: their effective sample size is below 30, or k-hat above 1. Then
    /// their moments say nothing.
    pub fn is_close(&self) -> bool {
        self.verdict.is_yes() || self.sampled.is_some() || is_close(&self.draws)
    }

    /// Mean and standard deviation of each coordinate. A standard deviation is NaN where draws of chains do not show it.
    pub fn moments(&self) -> (Vec<f64>, Vec<f64>) {
        let (mean, variance) = self.draws.moments();
        let weights = self.draws.weights();
        let sd = |(i, variance): (usize, f64)| {
            let values: Vec<f64> = self.draws.points.row(i).iter().copied().collect();
            let is_seen = self.sampled.is_none() || Parameter::shown(&values, &weights, true)[1];
            if is_seen { variance.sqrt() } else { f64::NAN }
        };
        let sds = variance.into_iter().enumerate().map(sd).collect();
        (mean, sds)
    }

    /// Starting points, metric and objections for a sampler. The points are the ends of the chains of the check or of the answer, or a
    /// few draws if no chain was run.
    ///
    /// # Errors
    /// If more than two thirds of the draws agree in a coordinate, or are not finite.
    pub fn sampler_start(&self) -> Result<SamplerStart, Error> {
        let Gaussian { mean, covariance } =
            gaussian(&self.draws).map_err(|error| error.within("start of a sampler"))?;
        let positions = &self.chains.positions;
        let is_finite = |j: &usize| positions.col_as_slice(*j).iter().all(|z| z.is_finite());
        let finite: Vec<usize> = (0..positions.ncols()).filter(is_finite).collect();
        let starts = match finite.len() {
            0 => self.draws.resampled(DRAWN, &mut Seed::new(1).named("sampler").stream(0, 0))?,
            count => Mat::from_fn(positions.nrows(), count, |i, j| positions[(i, finite[j])]),
        };
        Ok(SamplerStart { starts, mean, covariance, objections: self.verdict.objections.clone() })
    }
}

impl SamplerStart {
    /// Map `z = m + L y` from coordinates with covariance I, where `L L'` is the metric.
    ///
    /// # Errors
    /// If the covariance is not positive definite.
    pub fn map(&self) -> Result<AffineMap, Error> {
        Gaussian { mean: self.mean.clone(), covariance: self.covariance.clone() }.map()
    }
}
