//! Claims of pMCSA.

use super::*;
use Standing::{Holds, NotCheckable, Tight, Violated};

#[test]
fn standings() {
    regression(
        "001",
        &[
            ("001-PK", Holds),
            ("001-PK-GRAD", Holds),
            ("001-W", Violated),
            ("001-IWVAR", Holds),
            ("001-CHI-KL", Tight),
            ("001-KER", Holds),
            ("001-LAM-DEF", Violated),
            ("001-L1-LOW", Tight),
            ("001-L1-UP", Violated),
            ("001-L2", Violated),
            ("001-L3", Violated),
            ("001-L3-ONE", Tight),
            ("001-L4", Tight),
            ("001-L4-TV", Tight),
            ("001-L5", Tight),
            ("001-L6", Violated),
            ("001-T-MSC-MIX", Tight),
            ("001-T-MSC-EIG", Tight),
            ("001-T-MSC-VAR", Tight),
            ("001-GAMMA", Tight),
            ("001-T-MSCRB-MSE", Violated),
            ("001-T-MSCRB", Violated),
            ("001-BIAS-RB", Holds),
            ("001-T-JSA-PRODUCT", Tight),
            ("001-T-JSA", Violated),
            ("001-T-JSA-POWER", Violated),
            ("001-JSA-SUM", Violated),
            ("001-JSA-LAURENT", Tight),
            ("001-JSA-VAR", Violated),
            ("001-JSA-VAR-LIMIT", Holds),
            ("001-T-JSA-MOMENT", Violated),
            ("001-T-JSA-MOMENT-SUM", Violated),
            ("001-CCOV", Tight),
            ("001-CCOV-PAIR", Violated),
            ("001-T-pMCSA-MIX", Tight),
            ("001-T-pMCSA-VAR", Tight),
            ("001-T-pMCSA-MOMENT", Violated),
            ("001-R-TAIL", Violated),
            ("001-R-CONCAVE", Violated),
            ("001-R-SCORE", Violated),
            ("001-R-RATE", NotCheckable),
            ("001-R-MIXING", Violated),
        ],
    );
}

#[test]
fn counterexamples_are_the_known_fractions() {
    example_is("001-W", 1.0, 1.0);
    example_is("001-LAM-DEF", 0.5, 1.0 / 3.0);
    example_is("001-L1-UP", 0.75, 0.5);
    example_is("001-L2", 0.75, 0.5);
    example_is("001-L3", 1.0, 7.0 / 8.0);
    example_is("001-L6", 1.0, 0.0);
    example_is("001-T-MSCRB-MSE", 1.0 / 17.0, 16.0 / 289.0);
    example_is("001-T-JSA", 0.25, 3.0 / 16.0);
    example_is("001-T-JSA-POWER", 5.0 / 8.0, 9.0 / 16.0);
    example_is("001-JSA-SUM", 1.5, 2.0);
    example_is("001-JSA-VAR", 0.5, 0.25);
    example_is("001-R-MIXING", 1.0, 0.75);
    example_is("001-R-SCORE", 2.0_f64.sqrt() / 9.0, 10.0 / 81.0);
    example_is(
        "001-R-CONCAVE",
        (0.5 / std::f64::consts::TAU).sqrt(),
        2.0 / 3.0 / std::f64::consts::TAU.sqrt(),
    );
    example_is("001-T-pMCSA-MOMENT", 7.0 / 16.0, 3.0 / 8.0);
}

/// Further examples of a claim, and examples that are not exact in doubles.
#[test]
fn counterexamples_are_the_known_numbers() {
    let examples = |id: &str| judged(id).printed.finding.examples;
    let near =
        |found: f64, known: f64, digits: f64| assert!((found - known).abs() < digits, "{found} {known}");
    near(examples("001-W")[1].lhs, 2.0, 1e-15);
    near(examples("001-L3")[1].rhs, 7.0 / 9.0, 1e-15);
    let jsa = examples("001-T-JSA");
    for (witness, k) in jsa.iter().zip([2, 5, 10]) {
        near(witness.lhs, 0.25, 1e-15);
        near(witness.rhs, 3.0 * 0.25_f64.powi(k), 1e-15);
    }
    let pair = examples("001-CCOV-PAIR");
    near(pair[0].rhs - pair[0].lhs, -2731.0 / 167_081_850.0, 1e-17);
    let even = examples("001-T-MSCRB");
    near(even[0].lhs, 0.0025, 1e-12);
    near(even[0].rhs, 0.002097, 1e-6);
    let slow = examples("001-T-JSA-MOMENT");
    near(slow[0].lhs, 0.9064, 5e-5);
    near(slow[0].rhs, 0.65, 1e-15);
    let slow = examples("001-T-JSA-MOMENT-SUM");
    near(slow[0].lhs, 0.63228, 5e-6);
    near(slow[0].rhs, 0.60448, 5e-6);
    let tail = examples("001-R-TAIL");
    near(tail[0].lhs, 1.000_001, 1e-7);
    near(tail[0].rhs, 7.6e-5, 1e-6);
}
