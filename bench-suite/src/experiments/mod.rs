//! Experiments of the repository. Their files have jobs, figures, tables and claims; what these have no keys for is in Rust here, a
//! file for each paper.

mod calibration;
mod cw;
mod mcmc_se;
mod msc;
mod ours;
mod pmcsa;
mod scoreboard;
mod sl_dais;
mod strangers;
#[cfg(test)]
mod tests;
mod theory;
mod verdict;

use std::borrow::Cow;

pub(crate) use scoreboard::{Scoreboard, methods, reach, winners, with};
pub(crate) use theory::{cells as theory_cells, examined};
pub(crate) use verdict::rates;

use crate::claims::Check;
use crate::figures;
use crate::registry::Entry;
use crate::results::Results;

/// No figures or tables besides those of the file.
fn none<T>(_: &Results) -> Vec<T> {
    Vec::new()
}

macro_rules! entry {
    ($file:literal) => {
        entry!($file, figures::from_file, none)
    };
    ($file:literal, $figures:path, $tables:expr) => {
        Entry {
            file: Cow::Borrowed(concat!("papers/", $file, ".toml")),
            text: Cow::Borrowed(include_str!(concat!("../../papers/", $file, ".toml"))),
            figures: $figures,
            tables: $tables,
        }
    };
}

/// Checks of claims that are no comparisons, by the names that the files have for them.
pub(crate) static CHECKS: [&[(&str, Check)]; 10] = [
    &calibration::CHECKS,
    &cw::CHECKS,
    &mcmc_se::CHECKS,
    &msc::CHECKS,
    &ours::CHECKS,
    &pmcsa::CHECKS,
    &scoreboard::CHECKS,
    &sl_dais::CHECKS,
    &strangers::CHECKS,
    &verdict::CHECKS,
];

/// All experiments, in the order of the report. To add one: its file in `bench-suite/papers/<paper>/` and an entry here; what the
/// file has no keys for stands in the module of the paper.
pub static REGISTRY: [Entry; 46] = [
    entry!("ours/gaussian"),
    entry!("mcmc-se/tab2-logistic"),
    entry!("cw/fig2-logistic"),
    entry!("cw/fig6-gaussian"),
    entry!("cw/fig7-conditional-variance"),
    entry!("cw/fig4b-stock"),
    entry!("cw/tab2-kernels", none, cw::tables),
    entry!("mcmc-se/fig2-bias-bound", mcmc_se::bounds, none),
    entry!("mcmc-se/fig3-variance"),
    entry!("mcmc-se/fig6-radon"),
    entry!("mcmc-se/tab3-gp-classification"),
    entry!("pmcsa/tab-rates", none, none),
    entry!("pmcsa/tab-cost", none, pmcsa::costs),
    entry!("ours/theory", theory::figures, none),
    entry!("pmcsa/fig-gradient-variance"),
    entry!("pmcsa/fig-stepsize"),
    entry!("pmcsa/tab-neural-regression"),
    entry!("pmcsa/tab-robust-gp"),
    entry!("msc/tab1-probit", msc::log_scales, none),
    entry!("msc/fig1-skew-normal"),
    entry!("msc/fig2-candidates", msc::means, none),
    entry!("msc/fig3-exchange-rates"),
    entry!("msc/fig5-subset-average", msc::densities, none),
    entry!("msc/fig6-chi-square"),
    entry!("msc/alg4-ancestors", msc::first_state, msc::moments_table),
    entry!("sl-dais/tab1-surrogates"),
    entry!("sl-dais/fig1-imbalance"),
    entry!("sl-dais/fig2-ranks", sl_dais::figures, sl_dais::tables),
    entry!("sl-dais/fig3-cost"),
    entry!("sl-dais/tab3-gp-regression"),
    entry!("sl-dais/tab4-gp-classification"),
    entry!("sl-dais/tab5-local-latents"),
    entry!("ours/flow-families", ours::plane, none),
    entry!("ours/flow-directions"),
    entry!("ours/cost"),
    entry!("ours/strangers", none, strangers::tables),
    entry!("ours/fit-verdict", verdict::figures, verdict::tables),
    entry!("ours/fit-verdict-density", verdict::figures, verdict::tables),
    entry!("ours/planted", verdict::figures, verdict::answers),
    entry!("ours/planted-density", verdict::figures, verdict::answers),
    entry!("ours/calibration", calibration::figures, calibration::tables),
    entry!("ours/fit-ladder"),
    entry!("ours/scoreboard-zoo", scoreboard::figures, scoreboard::tables),
    entry!("ours/scoreboard-fab", scoreboard::figures, |found| with(scoreboard::evidence, found)),
    entry!("ours/scoreboard-ladder", scoreboard::dimension_figures, |found| with(reach, found)),
    entry!("ours/scoreboard-planted", scoreboard::figures, |found| with(scoreboard::warnings, found)),
];
