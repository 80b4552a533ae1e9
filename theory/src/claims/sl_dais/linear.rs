//! Linear Gaussian case: prior, likelihood and chain with a surrogate.

use crate::claims::{Domain, Numbers};
use crate::dais::{Law, LinearDais, Quadratic};

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

pub(super) fn prior(case: &Numbers) -> Law {
    Law { mean: case.number("prior mean"), variance: 1.0 / case.number("prior precision") }
}

pub(super) fn likelihood(case: &Numbers) -> Quadratic {
    Quadratic { slope: case.number("a"), curvature: case.number("B") }
}

/// The chain with surrogate slope `a + da` and curvature `B + dB`.
pub(super) fn chain(case: &Numbers) -> LinearDais {
    let Quadratic { slope, curvature } = likelihood(case);
    let surrogate = Quadratic { slope: slope + case.number("da"), curvature: curvature + case.number("dB") };
    LinearDais { prior: prior(case), surrogate, steps: case.count, step_size: case.number("eta") }
}
