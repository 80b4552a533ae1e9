//! Claims on one transition of the chain (MCMC-SE, Sec. 3 and Lemmas 1 and 2).

use crate::claims::{Adaptive, Atoms, Bound, Claim, MCMC_SE, Setting, Sides};
use crate::{Number, dot, total_variation};

pub(super) fn claims() -> Vec<Claim> {
    vec![any_start(), acceptance(), adaptation()]
}

/// The bias from a random start is at most that from the worst start (MCMC-SE, Lemma 1).
fn any_start() -> Claim {
    let settings = Setting::with_dims(&Setting::atoms(&[2, 3, 4]), &[2]);
    let printed =
        Bound::<Atoms>::new("|E_{eta K} s - E_p s| <= sup_z |E_{K(z)} s - E_p s|", settings, |case| {
            let (law, means) = (first_law(case), case.problem.imh().apply(case.problem.s()));
            let bias = |mean: f64| (mean - case.problem.mean()).abs();
            let largest = means.iter().map(|&mean| bias(mean)).fold(0.0, f64::max);
            Some(Sides::at_most(bias(dot(&law, &means)), largest))
        });
    Claim::new("000-L1", MCMC_SE, "Lemma 1", printed.twin_times(0.95))
        .assuming("K keeps p; eta any law of the start, here with logits 8 times the second score")
        .remark("Eq. 13 writes an equality sign for \"at most\".")
}

/// Distribution of the start, from the second coordinate of the score.
fn first_law(case: &Atoms) -> Vec<f64> {
    let logits: Vec<f64> = case.further[0].iter().map(|s| 8.0 * s).collect();
    crate::claims::atoms::normalised(&logits)
}

/// Accepted moves of independent Metropolis-Hastings in terms of the target (MCMC-SE, Lemma 2).
fn acceptance() -> Claim {
    /// Both sides, for the move at which they differ most.
    fn sides(case: &Atoms, right: fn(f64, f64) -> f64) -> Option<Sides> {
        let (p, w) = (&case.problem, case.problem.w());
        let z = case.start;
        let each = (0..p.len()).filter(|&y| w[y] > 0.0).map(|y| {
            Sides::equal(p.q()[y] * (w[y] / w[z]).smaller(1.0), p.pi()[y] * right(1.0 / w[z], 1.0 / w[y]))
        });
        each.max_by(|a, b| a.badness().total_cmp(&b.badness()))
    }
    let printed = Bound::<Atoms>::new(
        "q(z') min(1, w(z')/w(z)) = p(z') min(1/w(z), 1/w(z'))",
        Setting::atoms(&[2, 3, 4]),
        |case| sides(case, f64::min),
    )
    .twin("with max for min on the right", |case| sides(case, f64::max));
    Claim::new("000-L2", MCMC_SE, "Lemma 2", printed)
        .assuming("w(z) > 0")
        .remark("Covers the accepted moves alone: what a rejection leaves at z is not in it.")
}

/// Ergodic rates over several steps with a guide that depends on the chain (MCMC-SE, Sec. 3).
fn adaptation() -> Claim {
    let settings = Setting::grid(&[2, 3], &[1], &[2, 3, 4]);
    let printed = Bound::<Adaptive>::new(
        "TV(law of z_n, p) <= sup r^n, the guide chosen by the chain",
        settings,
        |case| {
            let transition = case.transition().power(case.steps);
            let exceeds = total_variation(transition.row(case.start), case.problems[0].pi());
            (case.rate() > 0.05).then(|| Sides::at_most(exceeds, case.rate().powi(case.steps as i32)))
        },
    );
    // From the first atom the guide is (1/2, 1/2), from the second (3/4, 1/4).
    let printed = printed.example(Adaptive::new(&[0.5, 0.5], &[vec![0.5, 0.5], vec![0.75, 0.25]], 3, 0));
    let corrected = Bound::<Adaptive>::new(
        "TV(K(z, .), p) <= sup r for one step, given z",
        Setting::atoms(&[2, 3]),
        |case| {
            let distance = total_variation(case.transition().row(case.start), case.problems[0].pi());
            (case.rate() > 0.05).then(|| Sides::at_most(distance, case.rate()))
        },
    );
    Claim::new("000-AD", MCMC_SE, "Section 3, \"free to use ergodic rates\"", printed)
        .remark(
            "One-step bounds given the past hold; powers of them do not, for the chain chooses its guide.",
        )
        .corrected(corrected.twin_times(0.95))
}
