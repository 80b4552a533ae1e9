//! Claims of MCMC-SE.

use super::*;
use Standing::{Holds, Tight, Violated};

#[test]
fn standings() {
    regression(
        "000",
        &[
            ("000-L1", Tight),
            ("000-L2", Holds),
            ("000-AD", Violated),
            ("000-T1", Violated),
            ("000-T1-EQ29", Tight),
            ("000-T2", Tight),
            ("000-T3", Tight),
            ("000-P1", Tight),
            ("000-T4", Violated),
            ("000-T4-ROOT", Violated),
            ("000-T4-EQ53", Tight),
            ("000-V1", Holds),
            ("000-V2", Holds),
            ("000-V2-ALWAYS", Violated),
            ("000-EQ10", Violated),
            ("000-V3", Tight),
        ],
    );
}

#[test]
fn counterexamples_are_the_known_fractions() {
    example_is("000-AD", 5.0 / 32.0, 1.0 / 8.0);
    example_is("000-T1", 35.0 / 64.0, 0.5);
    example_is("000-T4", 3.0 / 8.0, 0.25 * (1.0_f64 / 12.0 + 0.25).sqrt());
    example_is("000-T4-ROOT", 3.0 / 8.0, 0.5 * (1.0_f64 / 12.0 + 0.25).sqrt());
    example_is("000-V2-ALWAYS", 7.0 / 16.0, 0.25);
    example_is("000-EQ10", 3.0 / 4.0, 11.0 / 16.0);
}
