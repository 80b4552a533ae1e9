//! Calls that fit a posterior from start to verdict.

use std::ops::ControlFlow;

use mcsa_core::{Error, Gradient, LogDensity};

use super::{Fitted, Fitting, Options, Target};

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
/// If the options are invalid, no start with a finite density was found, or the checkpoint file cannot be used.
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
    let fitted = || {
        let mut fitting = match &options.checkpoint {
            Some(path) => Fitting::resume_or(path, target, options)?,
            None => Fitting::new(options)?,
        };
        fitting.run(target, &mut |_| ControlFlow::Continue(()))?;
        fitting.finish(target)
    };
    fitted().map_err(|error: Error| error.within("fit"))
}
