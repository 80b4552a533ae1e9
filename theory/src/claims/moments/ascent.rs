//! Claims on the direction and the ascent of running moments, for a Gaussian and for a t with fixed degrees of freedom.

use super::line::{Line, Sizes, equal};
use crate::claims::{Bound, Claim, MOMENTS, Sides};

const SETTINGS: [Sizes; 6] =
    [(2, None), (4, None), (2, Some(1.0)), (2, Some(8.0)), (4, Some(3.0)), (4, Some(40.0))];

pub(super) fn claims() -> Vec<Claim> {
    vec![natural(), uphill()]
}

/// The Fisher matrix times the direction of the step, and `(nu + 1)/(nu + 3)` times the mean score, in location and log scale.
/// `divided` is one if the sum of squares is divided by the sum of weights, as it is in the step.
fn directions(case: &Line, divided: f64) -> Option<Sides> {
    let (m, s) = (case.location, case.scale);
    let weight = |z: f64| case.weight(case.square(z));
    let pull = case.mean(|z| weight(z) * (z - m));
    let claim = case.mean(|z| weight(z) * case.square(z));
    let total = divided * case.mean(weight) + (1.0 - divided);
    let along_scale = 0.5 * (claim - total);
    let of_location = case.expectation(|r| case.weight(r).powi(2) * r) / (s * s);
    let of_scale = case.expectation(|r| (case.weight(r) * r - 1.0).powi(2));
    let length = case.dof.map_or(1.0, |nu| (nu + 1.0) / (nu + 3.0));
    // In units of the scale, so that both entries have the size of their scores.
    equal([(s * of_location * pull, length * pull / s), (of_scale * along_scale, length * (claim - 1.0))])
}

fn natural() -> Claim {
    let formula = "F step = (nu + 1)/(nu + 3) E_p[score], gain to 0, F the Fisher matrix; for a Gaussian the factor is 1";
    let printed = Bound::<Line>::new(formula, SETTINGS.to_vec(), |case| directions(case, 1.0));
    let printed = printed
        .by("quadrature under q")
        .twin("EM without division by the weights", |case| directions(case, 0.0));
    Claim::new("005-NATURAL", MOMENTS, "direction", printed)
        .assuming("m' = S_1/S_0, s'^2 = (S_2 - S_1^2/S_0)/S_0, S running means of u, u z, u z^2, u = (nu + 1)/(nu + r^2)")
        .remark("in d dimensions the factor is (nu + d)/(nu + d + 2), also for the step of nu")
}

/// Fall of `E_p[log q]` in a step of gain one; with `weighs` false all points weigh one.
fn fall(case: &Line, weighs: bool) -> Option<Sides> {
    let weight = |z: f64| if weighs { case.weight(case.square(z)) } else { 1.0 };
    let total = case.mean(weight);
    let location = case.mean(|z| weight(z) * z) / total;
    let scale = (case.mean(|z| weight(z) * (z - location).powi(2)) / total).sqrt();
    // A target that is nearly a point leads out of the family.
    let after = Line { location, scale, ..case.clone() };
    let rise = case.mean(|z| after.log_density(z) - case.log_density(z));
    (scale > 1e-3 * case.scale && scale > 1e-3).then(|| Sides::at_most(-rise, 0.0))
}

fn uphill() -> Claim {
    let formula = "a step of gain 1 with the weights of p does not decrease E_p[log q]";
    let printed = Bound::<Line>::new(formula, SETTINGS.to_vec(), |case| fall(case, true));
    let printed = printed.twin("with u = 1", |case| fall(case, false));
    Claim::new("005-ASCENT", MOMENTS, "ascent", printed).assuming("fixed degrees of freedom")
}
