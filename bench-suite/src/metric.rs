//! Metrics and vectors of rows.

pub use mcsa_catalogue::Vector;

macro_rules! names {
    ($($name:literal $meaning:literal;)*) => {
        &[$($name),*]
    };
}

/// Every metric, by name; beside it are its meaning and its unit.
pub const METRICS: &[&str] = names! {
    "acceptance" "acceptance rate of the chains: of a step, or a running mean beside reference draws";
    "accuracy" "share of held-out labels that are predicted";
    "age" "mean age of the blocks of a random scan, steps";
    "answer_error" "largest error of a weighted mean, in standard deviations of the posterior";
    "answer_median" "median over coordinates of the error of a weighted mean, in standard deviations of the posterior";
    "answer_stretch" "largest factor by which a standard deviation is off, either way";
    "balanced_accuracy" "mean over both labels of the share of held-out ones that are predicted";
    "bias" "norm of the bias of the direction";
    "block_acceptance" "acceptance rate of fresh blocks of rows";
    "bulk_ess" "smallest bulk effective sample size of a coordinate of the chains";
    "by_chains" "1 if the answer is that of chains";
    "depth" "mean depth of trajectories";
    "divergences" "trajectories whose energy error was too large";
    "elbo" "evidence lower bound on all data, nats";
    "elbo_error" "standard error of `elbo`, nats";
    "error" "share of held-out labels that are predicted wrongly";
    "ess" "effective sample size of the candidates of a step";
    "estimate_variance" "variance of the log likelihood estimated from some rows";
    "evaluations" "evaluations of the likelihood in a step";
    "evidence" "estimate of the log evidence or of its lower bound in a step, nats";
    "evidence_error" "error of the log evidence by 2000 weighted draws, nats";
    "failed" "1 if a method ended with an error or with draws that are not finite, else 0";
    "finite" "finite evaluations of the target in a step";
    "fit_error" "largest error of a mean of q, in standard deviations of the posterior";
    "freedom" "degrees of freedom of Student t errors at the end";
    "k_hat" "shape of the tail of the weights p/q";
    "kl" "KL(p || q), nats";
    "kl_error" "standard error of `kl`, nats";
    "kl_floor" "least `kl` in the mean-field family, nats";
    "leapfrogs" "leapfrog steps";
    "log_evidence" "estimate of the log evidence by the filter of a step, nats";
    "log_variance" "log variance of returns in the long run, mu + log beta";
    "log_weight_bound" "log of the largest p/q seen, nats";
    "log_weight_mean" "log of the mean weight p/q of a step's draws, nats";
    "log_weight_top" "log of the largest weight p/q of a step's draws, nats";
    "log_z" "estimate of the log evidence, nats";
    "log_z_as_published" "estimate of the log evidence by the published filter, nats";
    "log_z_as_published_error" "standard error of `log_z_as_published`, nats";
    "log_z_error" "standard error of `log_z`, nats";
    "longest_steps" "steps of an annealed path whose size is the largest allowed";
    "lpd" "mean held-out log predictive density, nats";
    "lpd_as_published" "`lpd` by the published formula, nats";
    "lpd_as_trained" "`lpd` with held-out labels weighted by their shares among the training rows";
    "max_weight" "largest normalised weight of a step's candidates";
    "mean" "mean of the first coordinate under q";
    "mean_error" "error of the means under q, root mean square over coordinates, in posterior standard deviations";
    "moved" "chains that moved in a step";
    "non_finite" "evaluations in a step that were NaN or +inf";
    "objects_budget" "1 if the budget ends before the climb settles, else absent";
    "objects_error" "1 if the fit ends with an error, else absent";
    "objects_gradient" "1 if the gradient is not that of the density, else absent";
    "objects_missed" "1 if witness chains stay where q has too little mass, or stretched copies of q find mass beyond it, else absent";
    "objects_mixing" "1 if witness chains disagree, else absent";
    "objects_moments" "1 if witness chains and draws disagree, else absent";
    "objects_non_finite" "1 if the density is NaN at draws or random, else absent";
    "objects_start" "1 if a start ends outside q, else absent";
    "objects_tail" "1 if the density has no integral along a line, else absent";
    "objects_weights" "1 if the weights have a heavy tail, else absent";
    "p_evaluations" "evaluations of the target's density so far";
    "p_gradients" "evaluations of the target's gradient so far";
    "phi" "persistence of the volatility";
    "pooled_bias" "mean error over all entries of the direction, as published";
    "pooled_variance" "variance over all entries of all directions, as published";
    "promoted" "share of proposals that passed the first stage of delayed acceptance";
    "quadrature_error" "log likelihood by the quadrature of a sparse process less that by a finer one, mean over draws of q, nats";
    "r_hat" "largest R-hat of a coordinate of the chains";
    "renewed" "share of a path that differs from the retained one";
    "resampled" "share of times at which particles were resampled";
    "restarted" "share of blocks of a random scan that began anew";
    "rmse" "held-out root mean squared error, in the units of the data";
    "sample_share" "effective sample size of draws of q, as a share of their number";
    "scale" "standard deviation of the first coordinate under q";
    "second_acceptance" "acceptance probability of the second stage of delayed acceptance";
    "seconds" "seconds of one processor so far, without those for metrics";
    "share" "share of the draws of q in the region that a fit may miss";
    "share_of_target" "share of the draws of the target in the region that a fit may miss";
    "sigma" "standard deviation of the steps of the log volatility";
    "spread_error" "largest error of a log standard deviation of draws";
    "spread_median" "median over coordinates of the error of a log standard deviation of draws";
    "start_share" "share of the starts that reach a mode that is easily missed";
    "still" "1 if no step of an annealed path moves, else 0";
    "terms" "likelihood terms of single data that were evaluated: values, gradients, products with Hessians";
    "train_accuracy" "share of training labels that are predicted";
    "train_lpd" "mean log predictive density of training labels, nats";
    "untold_metrics" "metrics of the kernel for which there was no room";
    "vanished" "chains or steps at which all weights were zero";
    "variance" "variance of the direction, summed over its coordinates";
    "wasserstein" "mean over coordinates and over levels from 5 to 95 % of the errors of quantiles, in standard deviations";
    "weights_below_0.1" "share of network weights with a mean within 0.1 of zero";
    "weights_deviation" "standard deviation of the means of network weights";
    "yes" "1 if the verdict on the fit is yes, else 0";
    "zero_steps" "steps of an annealed path whose size is zero";
};

/// The name of a metric, if it is one.
pub fn metric(name: &str) -> Option<&'static str> {
    METRICS.binary_search(&name).ok().map(|place| METRICS[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_found_by_its_name() {
        assert!(METRICS.iter().all(|name| metric(name) == Some(name)));
        assert_eq!(metric("no metric"), None);
    }
}
