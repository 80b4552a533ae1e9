//! Registry of the experiments, in the order of the report.

use std::borrow::Cow;

use super::{
    ancestor_weight, bias_bound, classification, conditional_variance, convergence, cost, directions,
    exchange_rates, gradient_variance, imbalance, ladder, local_latents, marginal_likelihood, papers, probit,
    ranks, regression, robustness, scoreboard, shapes, skew_normal, sparse_processes, step_cost, step_size,
    subset_average, surrogates, taxonomy, variance_divergence, verdict,
};
use crate::figures;
use crate::registry::Entry;
use crate::tables;

macro_rules! entry {
    ($file:literal) => {
        entry!($file, figures::standard, tables::none, [])
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
    entry!("k000-tab2-logistic", classification::logistic, tables::none, classification::CHECKS),
    entry!("k003-fig2-logistic", classification::logistic_speed, tables::none, classification::CHECKS),
    entry!("k003-fig6-isotropic-gaussian", convergence::figures, tables::none, convergence::CHECKS),
    entry!(
        "k003-fig7-conditional-variance",
        conditional_variance::figures,
        tables::none,
        conditional_variance::CHECKS
    ),
    entry!("k003-fig4b-stock", marginal_likelihood::stock, tables::none, []),
    entry!("k003-tab2-kernels", figures::none, taxonomy::tables, taxonomy::CHECKS),
    entry!("k000-fig2-bias-bound", bias_bound::figures, tables::none, bias_bound::CHECKS),
    entry!("k000-fig3-var-vs-kl", variance_divergence::figures, tables::none, variance_divergence::CHECKS),
    entry!("k000-fig6-radon", marginal_likelihood::radon, tables::none, marginal_likelihood::CHECKS),
    entry!("k000-tab3-gpc", classification::processes, tables::none, []),
    entry!("mcsa-tab-rates", figures::none, papers::tables, []),
    entry!("mcsa-tab-cost", figures::none, cost::tables, cost::CHECKS),
    entry!("theory", papers::figures, tables::none, []),
    entry!("mcsa-fig-gradvar", gradient_variance::figures, tables::none, gradient_variance::CHECKS),
    entry!("mcsa-fig-stepsize", step_size::figures, tables::none, step_size::CHECKS),
    entry!("mcsa-tab-bnn", regression::neural_regression, tables::none, []),
    entry!("mcsa-tab-rgp", regression::robust_process, tables::none, []),
    entry!("msc-tab1-probit", probit::figures, probit::tables, probit::CHECKS),
    entry!("msc-fig1-skewnormal", skew_normal::skew_normal, tables::none, skew_normal::CHECKS),
    entry!("msc-fig2-robust-S", robustness::figures, tables::none, robustness::CHECKS),
    entry!("msc-fig3-fx", exchange_rates::figures, exchange_rates::tables, exchange_rates::CHECKS),
    entry!("msc-fig5-subset", subset_average::figures, tables::none, subset_average::CHECKS),
    entry!("msc-fig6-chivi", skew_normal::chi_square, tables::none, skew_normal::CHECKS),
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
