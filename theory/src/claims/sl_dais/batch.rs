//! Claims on a surrogate drawn anew for every sample: the likelihood of a minibatch (SL-DAIS, Prop. 2).

use super::linear::{likelihood, prior, settings};
use crate::claims::{Bound, Claim, Numbers, SL_DAIS, Sides};
use crate::dais::{LinearDais, Normal, Quadratic};
use mcsa_core::numeric::quadrature::integrate;

pub(super) fn claims() -> Vec<Claim> {
    vec![divergence(), aggregate()]
}

/// Two equally likely batches, whose mean is the likelihood of all data; `da` and `dB` are their differences from it.
fn batches(case: &Numbers, step_size: f64) -> [LinearDais; 2] {
    let (slope, curvature) = (case.number("a"), case.number("B"));
    // A batch has no negative curvature.
    let (by, bend) = (case.number("da"), case.number("dB").clamp(-curvature, curvature));
    [1.0, -1.0].map(|sign| {
        let surrogate = Quadratic::scalar(slope + sign * by, curvature + sign * bend);
        LinearDais::from_prior(&prior(case), &surrogate, case.count, step_size)
    })
}

/// `KL(equal mixture of distributions || other)` by quadrature.
pub(super) fn mixture_divergence(laws: &[Normal], other: &dyn Fn(f64) -> f64) -> f64 {
    let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
    for law in laws {
        let (mean, reach) = (law.mean()[0], 10.0 * law.covariance()[(0, 0)].sqrt());
        ends = (ends.0.min(mean - reach), ends.1.max(mean + reach));
    }
    let integrand = |z: f64| {
        let log_density = mixture_log_density(laws, z);
        log_density.exp() * (log_density - other(z))
    };
    integrate(ends.0, ends.1, 1e-9, integrand).value
}

/// Log density of an equal mixture.
pub(super) fn mixture_log_density(laws: &[Normal], z: f64) -> f64 {
    // Relative to the largest term so far.
    let (mut top, mut total) = (f64::NEG_INFINITY, 0.0);
    for log_density in laws.iter().map(|law| law.log_density(&[z])) {
        if log_density > top {
            total = 1.0 + total * (top - log_density).exp();
            top = log_density;
        } else {
            total += (log_density - top).exp();
        }
    }
    top + (total / laws.len() as f64).ln()
}

/// Distributions of `z_K`.
fn laws([a, b]: &[LinearDais; 2]) -> Option<[Normal; 2]> {
    Some([a.end().law().ok()?, b.end().law().ok()?])
}

fn divergence() -> Claim {
    let formula = "KL(E_J q_J(z_K) || p(z | D)) <= log p(D) - E_J L_J";
    let printed = Bound::<Numbers>::new(formula, settings(&[1, 2, 5, 20]), |case| {
        let chains = batches(case, case.number("eta"));
        let (posterior, _) = prior(case).posterior(&likelihood(case)).ok()?;
        let far = mixture_divergence(&laws(&chains)?, &|z| posterior.log_density(&[z]));
        let gap = 0.5 * chains.iter().map(|chain| chain.gap(&posterior)).sum::<f64>();
        Some(Sides::at_most(far, gap)).filter(|_| gap > 1e-4)
    });
    let printed = printed.by("closed form and quadrature, linear Gaussian");
    Claim::new("004-P1-BATCH", SL_DAIS, "Proposition 1", printed.twin_times(0.95))
        .assuming("a batch for each sample, all data in the last term")
}

/// The divergences from the distribution after `K` steps to the mixture of the batches' posteriors and to the posterior, and
/// the mean divergence from the prior to the batches' posteriors.
fn ends(case: &Numbers) -> Option<(f64, f64, f64)> {
    let (prior, likelihood) = (prior(case), likelihood(case));
    let chains = batches(case, (case.count as f64).powf(-0.25));
    let own = |chain: &LinearDais| prior.posterior(&chain.surrogate).ok().map(|(own, _)| own);
    let own = [own(&chains[0])?, own(&chains[1])?];
    let (posterior, _) = prior.posterior(&likelihood).ok()?;
    let ends = laws(&chains)?;
    let aggregate = mixture_divergence(&ends, &|z| mixture_log_density(&own, z));
    let way = 0.5 * own.iter().map(|own| prior.divergence(own)).sum::<f64>();
    Some((aggregate, mixture_divergence(&ends, &|z| posterior.log_density(&[z])), way))
}

fn aggregate() -> Claim {
    let formula = "KL(E_J q_J(z_K) || E_J p(z | D_J)) <= (1 + E_J KL(p(z) || p(z | D_J))) / sqrt(K)";
    let printed = Bound::<Numbers>::new(formula, settings(&[256, 1024, 4096]), |case| {
        let (aggregate, _, way) = ends(case)?;
        Some(Sides::at_most(aggregate, (1.0 + way) / (case.count as f64).sqrt()))
    });
    let printed = printed.by("closed form and quadrature, linear Gaussian");
    Claim::new("004-P2", SL_DAIS, "Proposition 2", printed.twin("to the posterior", |case| {
        let (_, posterior, way) = ends(case)?;
        Some(Sides::at_most(posterior, (1.0 + way) / (case.count as f64).sqrt()))
    }))
        .assuming("a batch for each sample, kept for all steps, eta = K^(-1/4)")
        .remark("a limit, given a constant here; the aggregate of the batches' posteriors is wider than the posterior")
}
