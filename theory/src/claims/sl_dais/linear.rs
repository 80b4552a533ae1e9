//! Linear Gaussian case: prior, likelihood and chain with a surrogate.

use crate::claims::{Domain, Numbers};
use crate::dais::{LinearDais, Normal, Quadratic};

/// Method of the claims whose sides are sums of closed forms.
pub(super) const METHOD: &str = "closed form, linear Gaussian";

/// Prior, likelihood, error of the surrogate and step size, once per number of steps `K`.
pub(super) fn settings(steps: &[usize]) -> Vec<Numbers> {
    let variables = [
        ("prior mean", Domain::Between(-2.0, 2.0), 1),
        ("prior precision", Domain::Between(1.0, 3.0), 1),
        ("a", Domain::Between(-3.0, 3.0), 1),
        ("B", Domain::Between(0.0, 3.0), 1),
        ("da", Domain::Between(-2.0, 2.0), 1),
        ("dB", Domain::Between(-0.25, 2.0), 1),
        ("eta", Domain::Between(0.05, 0.8), 1),
    ];
    Numbers::settings(&variables, steps)
}

pub(super) fn prior(case: &Numbers) -> Normal {
    let (mean, precision) = (case.number("prior mean"), case.number("prior precision"));
    Normal::scalar(mean, 1.0 / precision).expect("the domains are bounded")
}

pub(super) fn likelihood(case: &Numbers) -> Quadratic {
    Quadratic::scalar(case.number("a"), case.number("B"))
}

/// The chain with surrogate slope `a + da` and curvature `B + dB`, and the posterior.
pub(super) fn chain(case: &Numbers) -> Option<(LinearDais, Normal)> {
    let (prior, likelihood) = (prior(case), likelihood(case));
    let (slope, curvature) = (case.number("a") + case.number("da"), case.number("B") + case.number("dB"));
    let surrogate = Quadratic::scalar(slope, curvature);
    let (posterior, _) = prior.posterior(&likelihood).ok()?;
    Some((LinearDais::from_prior(&prior, &surrogate, case.count, case.number("eta")), posterior))
}
