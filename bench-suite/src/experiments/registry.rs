//! Registry of the experiments, in the order of the report.

use std::borrow::Cow;

use super::{
    ancestor_weight, bias_bound, cost, directions, exchange_rates, imbalance, ladder,
    local_latents, papers, probit, pruning, ranks, robustness, scoreboard, shapes, sparse_processes,
    step_cost, step_size, subset_average, surrogates, taxonomy, variance_divergence, verdict,
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
            file: Cow::Borrowed(concat!("experiments/", $file, ".toml")),
            text: Cow::Borrowed(include_str!(concat!("../../experiments/", $file, ".toml"))),
            figures: $figures,
            tables: $tables,
            checks: &$checks,
        }
    };
}

/// All experiments, in the order of the report. To add one: its file in `bench-suite/experiments/` and an entry here; for
/// figures, tables or checks of its own, a room beside this file.
pub static REGISTRY: [Entry; 42] = [
    entry!("gaussian"),
    entry!("k000-tab2-logistic"),
    entry!("k003-fig2-logistic"),
    entry!("k003-fig6-isotropic-gaussian"),
    entry!("k003-fig7-conditional-variance"),
    entry!("k003-fig4b-stock"),
    entry!("k003-tab2-kernels", figures::none, taxonomy::tables, taxonomy::CHECKS),
    entry!("k000-fig2-bias-bound", bias_bound::figures, tables::none, bias_bound::CHECKS),
    entry!("k000-fig3-var-vs-kl", variance_divergence::figures, tables::none, variance_divergence::CHECKS),
    entry!("k000-fig6-radon"),
    entry!("k000-tab3-gpc"),
    entry!("mcsa-tab-rates", figures::none, papers::tables, []),
    entry!("mcsa-tab-cost", figures::none, cost::tables, cost::CHECKS),
    entry!("theory", papers::figures, tables::none, []),
    entry!("mcsa-fig-gradvar"),
    entry!("mcsa-fig-stepsize", figures::none, tables::none, step_size::CHECKS),
    entry!("mcsa-tab-bnn", pruning::figures, tables::none, []),
    entry!("mcsa-tab-rgp"),
    entry!("msc-tab1-probit", probit::figures, probit::tables, probit::CHECKS),
    entry!("msc-fig1-skewnormal"),
    entry!("msc-fig2-robust-S", robustness::figures, tables::none, robustness::CHECKS),
    entry!("msc-fig3-fx", exchange_rates::figures, exchange_rates::tables, exchange_rates::CHECKS),
    entry!("msc-fig5-subset", subset_average::figures, tables::none, subset_average::CHECKS),
    entry!("msc-fig6-chivi"),
    entry!("msc-alg4-ancestors", ancestor_weight::figures, ancestor_weight::tables, ancestor_weight::CHECKS),
    entry!("sldais-tab1-surrogates", surrogates::figures, surrogates::tables, []),
    entry!("sldais-fig1-imbalance", imbalance::figures, imbalance::tables, imbalance::CHECKS),
    entry!("sldais-fig2-ranks", ranks::figures, ranks::tables, ranks::CHECKS),
    entry!("sldais-fig3-cost", step_cost::figures, step_cost::tables, []),
    entry!(
        "sldais-tab3-tgp",
        sparse_processes::regressions,
        sparse_processes::regression_tables,
        sparse_processes::CHECKS
    ),
    entry!(
        "sldais-tab4-gpc",
        sparse_processes::classifications,
        sparse_processes::classification_tables,
        sparse_processes::CHECKS
    ),
    entry!("sldais-tab5-local", local_latents::figures, local_latents::tables, local_latents::CHECKS),
    entry!("flow-families", shapes::figures, shapes::tables, shapes::CHECKS),
    entry!("flow-directions", directions::figures, shapes::tables, directions::CHECKS),
    entry!("fit-verdict", verdict::figures, verdict::tables, verdict::CHECKS),
    entry!("fit-verdict-density", verdict::figures, verdict::tables, verdict::CHECKS),
    entry!("fit-ladder", ladder::figures, ladder::tables, ladder::CHECKS),
    entry!("scoreboard-zoo", scoreboard::figures, scoreboard::tables, scoreboard::REACHED),
    entry!("scoreboard-fab", scoreboard::figures, scoreboard::evidence_tables, []),
    entry!("scoreboard-posteriordb", scoreboard::figures, scoreboard::tables, []),
    entry!("scoreboard-ladder", scoreboard::dimension_figures, scoreboard::dimension_tables, []),
    entry!("scoreboard-planted", scoreboard::figures, scoreboard::warning_tables, scoreboard::CHECKS),
];
