//! Bounds of the theorems and rates (pMCSA, Tab. 1), with the results of their checks.

use super::judged;
use crate::results::Results;
use crate::tables::Sheet;

/// Method, bounded quantity, and id of the claim.
const BOUNDS: [(&str, &str, &str); 12] = [
    ("pMCSA", "bias", "000-T2"),
    ("pMCSA", "distance after k updates", "001-T-pMCSA-MIX"),
    ("pMCSA", "variance given the states", "001-T-pMCSA-VAR"),
    ("pMCSA", "second moment given the states", "001-T-pMCSA-MOMENT"),
    ("JSA", "bias", "000-T1"),
    ("JSA", "distance after k updates", "001-T-JSA"),
    ("JSA", "second moment given the state", "001-T-JSA-MOMENT"),
    ("MSC", "bias", "000-T3"),
    ("MSC", "distance after k updates", "001-T-MSC-MIX"),
    ("MSC", "second moment", "001-T-MSC-VAR"),
    ("MSC-RB", "rate", "001-GAMMA"),
    ("MSC-RB", "mean squared error", "001-T-MSCRB-MSE"),
];

/// Rates as printed: algorithm, step size, assumption on the direction `g`, rate, source of the theorem.
const RATES: [[&str; 5]; 3] = [
    ["Mirror descent", "γ/√t", "E‖g‖² < G²", "G² log T / (log(1/ρ) √T)", "Duchi et al. 2012, Cor. 3.5"],
    [
        "SGD, Nesterov",
        "2/(t+1), momentum 1/(2L√(t+1))",
        "‖g‖ < G",
        "G² log T / √T",
        "Doan et al. 2020, Thm. 2",
    ],
    ["SGD", "γ/t, γ = min(1/(2L), 2L/μ)", "‖g‖ < G (‖λ‖ + 1)", "G² log T / T", "Doan et al. 2020, Thm. 1, 2"],
];

/// Two tables: bounds, and rates.
pub(crate) fn tables(_: &Results) -> Vec<Sheet> {
    let row = |(method, what, id): (&str, &str, &str)| {
        let mut row = vec![method.to_owned(), what.to_owned()];
        let Some(judgement) = judged(id) else { return [row, vec![String::new(); 3]].concat() };
        let instead: Vec<&str> = judgement.corrected.iter().map(|corrected| &*corrected.formula).collect();
        row.push(judgement.printed.formula.clone());
        row.push(judgement.standing().to_string().to_lowercase());
        row.push(instead.join("; "));
        row
    };
    let words = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    vec![
        Sheet {
            name: "bounds".to_owned(),
            title: "Bounds of bias, distance and second moment".to_owned(),
            head: words(&["Method", "What", "Printed", "Verdict", "Instead"]),
            rows: BOUNDS.map(row).to_vec(),
            note: "r = 1 - 1/w*; L bounds the norm of the score in pMCSA, twice that in MCMC-SE. Tight: held, and a problem came \
                   within a thousandth of refuting it."
                .to_owned(),
        },
        Sheet {
            name: "rates".to_owned(),
            title: "Rates of ascent under geometric mixing, as printed".to_owned(),
            head: words(&["Algorithm", "Step size", "Assumed", "Rate, up to constants", "Theorem of"]),
            rows: RATES.map(|row| words(&row)).to_vec(),
            note: "Not tried here. ρ is the rate of mixing, G the bound of the direction.".to_owned(),
        },
    ]
}
