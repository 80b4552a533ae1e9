//! Claims of the papers about bias, variance and rates, each as a test that can fail.
//!
//! A [`Claim`] holds the formula [as printed](Claim::printed) and, where that fails, [corrected formulas](Claim::corrected).
//! A [`Statement`] is tested on cases ([`Searchable`]) whose two sides are computed without sampling: examples worked out by hand,
//! thousands of random cases, and local searches from the worst of these. The [`Standing`] follows from the numbers found;
//! none is written down here. A statement may have a twin, a stronger statement that the search must refute: a test of the search.
//!
//! ```
//! use mcsa_theory::claims::{self, Effort, Standing};
//! let claim = claims::all().into_iter().find(|claim| claim.id == "000-T2").unwrap();
//! assert_eq!(claim.examine(Effort::BRIEF).standing(), Standing::Tight);
//! ```
//!
//! A claim that holds here has survived a search, which is evidence and not a proof.

use crate::{Moments, Parts, dot};

mod case;
mod claim;
pub(crate) mod cw;
mod mcmc_se;
mod moments;
mod msc;
mod pmcsa;
mod sl_dais;

pub use case::{Adaptive, Atoms, Domain, Numbers, Searchable, Setting};
pub use claim::{
    Bound, Claim, Effort, Examined, Finding, Judgement, Paper, Relation, Sides, Standing, Statement, Witness,
};

/// All claims, in the order of the papers; those of this workspace last.
pub fn all() -> Vec<Claim> {
    [mcmc_se::all(), pmcsa::all(), msc::all(), cw::all(), sl_dais::all(), moments::all()]
        .into_iter()
        .flatten()
        .collect()
}

/// Settings with scalar scores, one sample and one step, on two to four atoms.
fn few() -> Vec<Setting> {
    Setting::atoms(&[2, 3, 4])
}

/// Two atoms of weights 2 and 2/3, where `r = 1/2`.
fn half() -> Atoms {
    Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0])
}

/// `exp KL(p || q) <= w*`, which three papers state.
fn largest_weight() -> Bound<Atoms> {
    Atoms::bound("exp KL(p||q) <= w*", &few(), |case| Sides::at_most(case.problem.kl().exp(), case.w_star()))
}

/// `exp KL(p || q) <= E_p w = 1 + chi^2(p || q)`, in the words of a paper.
fn second_weight(formula: &str) -> Bound<Atoms> {
    Atoms::bound(formula, &few(), |case| {
        Sides::at_most(case.problem.kl().exp(), 1.0 + case.problem.pearson())
    })
}

/// `E_p V[g | z]`.
fn within(case: &Atoms, moments: &Moments<f64>) -> f64 {
    let variances: Vec<f64> = moments.variances.iter().map(Parts::sum).collect();
    dot(case.problem.pi(), &variances)
}

/// Variance of an average whose start is drawn from the target: mean of variances plus variance of means.
fn started_at_target(case: &Atoms, moments: &Moments<f64>) -> f64 {
    within(case, moments) + case.problem.with_statistic(&moments.means).variance()
}
