//! Claims on the objective and the weights (pMCSA, Sec. 2).

use crate::claims::{Atoms, Bound, Claim, PMCSA, Setting, Sides};
use crate::{Instance, dot};

pub(super) fn claims() -> Vec<Claim> {
    vec![objective(), gradient(), smallest_weight(), weight_variance(), divergences()]
}

/// `E_Pi f = KL(p || q)` with `f = -1/N sum log q - H[p]` (pMCSA, Prop. 1).
fn objective() -> Claim {
    fn cross_entropy(case: &Atoms) -> f64 {
        -case.problem.pi().iter().zip(case.problem.q()).map(|(p, q)| p * q.ln()).sum::<f64>()
    }
    fn entropy(case: &Atoms) -> f64 {
        -case.problem.pi().iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>()
    }
    let printed = Bound::<Atoms>::new("E_Pi f = KL(p||q)", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::equal(cross_entropy(case) - entropy(case), case.problem.kl()))
    })
    .twin("without the entropy", |case| Some(Sides::equal(cross_entropy(case), case.problem.kl())));
    Claim::new("001-PK", PMCSA, "Proposition 1, value", printed).assuming("Pi has the marginals p")
}

/// `E_Pi g = grad KL`, by finite differences in the logits of q (pMCSA, Prop. 1).
fn gradient() -> Claim {
    fn divergence_at(case: &Atoms, atom: usize, width: f64) -> f64 {
        let mut logits: Vec<f64> = case.problem.q().iter().map(|q| q.ln()).collect();
        logits[atom] += width;
        let q = crate::claims::atoms::normalised(&logits);
        Instance::new(case.problem.pi(), &q, case.problem.s()).map_or(f64::NAN, |moved| moved.kl())
    }
    /// Fourth-order finite difference, whose error here is below 1e-11.
    fn slope(case: &Atoms, atom: usize) -> f64 {
        let h = 2e-3;
        let pair = |k: f64| divergence_at(case, atom, k * h) - divergence_at(case, atom, -k * h);
        (8.0 * pair(1.0) - pair(2.0)) / (12.0 * h)
    }
    let printed =
        Bound::<Atoms>::new("E_Pi[-grad log q] = grad KL(p||q)", Setting::atoms(&[2, 3, 4]), |case| {
            let atom = case.start;
            Some(Sides::equal(case.problem.q()[atom] - case.problem.pi()[atom], slope(case, atom)))
        })
        .by("differences of fourth order")
        .twin("under q instead of p", |case| Some(Sides::equal(0.0, slope(case, case.start))));
    Claim::new("001-PK-GRAD", PMCSA, "Proposition 1, gradient", printed).assuming("q by its logits")
}

/// `exp KL < w*`, strictly (pMCSA, Sec. 3).
fn smallest_weight() -> Claim {
    let printed = Bound::<Atoms>::new("exp KL(p||q) < w*", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::below(case.problem.kl().exp(), case.w_star()))
    })
    .example(Atoms::new(&[0.5, 0.5], &[0.5, 0.5], &[1.0, -1.0]))
    .example(Atoms::new(&[1.0, 0.0], &[0.5, 0.5], &[1.0, -1.0]));
    let corrected = Bound::<Atoms>::new("exp KL(p||q) <= w*", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::at_most(case.problem.kl().exp(), case.w_star()))
    });
    Claim::new("001-W", PMCSA, "Section 3, on w*", printed)
        .remark("Equal at p = q, and where q is p among other atoms.")
        .corrected(corrected.twin_times(0.95))
}

/// `V_q w = chi^2(p || q)`, Pearson's divergence (pMCSA, proof of Thm. 2).
fn weight_variance() -> Claim {
    fn variance(case: &Atoms) -> f64 {
        let (q, w) = (case.problem.q(), case.problem.w());
        let mean = dot(q, w);
        q.iter().zip(w).map(|(q, w)| q * (w - mean) * (w - mean)).sum()
    }
    let printed = Bound::<Atoms>::new("V_q w = chi^2(p||q)", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::equal(variance(case), case.problem.pearson()))
    })
    .twin("with E_q w^2", |case| Some(Sides::equal(variance(case), case.problem.pearson() + 1.0)));
    Claim::new("001-IWVAR", PMCSA, "proof of Theorem 2, variance of weights", printed)
}

/// `exp KL - 1 <= chi^2(p || q)` (pMCSA, Sec. 3).
fn divergences() -> Claim {
    let printed =
        Bound::<Atoms>::new("exp KL(p||q) - 1 <= chi^2(p||q)", Setting::atoms(&[2, 3, 4]), |case| {
            Some(Sides::at_most(case.problem.kl().exp(), 1.0 + case.problem.pearson()))
        });
    Claim::new("001-CHI-KL", PMCSA, "Section 3, on divergences", printed.twin_times(0.95))
        .remark("By Jensen's inequality.")
}
