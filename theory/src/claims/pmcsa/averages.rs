//! Lemmas shared by the proofs: products of distributions, second moments, bias by distance (pMCSA, Lemmas 4 to 6).

use super::joint::product;
use crate::bounds::pmcsa as bounds;
use crate::claims::{Atoms, Bound, Claim, Domain, Numbers, PMCSA, Setting, Sides};
use crate::total_variation;

pub(super) fn claims() -> Vec<Claim> {
    vec![rectangles(), any_sets(), second_moment(), bias()]
}

/// Two vectors of `N` probabilities, for several `N`.
fn pairs() -> Vec<Numbers> {
    let unit = Domain::Between(0.0, 1.0);
    let of = |n: usize| Numbers::settings(&[("a", unit, n), ("b", unit, n)], &[n]);
    [2, 3, 4].into_iter().flat_map(of).collect()
}

fn sum_of_differences(case: &Numbers) -> f64 {
    case.of("a").iter().zip(case.of("b")).map(|(a, b)| (a - b).abs()).sum()
}

/// `|prod p_i(A) - prod q_i(A)| <= sum |p_i(A) - q_i(A)|` (pMCSA, Lemma 4).
fn rectangles() -> Claim {
    let printed =
        Bound::<Numbers>::new("|prod p_i(A) - prod q_i(A)| <= sum |p_i(A) - q_i(A)|", pairs(), |case| {
            let product = |name: &str| case.of(name).iter().product::<f64>();
            Some(Sides::at_most((product("a") - product("b")).abs(), sum_of_differences(case)))
        });
    Claim::new("001-L4", PMCSA, "Lemma 4", printed.twin_times(0.95))
        .assuming("a_i = p_i(A), b_i = q_i(A)")
        .remark("Says something of rectangles alone; it is used for all sets, where it holds too.")
}

/// Lemma 4 for arbitrary sets, in total variation, on two atoms.
fn any_sets() -> Claim {
    let printed = Bound::<Numbers>::new("TV(prod p_i, prod q_i) <= sum TV(p_i, q_i)", pairs(), |case| {
        let joint = |name: &str| {
            let laws: Vec<[f64; 2]> = case.of(name).iter().map(|&p| [p, 1.0 - p]).collect();
            product(laws.iter().map(|law| &law[..]))
        };
        Some(Sides::at_most(total_variation(&joint("a"), &joint("b")), sum_of_differences(case)))
    });
    Claim::new("001-L4-TV", PMCSA, "Lemma 4, as it is used", printed.twin_times(0.95))
        .assuming("laws (a_i, 1 - a_i) and (b_i, 1 - b_i)")
}

/// Cases with vector scores, for one or two steps of independent Metropolis-Hastings.
fn vectors() -> Vec<Setting> {
    Setting::with_dims(&Setting::grid(&[2, 3], &[1], &[1, 2]), &[1, 2, 3])
}

/// Distribution after the steps, from the start.
fn reached(case: &Atoms) -> Vec<f64> {
    case.problem.imh().power(case.steps).row(case.start).to_vec()
}

/// Euclidean norm of the scores' means under `law`.
fn mean_norm(case: &Atoms, law: &[f64]) -> f64 {
    case.scores().map(|s| crate::dot(law, s).powi(2)).sum::<f64>().sqrt()
}

/// `E|g|^2 <= V + B^2 + 2 B |mu| + |mu|^2` (pMCSA, Lemma 5).
fn second_moment() -> Claim {
    let formula = "E|g|^2 <= V[g] + B^2 + 2 B |mu| + |mu|^2";
    let printed = Bound::<Atoms>::new(formula, vectors(), |case| {
        let law = reached(case);
        let second: f64 = (0..law.len()).map(|z| law[z] * case.norm(z).powi(2)).sum();
        let variance = second - mean_norm(case, &law).powi(2);
        let mean = mean_norm(case, case.problem.pi());
        Some(Sides::at_most(second, bounds::second_moment(variance, case.bias_under(&law), mean)))
    });
    Claim::new("001-L5", PMCSA, "Lemma 5", printed.twin_times(0.95))
        .assuming("B = |E g - mu|")
        .remark("The proofs of Theorems 2 to 4 write it with an equality sign.")
}

/// `Bias <= 2 sqrt(D) L TV`, with the bias defined as a mean distance (pMCSA, Lemma 6).
fn bias() -> Claim {
    let printed = Bound::<Atoms>::new("E|g - mu| <= 2 sqrt(D) L TV(law of z, p)", vectors(), |case| {
        let law = reached(case);
        let means: Vec<f64> = case.scores().map(|s| crate::dot(case.problem.pi(), s)).collect();
        let off =
            |z: usize| case.scores().zip(&means).map(|(s, mean)| (s[z] - mean).powi(2)).sum::<f64>().sqrt();
        let found = (0..law.len()).map(|z| law[z] * off(z)).sum();
        let roots = (means.len() as f64).sqrt();
        Some(Sides::at_most(
            found,
            roots * bounds::bias(case.largest_norm(), total_variation(&law, case.problem.pi())),
        ))
    });
    let corrected = Bound::<Atoms>::new("|E g - mu| <= 2 L TV(law of z, p)", vectors(), |case| {
        let law = reached(case);
        let distance = total_variation(&law, case.problem.pi());
        Some(Sides::at_most(case.bias_under(&law), bounds::bias(case.largest_norm(), distance)))
    });
    Claim::new(
        "001-L6",
        PMCSA,
        "Lemma 6",
        printed.example(Atoms::new(&[0.5, 0.5], &[0.5, 0.5], &[1.0, -1.0])),
    )
    .assuming("|s| <= L; Bias defined as E|g - E_p g|")
    .remark("A mean distance is no bias: it does not vanish under p itself. The root of D is superfluous.")
    .corrected(corrected.twin_times(0.95))
}
