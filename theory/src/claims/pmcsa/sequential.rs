//! Claims on JSA, several states of one chain per update: rates and sums (pMCSA, Thm. 3).

use super::joint::{path, product};
use crate::bounds::pmcsa as bounds;
use crate::claims::{Atoms, Bound, Claim, Domain, Numbers, PMCSA, Setting, Sides};
use crate::{Square, total_variation};

pub(super) fn claims() -> Vec<Claim> {
    vec![product_kernel(), mixing(), power(), sum(), limit()]
}

fn settings() -> Vec<Setting> {
    Setting::grid(&[2, 3], &[2, 3], &[1, 2, 3])
}

fn small() -> Atoms {
    Atoms::new(&[0.5, 0.5], &[0.25, 0.75], &[1.0, -1.0])
}

/// Distribution of the `n`-th state of update `k`, counted from 1.
fn marginal(kernel: &Square<f64>, case: &Atoms, n: usize) -> Vec<f64> {
    kernel.power(case.samples * (case.steps - 1) + n).row(case.start).to_vec()
}

/// Distance of the product of the marginals from the product of targets.
fn product_kernel() -> Claim {
    let formula = "TV((x)_n K^(N(k-1)+n), p^N) <= r (1 - r^N)/(r^N (1 - r)) r^(k N)";
    let printed = Bound::<Atoms>::new(formula, settings(), |case| {
        case.rate_to(case.samples * case.steps)?;
        let kernel = case.problem.imh();
        let laws: Vec<Vec<f64>> = (1..=case.samples).map(|n| marginal(&kernel, case, n)).collect();
        let found = product(laws.iter().map(Vec::as_slice));
        let target = product(std::iter::repeat_n(case.problem.pi(), case.samples));
        let bound = bounds::sequential_distance_as_printed(case.w_star(), case.samples, case.steps);
        Some(Sides::at_most(total_variation(&found, &target), bound))
    });
    Claim::new(
        "001-T-JSA-PRODUCT",
        PMCSA,
        "Theorem 3, rate, of the product that is printed",
        printed.twin_times(0.95),
    )
    .assuming("IMH at a fixed lambda")
    .remark("True of the printed kernel, which is not that of JSA.")
}

/// Distance of JSA's states from independent draws and from a stationary path: successive states of one chain are dependent.
fn mixing() -> Claim {
    fn jsa(case: &Atoms) -> Vec<f64> {
        let kernel = case.problem.imh();
        path(&marginal(&kernel, case, 1), &kernel, case.samples)
    }
    let formula = "TV(law of z_1..z_N at update k, p^N) <= r (1 - r^N)/(r^N (1 - r)) r^(k N)";
    let printed = Bound::<Atoms>::new(formula, settings(), |case| {
        case.rate_to(case.samples * case.steps)?;
        let target = product(std::iter::repeat_n(case.problem.pi(), case.samples));
        let bound = bounds::sequential_distance_as_printed(case.w_star(), case.samples, case.steps);
        Some(Sides::at_most(total_variation(&jsa(case), &target), bound))
    });
    let formula = "TV(law of z_1..z_N at update k, p (x) K (x) .. (x) K) <= r^(N(k-1)+1)";
    let corrected = Bound::<Atoms>::new(formula, settings(), |case| {
        case.rate_to(case.samples * case.steps)?;
        let stationary = path(case.problem.pi(), &case.problem.imh(), case.samples);
        let bound = bounds::sequential_path_distance(case.w_star(), case.samples, case.steps);
        Some(Sides::at_most(total_variation(&jsa(case), &stationary), bound))
    });
    let examples = [2, 5, 10].map(|k| small().samples(2).steps(k));
    let printed = examples.into_iter().fold(printed, Bound::example);
    Claim::new("001-T-JSA", PMCSA, "Theorem 3, rate", printed)
        .assuming("IMH at a fixed lambda, n = k")
        .remark("Neighbours stay dependent: p^N is not invariant. The gradient under the path law is still that of KL.")
        .corrected(corrected.twin_times(0.95))
}

/// The printed `P^k` is not a power of `P`.
fn power() -> Claim {
    let formula = "first state: (K)^2 = K^(N+1)";
    let printed = Bound::<Atoms>::new(formula, Setting::grid(&[2, 3], &[2, 3], &[1]), |case| {
        let kernel = case.problem.imh();
        let (twice, printed) = (kernel.power(2), kernel.power(case.samples + 1));
        Some(Sides::equal(twice.row(case.start)[case.start], printed.row(case.start)[case.start]))
    });
    let formula = "state n of update k: K^(N(k-1)+n), along the path from the last state of update k-1";
    let corrected = Bound::<Atoms>::new(formula, settings(), |case| {
        let kernel = case.problem.imh();
        let mut first = kernel.row(case.start).to_vec();
        let mut last = first.clone();
        for update in 1..=case.steps {
            if update > 1 {
                first = kernel.push(&last);
            }
            // The highest digit of a path's index is its last state.
            let joint = path(&first, &kernel, case.samples);
            last = joint.chunks(joint.len() / first.len()).map(|paths| paths.iter().sum()).collect();
        }
        Some(Sides::equal(total_variation(&last, &marginal(&kernel, case, case.samples)), 0.0))
    })
    .twin("K^(N k + 1)", |case| {
        let kernel = case.problem.imh();
        let last = marginal(&kernel, case, case.samples);
        Some(Sides::equal(total_variation(&last, &kernel.push(&last)), 0.0))
    });
    Claim::new(
        "001-T-JSA-POWER",
        PMCSA,
        "Theorem 3, P^k as a power of P",
        printed.example(small().samples(2)),
    )
    .assuming("the printed P = (x)_n K^n, which starts every state from its own predecessor")
    .remark("With a moving lambda, K^(N(k-1)+n) is a product of the kernels of all updates.")
    .corrected(corrected)
}

/// Values of `w*` up to `highest`, so that the closed forms keep their digits.
fn weights(highest: f64) -> Vec<Numbers> {
    Numbers::settings(&[("w*", Domain::Between(1.0, highest), 1)], &[1, 2, 3, 5, 10])
}

/// `sum_{n <= N} (n r^(n-1) + r^n)` (pMCSA, proof of Thm. 3).
fn sum() -> Claim {
    fn against(case: &Numbers, closed: fn(f64, usize) -> f64) -> Option<Sides> {
        let w_star = case.number("w*");
        Some(Sides::equal(bounds::sum_of_rates(w_star, case.count), closed(w_star, case.count)))
    }
    let formula = "sum_n (n r^(n-1) + r^n) = w*^2 + w* - r^N (w*^2 + w* + N w*)";
    let printed =
        Bound::<Numbers>::new(formula, weights(50.0), |case| against(case, bounds::sum_of_rates_as_printed));
    let formula = "sum_n (n r^(n-1) + r^n) = w*^2 + w* - 1 - r^N (w*^2 + w* - 1 + N w*)";
    let corrected =
        Bound::<Numbers>::new(formula, weights(50.0), |case| against(case, bounds::sum_of_rates_closed))
            .twin("with a head of w*^2 + w*", |case| against(case, bounds::sum_of_rates_as_printed));
    let example = Numbers::example(&[("w*", Domain::Between(1.0, 50.0), &[2.0])], 1);
    Claim::new("001-JSA-SUM", PMCSA, "proof of Theorem 3, sum", printed.example(example).by("closed form"))
        .remark("The printed sum is 1 - r^N too large.")
        .corrected(corrected.by("closed form"))
}

/// Limit of the sum for large `w*`: `N^2/2 + 3N/2` (pMCSA, proof of Thm. 3).
fn limit() -> Claim {
    let formula = "0 <= N^2/2 + 3N/2 - sum_n (n r^(n-1) + r^n) <= N(N+1)(2N+1)/(6 w*)";
    let printed = Bound::<Numbers>::new(formula, weights(1e4), |case| {
        let (w_star, n) = (case.number("w*"), case.count as f64);
        let gap = 0.5 * n * n + 1.5 * n - bounds::sum_of_rates(w_star, case.count);
        let bound = n * (n + 1.0) * (2.0 * n + 1.0) / (6.0 * w_star);
        // A gap below zero violates the left inequality.
        Some(Sides::at_most(if gap < -1e-9 { f64::NAN } else { gap }, bound))
    });
    Claim::new(
        "001-JSA-LAURENT",
        PMCSA,
        "proof of Theorem 3, limit of the sum",
        printed.twin_times(0.95).by("closed form"),
    )
    .assuming("the remainder O(1/w*) with its exact constant")
    .remark("The constant is of order N^3: the remainder is not uniform in N.")
}
