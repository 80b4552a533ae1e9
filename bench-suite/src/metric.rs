//! Metrics and vectors of rows: names, meanings, and the direction that is better.

pub use mcsa_catalogue::Vector;

/// Metric of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// Name in rows, files and claims.
    pub name: &'static str,
    /// Meaning, with its unit.
    pub meaning: &'static str,
    /// The better direction, if there is one.
    pub better: Option<Better>,
}

/// Better direction of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Larger values are better.
    Larger,
    /// Smaller values are better.
    Smaller,
}

use Better::{Larger, Smaller};

macro_rules! metrics {
    ($($name:literal $better:expr, $meaning:literal;)*) => {
        &[$(Metric { name: $name, meaning: $meaning, better: $better }),*]
    };
}

/// Every metric, by name.
pub const METRICS: &[Metric] = metrics! {
    "acceptance" None, "acceptance rate of the chains: of a step, or a running mean beside reference draws";
    "accuracy" Some(Larger), "share of held-out labels that are predicted";
    "age" None, "mean age of the blocks of a random scan, steps";
    "answer_error" Some(Smaller), "largest error of a weighted mean, in standard deviations of the posterior";
    "answer_median" Some(Smaller), "median over coordinates of the error of a weighted mean, in standard deviations of the posterior";
    "answer_stretch" Some(Smaller), "largest factor by which a standard deviation is off, either way";
    "balanced_accuracy" Some(Larger), "mean over both labels of the share of held-out ones that are predicted";
    "bias" Some(Smaller), "norm of the bias of the direction";
    "block_acceptance" None, "acceptance rate of fresh blocks of rows";
    "bulk_ess" Some(Larger), "smallest bulk effective sample size of a coordinate of the chains";
    "depth" None, "mean depth of trajectories";
    "divergences" Some(Smaller), "trajectories whose energy error was too large";
    "elbo" Some(Larger), "evidence lower bound on all data, nats";
    "elbo_error" Some(Smaller), "standard error of `elbo`, nats";
    "error" Some(Smaller), "share of held-out labels that are predicted wrongly";
    "ess" Some(Larger), "effective sample size of the candidates of a step";
    "estimate_variance" Some(Smaller), "variance of the log likelihood estimated from some rows";
    "evaluations" None, "evaluations of the likelihood in a step";
    "evidence" Some(Larger), "estimate of the log evidence or of its lower bound in a step, nats";
    "evidence_error" Some(Smaller), "error of the log evidence by 2000 weighted draws, nats";
    "failed" Some(Smaller), "1 if a method ended with an error or with draws that are not finite, else 0";
    "finite" None, "finite evaluations of the target in a step";
    "fit_error" Some(Smaller), "largest error of a mean of q, in standard deviations of the posterior";
    "freedom" None, "degrees of freedom of Student t errors at the end";
    "k_hat" Some(Smaller), "shape of the tail of the weights p/q";
    "kl" Some(Smaller), "KL(p || q), nats";
    "kl_error" Some(Smaller), "standard error of `kl`, nats";
    "kl_floor" None, "least `kl` in the mean-field family, nats";
    "leapfrogs" None, "leapfrog steps";
    "log_evidence" None, "estimate of the log evidence by the filter of a step, nats";
    "log_variance" None, "log variance of returns in the long run, mu + log beta";
    "log_weight_bound" Some(Smaller), "log of the largest p/q seen, nats";
    "log_weight_mean" None, "log of the mean weight p/q of a step's draws, nats";
    "log_weight_top" None, "log of the largest weight p/q of a step's draws, nats";
    "log_z" Some(Larger), "estimate of the log evidence, nats";
    "log_z_as_published" Some(Larger), "estimate of the log evidence by the published filter, nats";
    "log_z_as_published_error" Some(Smaller), "standard error of `log_z_as_published`, nats";
    "log_z_error" Some(Smaller), "standard error of `log_z`, nats";
    "longest_steps" None, "steps of an annealed path whose size is the largest allowed";
    "lpd" Some(Larger), "mean held-out log predictive density, nats";
    "lpd_as_published" Some(Larger), "`lpd` by the published formula, nats";
    "lpd_as_trained" Some(Larger), "`lpd` with held-out labels weighted by their shares among the training rows";
    "max_weight" None, "largest normalised weight of a step's candidates";
    "mean" None, "mean of the first coordinate under q";
    "mean_error" Some(Smaller), "error of the means under q, root mean square over coordinates, in posterior standard deviations";
    "moved" None, "chains that moved in a step";
    "non_finite" Some(Smaller), "evaluations in a step that were NaN or +inf";
    "objects_budget" None, "1 if the budget ends before the climb settles, else absent";
    "objects_error" None, "1 if the fit ends with an error, else absent";
    "objects_gradient" None, "1 if the gradient is not that of the density, else absent";
    "objects_missed" None, "1 if witness chains stay where q has too little mass, or stretched copies of q find mass beyond it, else absent";
    "objects_mixing" None, "1 if witness chains disagree, else absent";
    "objects_moments" None, "1 if witness chains and draws disagree, else absent";
    "objects_non_finite" None, "1 if the density is NaN at draws or random, else absent";
    "objects_start" None, "1 if a start ends outside q, else absent";
    "objects_tail" None, "1 if the density has no integral along a line, else absent";
    "objects_weights" None, "1 if the weights have a heavy tail, else absent";
    "p_evaluations" Some(Smaller), "evaluations of the target's density so far";
    "p_gradients" Some(Smaller), "evaluations of the target's gradient so far";
    "phi" None, "persistence of the volatility";
    "pooled_bias" Some(Smaller), "mean error over all entries of the direction, as published";
    "pooled_variance" Some(Smaller), "variance over all entries of all directions, as published";
    "promoted" None, "share of proposals that passed the first stage of delayed acceptance";
    "quadrature_error" None, "log likelihood by the quadrature of a sparse process less that by a finer one, mean over draws of q, nats";
    "r_hat" Some(Smaller), "largest R-hat of a coordinate of the chains";
    "renewed" None, "share of a path that differs from the retained one";
    "resampled" None, "share of times at which particles were resampled";
    "restarted" None, "share of blocks of a random scan that began anew";
    "rmse" Some(Smaller), "held-out root mean squared error, in the units of the data";
    "sample_share" Some(Larger), "effective sample size of draws of q, as a share of their number";
    "scale" None, "standard deviation of the first coordinate under q";
    "second_acceptance" Some(Larger), "acceptance probability of the second stage of delayed acceptance";
    "seconds" Some(Smaller), "seconds of one processor so far, without those for metrics";
    "share" None, "share of the draws of q in the region that a fit may miss";
    "share_of_target" None, "share of the draws of the target in the region that a fit may miss";
    "sigma" None, "standard deviation of the steps of the log volatility";
    "spread_error" Some(Smaller), "largest error of a log standard deviation of draws";
    "spread_median" Some(Smaller), "median over coordinates of the error of a log standard deviation of draws";
    "start_share" None, "share of the starts that reach a mode that is easily missed";
    "still" Some(Smaller), "1 if no step of an annealed path moves, else 0";
    "terms" Some(Smaller), "likelihood terms of single data that were evaluated: values, gradients, products with Hessians";
    "train_accuracy" Some(Larger), "share of training labels that are predicted";
    "train_lpd" Some(Larger), "mean log predictive density of training labels, nats";
    "untold_metrics" Some(Smaller), "metrics of the kernel for which there was no room";
    "vanished" Some(Smaller), "chains or steps at which all weights were zero";
    "variance" Some(Smaller), "variance of the direction, summed over its coordinates";
    "wasserstein" Some(Smaller), "mean over coordinates and over levels from 5 to 95 % of the errors of quantiles, in standard deviations";
    "weights_below_0.1" None, "share of network weights with a mean within 0.1 of zero";
    "weights_deviation" None, "standard deviation of the means of network weights";
    "yes" None, "1 if the verdict on the fit is yes, else 0";
    "zero_steps" Some(Smaller), "steps of an annealed path whose size is zero";
};

impl Metric {
    /// The metric with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        METRICS.binary_search_by(|metric| metric.name.cmp(name)).ok().map(|place| &METRICS[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_found_by_its_name() {
        for metric in METRICS {
            assert_eq!(Metric::named(metric.name), Some(metric));
        }
        assert_eq!(Metric::named("no metric"), None);
    }
}
