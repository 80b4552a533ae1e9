//! Claims on a surrogate drawn anew for every sample: the likelihood of a minibatch (SL-DAIS, Prop. 2).

use super::linear::{likelihood, prior, settings};
use crate::claims::{Bound, Claim, Numbers, SL_DAIS, Sides};
use crate::dais::{Law, LinearDais, Quadratic};
use mcsa_core::quadrature::integrate;

pub(super) fn claims() -> Vec<Claim> {
    vec![divergence(), aggregate()]
}

/// Two equally likely batches, whose mean is the likelihood of all data; `da` and `dB` are their differences from it.
fn batches(case: &Numbers, steps: usize, step_size: f64) -> [LinearDais; 2] {
    let Quadratic { slope, curvature } = likelihood(case);
    // A batch has no negative curvature.
    let (by, bend) = (case.number("da"), case.number("dB").clamp(-curvature, curvature));
    [1.0, -1.0].map(|sign| LinearDais {
        prior: prior(case),
        surrogate: Quadratic { slope: slope + sign * by, curvature: curvature + sign * bend },
        steps,
        step_size,
    })
}

/// `KL(mean of two distributions || other)` by quadrature.
fn mixture_divergence(laws: &[Law; 2], other: &dyn Fn(f64) -> f64) -> f64 {
    let log_mean = |z: f64| log_mean(laws, z);
    let ends = laws.map(|law| (law.mean - 10.0 * law.variance.sqrt(), law.mean + 10.0 * law.variance.sqrt()));
    let (from, to) = (ends[0].0.min(ends[1].0), ends[0].1.max(ends[1].1));
    integrate(from, to, 1e-9, |z| log_mean(z).exp() * (log_mean(z) - other(z))).value
}

fn log_mean(laws: &[Law; 2], z: f64) -> f64 {
    let [a, b] = laws.map(|law| law.log_density(z));
    a.max(b) + (0.5 * (1.0 + (-(a - b).abs()).exp())).ln()
}

fn divergence() -> Claim {
    let formula = "KL(E_J q_J(z_K) || p(z | D)) <= log p(D) - E_J L_J";
    let printed = Bound::<Numbers>::new(formula, settings(&[1, 2, 5, 20]), |case| {
        let (chains, likelihood) = (batches(case, case.count, case.number("eta")), likelihood(case));
        let (posterior, _) = chains[0].posterior(&likelihood);
        let far = mixture_divergence(&chains.map(|chain| chain.end().0), &|z| posterior.log_density(z));
        let gap = 0.5 * chains.map(|chain| chain.gap(&likelihood)).iter().sum::<f64>();
        Some(Sides::at_most(far, gap)).filter(|_| gap > 1e-4)
    });
    let printed = printed.by("closed form and quadrature, linear Gaussian");
    Claim::new("004-P1-BATCH", SL_DAIS, "Proposition 1", printed.twin_times(0.95))
        .assuming("a batch for each sample, all data in the last term")
}

/// The divergences from the distribution after `K` steps to the mixture of the batches' posteriors and to the posterior, and
/// the mean divergence from the prior to the batches' posteriors.
fn ends(case: &Numbers) -> (f64, f64, f64) {
    let chains = batches(case, case.count, (case.count as f64).powf(-0.25));
    let own = chains.map(|chain| chain.posterior(&chain.surrogate).0);
    let (posterior, _) = chains[0].posterior(&likelihood(case));
    let ends = chains.map(|chain| chain.end().0);
    let aggregate = mixture_divergence(&ends, &|z| log_mean(&own, z));
    let way = 0.5 * own.map(|own| prior(case).divergence(&own)).iter().sum::<f64>();
    (aggregate, mixture_divergence(&ends, &|z| posterior.log_density(z)), way)
}

fn aggregate() -> Claim {
    let formula = "KL(E_J q_J(z_K) || E_J p(z | D_J)) <= (1 + E_J KL(p(z) || p(z | D_J))) / sqrt(K)";
    let printed = Bound::<Numbers>::new(formula, settings(&[256, 1024, 4096]), |case| {
        let (aggregate, _, way) = ends(case);
        Some(Sides::at_most(aggregate, (1.0 + way) / (case.count as f64).sqrt()))
    });
    let printed = printed.by("closed form and quadrature, linear Gaussian");
    Claim::new("004-P2", SL_DAIS, "Proposition 2", printed.twin("to the posterior", |case| {
        let (_, posterior, way) = ends(case);
        Some(Sides::at_most(posterior, (1.0 + way) / (case.count as f64).sqrt()))
    }))
        .assuming("a batch for each sample, kept for all steps, eta = K^(-1/4)")
        .remark("a limit, given a constant here; the aggregate of the batches' posteriors is wider than the posterior")
}
