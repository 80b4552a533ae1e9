//! Claims on bias, variance and rates: printed statements checked by a search over small problems, for which both sides are
//! computed.

use mcsa_theory::claims::{self as theory, Effort, Examined, Finding as Found, Judgement, Standing};

use crate::claims::{Finding, Verdict};

/// Result of the search for the claim with this id; `None` if there is no such claim.
pub(crate) fn judged(id: &str) -> Option<Judgement> {
    theory::all().into_iter().find(|claim| claim.id == id).map(|claim| claim.examine(Effort::BRIEF))
}

/// Finding of the search for the claim with this id.
pub(crate) fn examined(id: &str) -> Finding {
    let unknown = || Finding::not_reproducible(format!("there is no claim {id}"));
    judged(id).map_or_else(unknown, |judgement| of(&judgement))
}

/// Converts the result of a search to a finding, with the corrected statement.
fn of(judgement: &Judgement) -> Finding {
    let Examined { formula, method, finding, .. } = &judgement.printed;
    let Found { standing, tried, .. } = finding;
    let instead: Vec<&str> = judgement.corrected.iter().map(|corrected| &*corrected.formula).collect();
    let instead = match instead.as_slice() {
        [] => String::new(),
        all => format!("; instead {}", all.join("; and ")),
    };
    let Some(witness) = finding.shown() else {
        return Finding::not_reproducible(format!("{formula}: {method}{instead}"));
    };
    let threshold = if witness.identity { 0.0 } else { 1.0 };
    let (verdict, number, reason) = match standing {
        Standing::NotCheckable => return Finding::not_reproducible(format!("{formula}: {method}{instead}")),
        Standing::Violated => {
            let (lhs, rhs, case) = (witness.lhs, witness.rhs, &witness.case);
            let reason = format!("{formula}: {lhs:.5} against {rhs:.5} at {case}{instead}");
            (Verdict::Disagree, witness.badness, reason)
        }
        Standing::Holds | Standing::Tight => {
            let worst = finding.worst_badness().unwrap_or(f64::NAN);
            (
                Verdict::Agree,
                worst,
                format!("{formula}: the worst of {tried} problems, left side over right ({standing})"),
            )
        }
    };
    Finding { verdict, number, threshold, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::tests::entry;
    use mcsa_theory::claims::Witness;

    fn judgement(standing: Standing, witness: Option<(f64, f64)>) -> Judgement {
        let witness = witness.map(|(lhs, rhs)| {
            let (badness, refutes) = (lhs / rhs, lhs > rhs);
            Witness { lhs, rhs, badness, refutes, identity: false, case: "a case".into() }
        });
        let mut judgement = judged("000-T2").unwrap();
        judgement.printed.finding = Found { standing, worst: witness, examples: Vec::new(), tried: 7 };
        judgement
    }

    #[test]
    fn they_hold_fail_and_abstain() {
        let holds = of(&judgement(Standing::Tight, Some((1.0, 1.0))));
        assert_eq!((holds.verdict, holds.number, holds.threshold), (Verdict::Agree, 1.0, 1.0));
        let fails = of(&judgement(Standing::Violated, Some((3.0, 2.0))));
        assert_eq!((fails.verdict, fails.number), (Verdict::Disagree, 1.5));
        assert!(fails.reason.contains("a case"), "{}", fails.reason);
        assert_eq!(of(&judgement(Standing::NotCheckable, None)).verdict, Verdict::NotReproducible);
        assert_eq!(examined("no such claim").verdict, Verdict::NotReproducible);
    }

    #[test]
    fn every_chart_has_its_claim() {
        let files = ["ours/theory", "pmcsa/tab-rates"].map(|id| entry(id).text);
        for chart in mcsa_theory::curves::all() {
            let listed = format!("theory = \"{}\"", chart.claim);
            assert!(files.iter().any(|text| text.contains(&listed)), "{}", chart.claim);
        }
    }
}
