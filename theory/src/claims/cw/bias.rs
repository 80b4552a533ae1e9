//! Claims on bias, for one chain and for parallel chains (CW, Sec. 3).

use crate::bounds::cw as bounds;
use crate::claims::{Adaptive, Atoms, Bound, CW, Claim, Setting, Sides};
use crate::total_variation;

pub(super) fn claims() -> Vec<Claim> {
    vec![sequential(), single(), parallel(), scheduled(), adapted(), divergence()]
}

/// Bias of the average in update `steps`, and the least `L` with `|s| <= L / 2`.
fn sequential_bias(case: &Atoms) -> Option<(f64, f64)> {
    case.rate_to(case.samples * case.steps)?;
    let kernel = case.problem.imh();
    let mut means = case.problem.sequential(&kernel, case.samples).means;
    for _ in 0..case.samples * (case.steps - 1) {
        means = kernel.apply(&means);
    }
    Some(((means[case.start] - case.problem.mean()).abs(), case.range()))
}

fn sequential() -> Claim {
    let settings = Setting::grid(&[2, 3], &[2, 3, 5], &[1, 2]);
    let printed = Bound::<Atoms>::new("Bias[g_seq,t] <= L r^(N t)", settings.clone(), |case| {
        let (bias, range) = sequential_bias(case)?;
        Some(Sides::at_most(
            bias,
            bounds::sequential_bias_as_printed(range, case.w_star(), case.samples, case.steps),
        ))
    });
    let example = Atoms::new(&[0.25, 0.75], &[0.125, 0.875], &[1.0, -1.0]).samples(2);
    let corrected = Bound::<Atoms>::new("Bias[g_seq,t] <= L r^(N(t-1)) (w*-1)(1-r^N)/N", settings, |case| {
        let (bias, range) = sequential_bias(case)?;
        Some(Sides::at_most(bias, bounds::sequential_bias(range, case.w_star(), case.samples, case.steps)))
    });
    Claim::new("003-T1", CW, "Theorem 1", printed.example(example))
        .assuming("IMH, fixed lambda, |s| <= L/2, N >= 2")
        .remark("the average of r, .., r^N is not below r^N: the step from eq. 29 to eq. 30 bounds it from the wrong side")
        .corrected(corrected.twin_times(0.95))
}

fn single() -> Claim {
    let settings = Setting::grid(&[2, 3, 4], &[1], &[1, 2, 4]);
    let printed = Bound::<Atoms>::new("Bias[g_seq,t] <= L r^t for N = 1", settings, |case| {
        let (bias, range) = sequential_bias(case)?;
        Some(Sides::at_most(bias, bounds::sequential_bias_as_printed(range, case.w_star(), 1, case.steps)))
    });
    Claim::new("003-T1-N1", CW, "Theorem 1", printed.twin_times(0.95))
        .assuming("IMH, fixed lambda, |s| <= L/2, N = 1")
}

fn parallel() -> Claim {
    let settings = Setting::grid(&[2, 3, 4], &[1], &[1, 2, 4]);
    let printed = Bound::<Atoms>::new("Bias[g_par,t] <= L r^t", settings, |case| {
        let (bias, range) = sequential_bias(case)?;
        Some(Sides::at_most(bias, bounds::parallel_bias(range, case.w_star(), case.steps)))
    });
    Claim::new("003-T2", CW, "Theorem 2", printed.twin_times(0.95)).assuming("IMH, fixed lambda, |s| <= L/2")
}

/// TV distance after one step of each kernel in turn, against the product of their rates.
fn scheduled() -> Claim {
    let settings = Setting::grid(&[2, 3], &[1], &[2, 3, 4]);
    let printed = Bound::<Adaptive>::new("TV_t <= r_1 r_2 .. r_t", settings, |case| {
        let (mut law, mut bound) = (point(case), 1.0);
        for problem in case.problems.iter().cycle().take(case.steps) {
            law = problem.imh().push(&law);
            bound *= problem.rate();
        }
        Some(Sides::at_most(total_variation(&law, case.problems[0].pi()), bound)).filter(|_| bound > 1e-4)
    });
    Claim::new("003-T2-SCHEDULED", CW, "Theorem 2", printed.twin_times(0.95))
        .assuming("IMH, lambda moves on a path fixed in advance")
}

fn point(case: &Adaptive) -> Vec<f64> {
    (0..case.problems.len()).map(|z| f64::from(u8::from(z == case.start))).collect()
}

fn adapted() -> Claim {
    fn sides(case: &Adaptive, exponent: usize) -> Option<Sides> {
        let step = case.transition();
        let law = (0..case.steps).fold(point(case), |law, _| step.push(&law));
        let bound = case.rate().powi(exponent as i32);
        Some(Sides::at_most(total_variation(&law, case.problems[0].pi()), bound)).filter(|_| bound > 1e-4)
    }
    let settings = Setting::grid(&[2, 3], &[1], &[2, 3, 5]);
    let printed =
        Bound::<Adaptive>::new("TV_t <= (sup r)^t", settings.clone(), |case| sides(case, case.steps));
    let example = Adaptive::new(&[0.5, 0.5], &[vec![0.5, 0.5], vec![0.75, 0.25]], 3, 0);
    let corrected = Bound::<Adaptive>::new("TV_t <= sup r", settings, |case| sides(case, 1));
    Claim::new("003-T2-ADAPTED", CW, "Theorem 2, eq. 26", printed.example(example))
        .assuming("IMH, lambda_(t-1) is a function of z_(t-1), as in the algorithm")
        .remark("each kernel keeps the target, but a kernel chosen by the state does not; only the last step counts")
        .corrected(corrected.twin("the square of the rate", |case| sides(case, 2)))
}

fn divergence() -> Claim {
    let printed = Bound::<Atoms>::new("exp KL(p || q) <= w*", Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::at_most(case.problem.kl().exp(), case.w_star()))
    });
    Claim::new("003-P1", CW, "Proposition 1", printed.twin_times(0.95))
}
