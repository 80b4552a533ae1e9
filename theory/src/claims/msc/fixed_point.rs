//! Claims on the fixed point of the ascent on minibatches (MSC, Prop. 2).

use super::batches::{Batches, normalised};
use crate::claims::{Bound, Claim, MSC, Sides};

pub(super) fn claims() -> Vec<Claim> {
    vec![distinct(), replaced(), whole()]
}

const SETTINGS: [(usize, usize, usize); 3] = [(2, 3, 2), (3, 3, 2), (3, 4, 2)];

/// Largest absolute component of the mean step at a softmax guide, over all sequences of data and all draws of the
/// guide, each with its weight `p(z) p(x_M | z)^(n/m) / q(z)`; relative to the mean weight.
fn mean_step(case: &Batches, replaced: bool, guide: &[f64]) -> f64 {
    let joint = case.mean(&case.sequences(replaced));
    let mut direction = vec![0.0; guide.len()];
    for (z, q) in guide.iter().enumerate() {
        let weight = joint[z] / q;
        for (k, direction) in direction.iter_mut().enumerate() {
            let score = f64::from(u8::from(k == z)) - guide[k];
            *direction += q * weight * score;
        }
    }
    let total: f64 = joint.iter().sum();
    direction.iter().fold(0.0, |worst: f64, d| worst.max(d.abs())) / total
}

fn standstill(case: &Batches, replaced: bool, joint: Vec<f64>) -> Option<Sides> {
    let guide = normalised(joint);
    if guide.iter().any(|q| !(*q > 1e-12)) {
        return None;
    }
    Some(Sides::equal(mean_step(case, replaced, &guide), 0.0))
}

fn distinct() -> Claim {
    let formula = "E[step] = 0 at q ∝ p(z) sum_M p(x_M | z)^(n/m)";
    let printed = Bound::<Batches>::new(formula, SETTINGS.to_vec(), |case| {
        standstill(case, false, case.mean(&case.sets(false)))
    });
    let twin = |case: &Batches| {
        let whole = Batches { size: case.likelihoods.len(), ..case.clone() };
        standstill(case, false, whole.mean(&whole.sets(false)))
    };
    Claim::new("002-P2", MSC, "Proposition 2", printed.twin("at the posterior of all data", twin))
        .assuming("batches without replacement, fixed lambda, the estimator of eq. 10, not normalised")
}

fn replaced() -> Claim {
    let mut settings = SETTINGS.to_vec();
    settings.push((2, 2, 2));
    let printed = "E[step] = 0 at q ∝ p(z) sum_M p(x_M | z)^(n/m)";
    let printed =
        Bound::<Batches>::new(printed, settings, |case| standstill(case, true, case.mean(&case.sets(true))));
    let likelihoods = vec![vec![0.5, 0.25], vec![1.0, 0.25]];
    let example = Batches { prior: vec![0.5, 0.5], likelihoods, size: 2 };
    let corrected = "E[step] = 0 at q ∝ p(z) sum_M multiplicity(M) p(x_M | z)^(n/m)";
    let corrected = Bound::<Batches>::new(corrected, SETTINGS.to_vec(), |case| {
        standstill(case, true, case.mean(&case.sequences(true)))
    });
    let twin = |case: &Batches| standstill(case, true, case.mean_to(&case.sequences(true), 1.0));
    Claim::new("002-P2-REPLACED", MSC, "Proposition 2", printed.example(example))
        .assuming("batches with replacement, M in the set of all batches")
        .remark("a batch of different data is drawn more often than one of equal data")
        .corrected(corrected.twin("without the power n/m", twin))
}

fn whole() -> Claim {
    let settings = vec![(2, 2, 2), (2, 3, 3), (3, 3, 3)];
    let printed = "for m = n, E[step] = 0 at q = p(z | x)";
    let printed = Bound::<Batches>::new(printed, settings, |case| {
        let posterior = (0..case.prior.len()).map(|z| {
            case.prior[z] * case.likelihoods.iter().map(|likelihood| likelihood[z]).product::<f64>()
        });
        standstill(case, false, posterior.collect())
    });
    let twin = |case: &Batches| standstill(case, false, case.prior.clone());
    Claim::new("002-P2-WHOLE", MSC, "Proposition 2", printed.twin("at the prior", twin))
        .assuming("one batch of all data")
}
