//! Experiments of the repository. Their files have jobs, figures, tables and claims; what these have no keys for is in Rust here, a
//! file for each paper.

mod cw;
mod mcmc_se;
mod msc;
mod ours;
mod pmcsa;
mod scoreboard;
mod sl_dais;
#[cfg(test)]
mod tests;
mod theory;
mod verdict;

use std::borrow::Cow;

pub(crate) use scoreboard::{Scoreboard, methods, reach, winners};
pub(crate) use theory::{cells as theory_cells, examined};
pub(crate) use verdict::{Rates, rates};

use crate::figures;
use crate::registry::Entry;
use crate::results::Results;

/// No figures or tables besides those of the file.
fn none<T>(_: &Results) -> Vec<T> {
    Vec::new()
}

macro_rules! entry {
    ($file:literal) => {
        entry!($file, figures::from_file, none, [])
    };
    ($file:literal, [] $checks:expr) => {
        entry!($file, none, none, $checks)
    };
    ($file:literal, $figures:path, $tables:path, $checks:expr) => {
        Entry {
            file: Cow::Borrowed(concat!("papers/", $file, ".toml")),
            text: Cow::Borrowed(include_str!(concat!("../../papers/", $file, ".toml"))),
            figures: $figures,
            tables: $tables,
            checks: &$checks,
        }
    };
}

/// All experiments, in the order of the report. To add one: its file in `bench-suite/papers/<paper>/` and an entry here; what the
/// file has no keys for stands in the module of the paper.
pub static REGISTRY: [Entry; 41] = [
    entry!("ours/gaussian"),
    entry!("mcmc-se/tab2-logistic"),
    entry!("cw/fig2-logistic"),
    entry!("cw/fig6-gaussian"),
    entry!("cw/fig7-conditional-variance"),
    entry!("cw/fig4b-stock"),
    entry!("cw/tab2-kernels", none, cw::tables, cw::CHECKS),
    entry!("mcmc-se/fig2-bias-bound", mcmc_se::bounds, none, mcmc_se::BOUNDS),
    entry!("mcmc-se/fig3-variance", [] mcmc_se::VARIANCES),
    entry!("mcmc-se/fig6-radon"),
    entry!("mcmc-se/tab3-gp-classification"),
    entry!("pmcsa/tab-rates", [] []),
    entry!("pmcsa/tab-cost", none, pmcsa::costs, pmcsa::COSTS),
    entry!("ours/theory", theory::figures, none, []),
    entry!("pmcsa/fig-gradient-variance"),
    entry!("pmcsa/fig-stepsize", [] pmcsa::STEP_SIZES),
    entry!("pmcsa/tab-neural-regression"),
    entry!("pmcsa/tab-robust-gp"),
    entry!("msc/tab1-probit", msc::log_scales, none, msc::SCALES),
    entry!("msc/fig1-skew-normal"),
    entry!("msc/fig2-candidates", msc::means, none, msc::CANDIDATES),
    entry!("msc/fig3-exchange-rates", [] msc::EVIDENCE),
    entry!("msc/fig5-subset-average", msc::densities, none, msc::SUBSETS),
    entry!("msc/fig6-chi-square"),
    entry!("msc/alg4-ancestors", msc::first_state, msc::moments_table, msc::ANCESTORS),
    entry!("sl-dais/tab1-surrogates"),
    entry!("sl-dais/fig1-imbalance"),
    entry!("sl-dais/fig2-ranks", sl_dais::figures, sl_dais::tables, sl_dais::RANKS),
    entry!("sl-dais/fig3-cost"),
    entry!("sl-dais/tab3-gp-regression", [] sl_dais::SPARSE),
    entry!("sl-dais/tab4-gp-classification", [] sl_dais::SPARSE),
    entry!("sl-dais/tab5-local-latents", [] sl_dais::LOCAL),
    entry!("ours/flow-families", ours::plane, none, ours::FAMILIES),
    entry!("ours/flow-directions", [] ours::DIRECTIONS),
    entry!("ours/fit-verdict", verdict::figures, verdict::tables, verdict::CHECKS),
    entry!("ours/fit-verdict-density", verdict::figures, verdict::tables, verdict::CHECKS),
    entry!("ours/fit-ladder", [] ours::LADDER),
    entry!("ours/scoreboard-zoo", scoreboard::figures, scoreboard::tables, scoreboard::REACHED),
    entry!("ours/scoreboard-fab", scoreboard::figures, scoreboard::evidence_tables, []),
    entry!("ours/scoreboard-ladder", scoreboard::dimension_figures, scoreboard::dimension_tables, []),
    entry!("ours/scoreboard-planted", scoreboard::figures, scoreboard::warning_tables, scoreboard::WARNINGS),
];
