//! Registry of the experiments, in the order of the report.

use std::borrow::Cow;

use super::{
    ancestor_weight, bias_bound, cost, directions, exchange_rates, ladder, local_latents, papers, probit,
    pruning, ranks, robustness, scoreboard, shapes, sparse_processes, step_size, subset_average, taxonomy,
    variance_divergence, verdict,
};
use crate::figures;
use crate::registry::Entry;
use crate::tables;

macro_rules! entry {
    ($file:literal) => {
        entry!($file, figures::from_file, tables::none, [])
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

/// All experiments, in the order of the report. To add one: its file in `bench-suite/papers/<paper>/` and an entry here; for
/// figures, tables or checks of its own, a room beside this file.
pub static REGISTRY: [Entry; 42] = [
    entry!("ours/gaussian"),
    entry!("mcmc-se/tab2-logistic"),
    entry!("cw/fig2-logistic"),
    entry!("cw/fig6-gaussian"),
    entry!("cw/fig7-conditional-variance"),
    entry!("cw/fig4b-stock"),
    entry!("cw/tab2-kernels", figures::none, taxonomy::tables, taxonomy::CHECKS),
    entry!("mcmc-se/fig2-bias-bound", bias_bound::figures, tables::none, bias_bound::CHECKS),
    entry!("mcmc-se/fig3-variance", variance_divergence::figures, tables::none, variance_divergence::CHECKS),
    entry!("mcmc-se/fig6-radon"),
    entry!("mcmc-se/tab3-gp-classification"),
    entry!("pmcsa/tab-rates", figures::none, papers::tables, []),
    entry!("pmcsa/tab-cost", figures::none, cost::tables, cost::CHECKS),
    entry!("ours/theory", papers::figures, tables::none, []),
    entry!("pmcsa/fig-gradient-variance"),
    entry!("pmcsa/fig-stepsize", figures::none, tables::none, step_size::CHECKS),
    entry!("pmcsa/tab-neural-regression", pruning::figures, tables::none, []),
    entry!("pmcsa/tab-robust-gp"),
    entry!("msc/tab1-probit", probit::figures, probit::tables, probit::CHECKS),
    entry!("msc/fig1-skew-normal"),
    entry!("msc/fig2-candidates", robustness::figures, tables::none, robustness::CHECKS),
    entry!(
        "msc/fig3-exchange-rates",
        exchange_rates::figures,
        exchange_rates::tables,
        exchange_rates::CHECKS
    ),
    entry!("msc/fig5-subset-average", subset_average::figures, tables::none, subset_average::CHECKS),
    entry!("msc/fig6-chi-square"),
    entry!("msc/alg4-ancestors", ancestor_weight::figures, ancestor_weight::tables, ancestor_weight::CHECKS),
    entry!("sl-dais/tab1-surrogates"),
    entry!("sl-dais/fig1-imbalance"),
    entry!("sl-dais/fig2-ranks", ranks::figures, ranks::tables, ranks::CHECKS),
    entry!("sl-dais/fig3-cost"),
    entry!(
        "sl-dais/tab3-gp-regression",
        sparse_processes::regressions,
        sparse_processes::regression_tables,
        sparse_processes::CHECKS
    ),
    entry!(
        "sl-dais/tab4-gp-classification",
        sparse_processes::classifications,
        sparse_processes::classification_tables,
        sparse_processes::CHECKS
    ),
    entry!(
        "sl-dais/tab5-local-latents",
        local_latents::figures,
        local_latents::tables,
        local_latents::CHECKS
    ),
    entry!("ours/flow-families", shapes::figures, tables::none, shapes::CHECKS),
    entry!("ours/flow-directions", directions::figures, tables::none, directions::CHECKS),
    entry!("ours/fit-verdict", verdict::figures, verdict::tables, verdict::CHECKS),
    entry!("ours/fit-verdict-density", verdict::figures, verdict::tables, verdict::CHECKS),
    entry!("ours/fit-ladder", ladder::figures, tables::none, ladder::CHECKS),
    entry!("ours/scoreboard-zoo", scoreboard::figures, scoreboard::tables, scoreboard::REACHED),
    entry!("ours/scoreboard-fab", scoreboard::figures, scoreboard::evidence_tables, []),
    entry!("ours/scoreboard-posteriordb", scoreboard::figures, scoreboard::tables, []),
    entry!("ours/scoreboard-ladder", scoreboard::dimension_figures, scoreboard::dimension_tables, []),
    entry!("ours/scoreboard-planted", scoreboard::figures, scoreboard::warning_tables, scoreboard::CHECKS),
];
