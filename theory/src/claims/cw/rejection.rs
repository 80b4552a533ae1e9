//! Claims on rejection probabilities (CW, Sec. 4 and 5).

use super::retained::{fresh, weight};
use crate::bounds::cw as bounds;
use crate::claims::{Atoms, Bound, CW, Claim, Setting, Sides};
use crate::{dot, total_variation};

pub(super) fn claims() -> Vec<Claim> {
    vec![
        cis(),
        cis_acceptance(),
        second_moment(),
        mean(),
        gap(),
        gap_by_largest(),
        mean_by_gap(),
        imh(),
        far(),
        peskun(),
        twice(),
        metropolis_variance(),
    ]
}

fn candidates() -> Vec<Setting> {
    Setting::grid(&[2, 3], &[2, 3, 6], &[1])
}

fn cis() -> Claim {
    let printed = Bound::<Atoms>::new("r(z) >= 1/(1 + N/w(z))", candidates(), |case| {
        let rejection = case.problem.cis(case.samples).rejections[case.start];
        Some(Sides::at_most(bounds::cis_rejection(weight(case), fresh(case)), rejection))
    });
    Claim::new("003-P3", CW, "Proposition 3", printed.twin_times(0.95)).assuming("CIS, N fresh candidates")
}

fn cis_acceptance() -> Claim {
    let printed = Bound::<Atoms>::new("1 - r(z) <= N/(w(z) + N)", candidates(), |case| {
        let rejection = case.problem.cis(case.samples).rejections[case.start];
        Some(Sides::at_most(1.0 - rejection, 1.0 - bounds::cis_rejection(weight(case), fresh(case))))
    });
    Claim::new("003-EQ12", CW, "eq. 12", printed.twin_times(0.95)).assuming("CIS, N fresh candidates")
}

fn second_moment() -> Claim {
    let printed = Bound::<Atoms>::new("exp KL(p || q) <= E_p w", Setting::atoms(&[2, 3, 4]), |case| {
        let tables = &case.problem;
        Some(Sides::at_most(tables.kl().exp(), 1.0 + tables.pearson()))
    });
    Claim::new("003-L1", CW, "Lemma 1", printed.twin_times(0.95)).assuming("Z = 1")
}

/// The mean weight `E_p w`, its variance, and the gap of Jensen's inequality for `w / (w + N)`.
fn weights(case: &Atoms) -> (f64, f64, f64) {
    let (tables, n) = (&case.problem, fresh(case));
    let mean = dot(tables.pi(), tables.w());
    let variance = tables.with_statistic(tables.w()).variance();
    // h(m) - h(w) = N (m - w) / ((m + N) (w + N)): no difference of nearly equal numbers.
    let gap = tables
        .pi()
        .iter()
        .zip(tables.w())
        .map(|(p, w)| p * n as f64 * (mean - w) / ((mean + n as f64) * (w + n as f64)));
    (mean, variance, gap.sum())
}

fn mean() -> Claim {
    let printed = Bound::<Atoms>::new("E_p r >= 1/(1 + N/e^KL) - gap, the gap exact", candidates(), |case| {
        let tables = &case.problem;
        let rejection = dot(tables.pi(), &tables.cis(case.samples).rejections);
        Some(Sides::at_most(bounds::mean_rejection(tables.kl(), fresh(case), weights(case).2), rejection))
    });
    let twin = |case: &Atoms| {
        let tables = &case.problem;
        let rejection = dot(tables.pi(), &tables.cis(case.samples).rejections);
        Some(Sides::at_most(bounds::mean_rejection(tables.kl(), fresh(case), 0.0), rejection))
    };
    Claim::new("003-T4", CW, "Theorem 4", printed.twin("without the gap", twin))
        .assuming("CIS, N fresh candidates")
}

fn lopsided() -> Atoms {
    Atoms::new(&[0.1, 0.9], &[0.999, 0.001], &[0.0, 1.0]).samples(2)
}

fn gap() -> Claim {
    let printed = Bound::<Atoms>::new("gap <= w* / e^(2 KL)", candidates(), |case| {
        Some(Sides::at_most(weights(case).2, bounds::jensen_gap_as_printed(case.problem.kl(), case.w_star())))
    });
    let corrected = Bound::<Atoms>::new("gap <= V_p[w] / (E_p w + N)^2", candidates(), |case| {
        let (mean, variance, gap) = weights(case);
        Some(Sides::at_most(gap, bounds::jensen_gap(mean, variance, fresh(case))))
    });
    Claim::new("003-T4-GAP", CW, "Theorem 4", printed.example(lopsided()))
        .assuming("CIS, N fresh candidates")
        .remark("(M - m) m < M is false for a mean weight m > 1")
        .corrected(corrected.twin_times(0.95))
}

fn gap_by_largest() -> Claim {
    let bound = Bound::<Atoms>::new("gap <= (w* - m) m / (m + N)^2, m = E_p w", candidates(), |case| {
        let (mean, _, gap) = weights(case);
        Some(Sides::at_most(gap, bounds::jensen_gap_by_largest(mean, case.w_star(), fresh(case))))
    });
    Claim::new("003-T4-GAP-LARGEST", CW, "Theorem 4, its proof", bound.twin_times(0.9))
        .assuming("CIS, N fresh candidates")
        .remark("the step before the one that fails")
}

fn mean_by_gap() -> Claim {
    fn sides(case: &Atoms, gap: f64) -> Option<Sides> {
        let tables = &case.problem;
        let rejection = dot(tables.pi(), &tables.cis(case.samples).rejections);
        Some(Sides::at_most(bounds::mean_rejection(tables.kl(), fresh(case), gap), rejection))
    }
    let printed = Bound::<Atoms>::new("E_p r >= 1/(1 + N/e^KL) - w*/e^(2 KL)", candidates(), |case| {
        sides(case, bounds::jensen_gap_as_printed(case.problem.kl(), case.w_star()))
    });
    let corrected =
        Bound::<Atoms>::new("E_p r >= 1/(1 + N/e^KL) - V_p[w]/(E_p w + N)^2", candidates(), |case| {
            let (mean, variance, _) = weights(case);
            sides(case, bounds::jensen_gap(mean, variance, fresh(case)))
        });
    Claim::new("003-T4-MEAN", CW, "Theorem 4", printed.example(lopsided()))
        .assuming("CIS, N fresh candidates")
        .remark("the bound of the gap fails, and the theorem with it")
        .corrected(corrected.twin("half the gap", |case| {
            let (mean, variance, _) = weights(case);
            sides(case, 0.5 * bounds::jensen_gap(mean, variance, fresh(case)))
        }))
}

fn imh() -> Claim {
    let printed = Bound::<Atoms>::new("r(z) >= 1 - 1/w(z)", Setting::atoms(&[2, 3, 4]), |case| {
        let rejection = case.problem.imh_rejections()[case.start];
        Some(Sides::at_most(bounds::imh_rejection(weight(case)), rejection))
    });
    Claim::new("003-P4", CW, "Proposition 4", printed.twin_times(0.95)).assuming("IMH")
}

fn far() -> Claim {
    fn sides(case: &Atoms, atom: f64) -> Option<Sides> {
        let tables = &case.problem;
        let far = total_variation(tables.imh().row(case.start), tables.pi());
        Some(Sides::at_most(tables.imh_rejections()[case.start], far + atom * case.problem.pi()[case.start]))
    }
    let settings = Setting::atoms(&[2, 3, 4]);
    let printed = Bound::<Atoms>::new("r(z) <= TV(K(z, .), p)", settings.clone(), |case| sides(case, 0.0));
    let corrected = Bound::<Atoms>::new("r(z) <= TV(K(z, .), p) + p(z)", settings, |case| sides(case, 1.0));
    let example = Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0]);
    Claim::new("003-WANG", CW, "Section 5", printed.example(example))
        .assuming("IMH")
        .remark("right where no atom has mass: there p(z) = 0")
        .corrected(corrected.twin_times(0.95))
}

/// Acceptance probabilities of Metropolis's and of Barker's rule.
fn acceptances(case: &Atoms) -> (f64, f64) {
    let tables = &case.problem;
    (1.0 - tables.imh_rejections()[case.start], 1.0 - tables.barker_rejections()[case.start])
}

fn peskun() -> Claim {
    let printed = Bound::<Atoms>::new(
        "acceptance of Barker <= that of Metropolis",
        Setting::atoms(&[2, 3, 4]),
        |case| {
            let (metropolis, barker) = acceptances(case);
            Some(Sides::at_most(barker, metropolis))
        },
    );
    Claim::new("003-PESKUN", CW, "Section 5", printed.twin_times(0.95)).assuming("two candidates")
}

fn twice() -> Claim {
    let bound = Bound::<Atoms>::new(
        "acceptance of Metropolis <= twice that of Barker",
        Setting::atoms(&[2, 3, 4]),
        |case| {
            let (metropolis, barker) = acceptances(case);
            Some(Sides::at_most(metropolis, 2.0 * barker))
        },
    );
    Claim::new("003-PESKUN-TWICE", CW, "Section 5", bound.twin_times(0.95))
        .assuming("two candidates")
        .remark("how much `slightly` is")
}

fn metropolis_variance() -> Claim {
    let printed = Bound::<Atoms>::new(
        "V[s(z') | z] of Barker <= that of Metropolis",
        Setting::atoms(&[2, 3, 4]),
        |case| {
            let tables = &case.problem;
            let at = |kernel: &crate::Square<f64>| kernel.variances(tables.s())[case.start];
            Some(Sides::at_most(at(&tables.barker()), at(&tables.imh())))
        },
    );
    fn jumps(case: &Atoms, kernel: &crate::Square<f64>) -> f64 {
        let here = case.problem.s()[case.start];
        dot(kernel.row(case.start), &case.problem.s().iter().map(|s| (s - here).powi(2)).collect::<Vec<_>>())
    }
    let formula = "E[(s(z') - s(z))^2 | z] of Barker <= that of Metropolis";
    let corrected = Bound::<Atoms>::new(formula, Setting::atoms(&[2, 3, 4]), |case| {
        Some(Sides::at_most(jumps(case, &case.problem.barker()), jumps(case, &case.problem.imh())))
    });
    Claim::new("003-PIMH-VARIANCE", CW, "Section 5", printed)
        .assuming("two candidates")
        .remark("moving more often concentrates the law once acceptance is above one half")
        .corrected(corrected.twin_times(0.9))
}
