//! Result of a fit, and the calls that make one.

use std::fmt;
use std::ops::ControlFlow;

use mcsa_core::{Error, Gradient, LogDensity};
use mcsa_estimators::Draws;

use super::summary::{Evidence, Parameter};
use super::target::Evaluations;
use super::{Chains, Fitting, Options, Shape, Target, Verdict};

/// Result of a fit: weighted draws, moments, evidence, and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The family of q.
    pub shape: Shape,
    /// The parameters of q.
    pub params: Vec<f64>,
    /// Weighted draws of q.
    pub draws: Draws,
    /// Every parameter on its constrained scale: moments and quantiles of the weighted draws.
    pub parameters: Vec<Parameter>,
    /// Log evidence.
    pub evidence: Evidence,
    /// The verdict.
    pub verdict: Verdict,
    /// Witness chains: their last positions are starts for another sampler.
    pub chains: Chains,
    /// Evaluations of the target, those of the verdict and the draws included.
    pub evaluations: Evaluations,
}

/// Fits a posterior with a gradient.
///
/// ```
/// use mcsa::prelude::*;
/// let fitted = mcsa::fit(&mcsa::models::EightSchools::non_centred(), &mcsa::fit::Options::seeded(1))?;
/// println!("{fitted}");
/// assert!(fitted.verdict.is_yes());
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// If the options are invalid, or no start with a finite density was found.
pub fn fit<P: Gradient>(target: &P, options: &Options) -> Result<Fitted, Error> {
    run(&Target::with_gradient(target), options)
}

/// Fits a posterior by its log density alone.
///
/// # Errors
/// As [`fit`].
pub fn fit_density<P: LogDensity>(target: &P, options: &Options) -> Result<Fitted, Error> {
    run(&Target::density_only(target), options)
}

fn run(target: &Target<'_>, options: &Options) -> Result<Fitted, Error> {
    let mut fitting = Fitting::new(options)?;
    fitting.run(target, &mut |_| ControlFlow::Continue(())).map_err(|error| error.within("fit"))?;
    fitting.finish(target)
}

impl fmt::Display for Fitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:>16} {:>12} {:>10} {:>12} {:>12} {:>12} {:>12}",
            "", "mean", "error", "sd", "5 %", "50 %", "95 %"
        )?;
        for Parameter { name, mean, error, sd, quantiles: [low, middle, high] } in &self.parameters {
            writeln!(
                f,
                "{name:>16} {mean:>12.4} {error:>10.4} {sd:>12.4} {low:>12.4} {middle:>12.4} {high:>12.4}"
            )?;
        }
        let Evidence { log, error, lower, upper } = self.evidence;
        writeln!(f, "log evidence {log:.3} +- {error:.3}, bounds {lower:.3} and {upper:.3}")?;
        writeln!(
            f,
            "{} draws of {} are worth {:.0}, k-hat {:.2}; {} evaluations",
            self.draws.len(),
            self.shape,
            self.draws.sample_size,
            self.draws.shape,
            self.evaluations.total()
        )?;
        write!(f, "May the draws be used? {}", self.verdict)
    }
}
