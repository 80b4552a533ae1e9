//! Tests of the fit in one call.

use mcsa::core::Gradient;
use mcsa::posterior::{FitResult, Options};

/// True if a fit has an objection of this form.
macro_rules! objects {
    ($fitted:expr, $($form:tt)+) => {
        $fitted.verdict.objections.iter().any(|objection| matches!(objection, $($form)+))
    };
}

/// Fits with the gradient, and by the density alone.
fn both<P: Gradient>(target: &P, options: &Options) -> [FitResult; 2] {
    [mcsa::fit(target, options), mcsa::fit_density(target, options)].map(|fitted| fitted.expect("a result"))
}

mod hostile;
mod limits;
mod many_dimensions;
mod resume;
mod reuse;
mod targets;
