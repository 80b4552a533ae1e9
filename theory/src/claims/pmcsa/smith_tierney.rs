//! Claims on the closed form of independent Metropolis-Hastings (pMCSA, eqs. 5 and 6; App. C).

use crate::bounds::pmcsa as bounds;
use crate::claims::{AtWeight, Atoms, Bound, Claim, PMCSA, Setting, Sides};
use crate::{Instance, dot};

pub(super) fn claims() -> Vec<Claim> {
    vec![
        kernel(),
        rejection(),
        rejection_below(),
        rejection_above(),
        accepted(),
        mean_after(),
        mean_after_one(),
    ]
}

/// Rejection probability by eq. 6 as printed, with the integral over the target.
fn rejection_as_printed(p: &Instance<f64>, v: f64) -> f64 {
    let each = p.pi().iter().zip(p.w()).filter(|(_, w)| **w <= v);
    each.map(|(pi, w)| pi * (1.0 - w / v)).sum()
}

/// `K^n(z, .) = T_n(max(w, w(z))) p + lambda(w(z))^n delta_z` (pMCSA, eq. 5).
fn kernel() -> Claim {
    fn sides(case: &Atoms, rejection: fn(&Instance<f64>, f64) -> f64) -> Option<Sides> {
        let (p, z) = (&case.problem, case.start);
        let (power, v) = (p.imh().power(case.steps), p.w()[z]);
        let each = (0..p.len()).filter_map(|y| {
            let stays = if y == z { rejection(p, v).powi(case.steps as i32) } else { 0.0 };
            let moved = p.t_n(case.steps, &p.w()[y].max(v))? * p.pi()[y];
            Some(Sides::equal(power.row(z)[y], moved + stays))
        });
        each.max_by(|a, b| a.badness().total_cmp(&b.badness()))
    }
    let settings = Setting::grid(&[2, 3, 4], &[1], &[1, 2, 3, 5]);
    let formula = "K^n(z, .) = T_n(max(w, w(z))) p + lambda(w(z))^n delta_z";
    let printed = Bound::<Atoms>::new(formula, settings, |case| sides(case, |p, v| p.rejection_at(&v)))
        .twin("with lambda as printed in eq. 6", |case| sides(case, rejection_as_printed));
    Claim::new("001-KER", PMCSA, "eq. 5", printed)
        .assuming("IMH; lambda an integral over q")
        .remark("Smith & Tierney (1996).")
}

/// The rejection probability `lambda(w)` is an integral over the proposal distribution (pMCSA, eq. 6).
fn rejection() -> Claim {
    let settings = Setting::atoms(&[2, 3, 4]);
    let formula = "rejection rate at w = int_{w' <= w} (1 - w'/w) p(dz')";
    let printed = Bound::<Atoms>::new(formula, settings.clone(), |case| {
        let (p, v) = (&case.problem, case.problem.w()[case.start]);
        Some(Sides::equal(p.imh_rejections()[case.start], rejection_as_printed(p, v)))
    });
    let corrected =
        Bound::<Atoms>::new("rejection rate at w = int_{w' <= w} (1 - w'/w) q(dz')", settings, |case| {
            let (p, v) = (&case.problem, case.problem.w()[case.start]);
            Some(Sides::equal(p.imh_rejections()[case.start], p.rejection_at(&v)))
        });
    Claim::new(
        "001-LAM-DEF",
        PMCSA,
        "eq. 6",
        printed.example(Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0])),
    )
    .assuming("IMH, w the weight of an atom")
    .remark("The target stands where the guide belongs.")
    .corrected(corrected)
}

/// `max(1 - 1/w, 0) <= lambda(w)` (pMCSA, Lemma 1).
fn rejection_below() -> Claim {
    let printed =
        Bound::<AtWeight>::new("max(1 - 1/v, 0) <= lambda(v)", Setting::atoms(&[2, 3, 4]), |case| {
            Some(Sides::at_most((1.0 - 1.0 / case.v).max(0.0), case.atoms.problem.rejection_at(&case.v)))
        });
    Claim::new("001-L1-LOW", PMCSA, "Lemma 1, lower bound", printed.twin_times(0.95)).assuming("every v > 0")
}

/// `lambda(w) <= 1 - 1/w*` (pMCSA, Lemma 1).
fn rejection_above() -> Claim {
    fn sides(case: &AtWeight) -> Option<Sides> {
        let rate = case.atoms.rate_to(1)?;
        Some(Sides::at_most(case.atoms.problem.rejection_at(&case.v), rate))
    }
    let printed = Bound::<AtWeight>::new("lambda(v) <= 1 - 1/w*", Setting::atoms(&[2, 3, 4]), sides)
        .example(AtWeight { atoms: Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]), v: 4.0 });
    let corrected =
        Bound::<AtWeight>::new("lambda(v) <= 1 - 1/w* for v <= w*", Setting::atoms(&[2, 3, 4]), |case| {
            sides(case).filter(|_| case.v <= case.atoms.w_star())
        });
    Claim::new("001-L1-UP", PMCSA, "Lemma 1, upper bound", printed)
        .assuming("every v > 0: Lemma 2 integrates beyond w*")
        .remark("Beyond w* it is 1 - 1/v.")
        .corrected(corrected.twin_times(0.95))
}

/// `T_n(w) <= (n/w) r^(n-1)` (pMCSA, Lemma 2).
fn accepted() -> Claim {
    let settings = || Setting::grid(&[2, 3], &[1], &[1, 2, 3, 5]);
    fn sides(case: &AtWeight, bound: fn(f64, f64, usize) -> f64) -> Option<Sides> {
        let (n, w_star) = (case.atoms.steps, case.atoms.w_star());
        case.atoms.rate_to(n)?;
        let found = case.atoms.problem.t_n(n, &case.v).filter(|_| case.v <= w_star)?;
        Some(Sides::at_most(found, bound(case.v, w_star, n)))
    }
    let printed = Bound::<AtWeight>::new("T_n(w) <= (n/w) r^(n-1)", settings(), |case| {
        sides(case, bounds::accepted_as_printed)
    });
    let at_mode = Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]).steps(2);
    let formula = "T_n(w) <= 1 - r^n + n r^(n-1) (1/w - 1/w*)";
    let corrected = Bound::<AtWeight>::new(formula, settings(), |case| sides(case, bounds::accepted));
    Claim::new("001-L2", PMCSA, "Lemma 2", printed.example(AtWeight { atoms: at_mode, v: 2.0 }))
        .assuming("IMH, w <= w*")
        .remark("True for n = 1, false at w* for every n >= 2: T_n tends to 1, the bound to 0.")
        .corrected(corrected.twin_times(0.95))
}

/// Both sides of Lemma 3 for `f = |s|`.
fn mean_sides(case: &Atoms, with_target: bool) -> Option<Sides> {
    let (p, n) = (&case.problem, case.steps);
    case.rate_to(n)?;
    let f: Vec<f64> = p.s().iter().map(|s| s.abs()).collect();
    let found = dot(p.imh().power(n).row(case.start), &f);
    let (under_target, under_guide, at_start) = (dot(p.pi(), &f), dot(p.q(), &f), f[case.start]);
    let bound = if with_target {
        bounds::mean_after(under_target, under_guide, at_start, case.w_star(), n)
    } else {
        bounds::mean_after_as_printed(under_guide, at_start, case.w_star(), n)
    };
    Some(Sides::at_most(found, bound))
}

const LEMMA_3: &str = "E_{K^n(z)} f <= n r^(n-1) E_q f + r^n f(z)";

/// `E_{K^n(z)} f <= n r^(n-1) E_q f + r^n f(z)` for `f >= 0` (pMCSA, Lemma 3).
fn mean_after() -> Claim {
    let settings = || Setting::grid(&[2, 3], &[1], &[1, 2, 3, 8]);
    let printed = Bound::<Atoms>::new(LEMMA_3, settings(), |case| mean_sides(case, false))
        .example(Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, 1.0]).steps(3))
        .example(Atoms::new(&[0.5, 0.5], &[1.0 / 3.0, 2.0 / 3.0], &[1.0, 1.0]).steps(2));
    let formula = "E_{K^n(z)} f <= (1 - r^n - n r^(n-1)/w*) E_p f + n r^(n-1) E_q f + r^n f(z)";
    let corrected = Bound::<Atoms>::new(formula, settings(), |case| mean_sides(case, true));
    Claim::new("001-L3", PMCSA, "Lemma 3", printed)
        .assuming("IMH, f = |s| >= 0")
        .remark("Rests on Lemma 2. The right side vanishes with n, the left tends to E_p f.")
        .corrected(corrected.twin_times(0.95))
}

/// Lemma 3 for one step, where it holds.
fn mean_after_one() -> Claim {
    let printed = Bound::<Atoms>::new(LEMMA_3, Setting::atoms(&[2, 3, 4]), |case| mean_sides(case, false));
    Claim::new("001-L3-ONE", PMCSA, "Lemma 3, n = 1", printed.twin_times(0.95)).assuming("IMH, f = |s| >= 0")
}
