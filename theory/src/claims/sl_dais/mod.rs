//! Claims of SL-DAIS, in one dimension with Gaussian distributions. The available text lacks its displayed equations; the
//! statements are reconstructed from its sentences.

mod batch;
mod surrogate;

use super::{Claim, Domain, Numbers};
use crate::dais::{Law, LinearDais, Quadratic};

/// All claims of the paper, in its order.
pub(super) fn all() -> Vec<Claim> {
    let mut all = surrogate::bounds();
    all.extend(batch::claims());
    all.push(surrogate::limit());
    all
}

/// Prior, likelihood, error of the surrogate and step size, once per number of steps `K`.
fn settings(steps: &[usize]) -> Vec<Numbers> {
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

fn prior(case: &Numbers) -> Law {
    Law { mean: case.number("prior mean"), variance: 1.0 / case.number("prior precision") }
}

fn likelihood(case: &Numbers) -> Quadratic {
    Quadratic { slope: case.number("a"), curvature: case.number("B") }
}

/// The chain with surrogate slope `a + da` and curvature `B + dB`.
fn chain(case: &Numbers) -> LinearDais {
    let Quadratic { slope, curvature } = likelihood(case);
    let surrogate = Quadratic { slope: slope + case.number("da"), curvature: curvature + case.number("dB") };
    LinearDais { prior: prior(case), surrogate, steps: case.count, step_size: case.number("eta") }
}
