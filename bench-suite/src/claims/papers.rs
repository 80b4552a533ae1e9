//! Claims on bias, variance and rates: printed statements checked by a search over small problems, for which both sides are
//! computed.

use mcsa_theory::claims::{self as theory, Effort, Examined, Finding as Found, Judgement, Standing};

use super::{Claim, Finding, Verdict};

macro_rules! tried {
    ($citation:literal, $id:literal, $sentence:literal) => {
        Claim { citation: $citation, sentence: $sentence, judge: |_| said($id) }
    };
}

/// Claims with a chart.
pub fn papers() -> Vec<Claim> {
    vec![
        tried!("pMCSA, Lemma 2", "001-L2", "What n steps accept is at most (n / w) r^(n-1)."),
        tried!(
            "pMCSA, Lemma 3",
            "001-L3",
            "The mean of f after n steps is at most n r^(n-1) E_q f + r^n f(z)."
        ),
        tried!(
            "pMCSA, Thm. 2",
            "001-T-MSCRB-MSE",
            "The mean squared error of averaged candidates is bounded with the variance of the weights, and so vanishes faster \
             than 1/N where the guide is the target."
        ),
        tried!(
            "pMCSA, Thm. 3",
            "001-T-JSA",
            "The successive states of one chain tend to independent draws of the target, all together, at a geometric rate."
        ),
        tried!(
            "pMCSA, Thm. 3",
            "001-JSA-VAR-LIMIT",
            "For large w*, the single states of one chain add at most L^2 (1/2 + 3/(2N)) to the variance."
        ),
        tried!(
            "pMCSA, Thm. 4",
            "001-T-pMCSA-MOMENT",
            "In the long run, the second moment of parallel chains given their states is at most L^2/N (2 - 1/w*) + |mu|^2."
        ),
        tried!(
            "CW, Thm. 1",
            "003-T1",
            "The bias of one chain's average after t updates of N transitions is at most L r^(N t)."
        ),
        tried!(
            "CW, Thm. 2",
            "003-T2-ADAPTED",
            "The distance shrinks geometrically also with guides that follow the chain."
        ),
        tried!(
            "CW, Thm. 4",
            "003-T4-GAP",
            "The gap in Jensen's inequality for the rejection is at most w* exp(-2 KL)."
        ),
        tried!(
            "CW, eq. 13",
            "003-EQ13",
            "The variance of averaged candidates is about (1 - r)^2 times that of importance sampling."
        ),
        tried!(
            "MCMC-SE, eq. 10",
            "000-EQ10",
            "The variance of one chain's average is sigma^2/N and its covariances given the start."
        ),
        tried!(
            "SL-DAIS, Prop. 3",
            "004-P3",
            "With a surrogate likelihood the gap of the bound vanishes like 1/sqrt(K), but for terms in the surrogate's errors."
        ),
    ]
}

/// Bounds of the theorems.
pub fn bounds() -> Vec<Claim> {
    vec![
        tried!(
            "MCMC-SE, Thm. 1",
            "000-T1",
            "The bias of one chain's average is at most L (1 - N / (2 w*)), but for a remainder."
        ),
        tried!("MCMC-SE, Thm. 2", "000-T2", "The bias of parallel chains is at most L (1 - 1/w*)."),
        tried!(
            "MCMC-SE, Thm. 3",
            "000-T3",
            "The bias of conditional importance sampling is at most L (1 - (N - 1) / (2 w* + N - 2))."
        ),
        tried!(
            "pMCSA, Thm. 1",
            "001-T-MSC-MIX",
            "Conditional importance sampling forgets at the rate 1 - (N - 1) / (2 w* + N - 2)."
        ),
        tried!(
            "pMCSA, Thm. 1",
            "001-T-MSC-VAR",
            "The second moment of its selected candidate is at most L^2."
        ),
        tried!(
            "pMCSA, Thm. 2",
            "001-GAMMA",
            "The rate of averaged candidates is at most 2 w* / (2 w* + N - 2)."
        ),
        tried!(
            "pMCSA, Thm. 3",
            "001-T-JSA-MOMENT",
            "In the long run, the second moment of one chain given its state is at most L^2 (1/2 + 3/(2N)) + C_cov + |mu|^2."
        ),
        tried!(
            "pMCSA, Thm. 4",
            "001-T-pMCSA-MIX",
            "N parallel chains are within N r^k of the target's draws after k updates."
        ),
        tried!(
            "pMCSA, Thm. 4",
            "001-T-pMCSA-VAR",
            "The variance of parallel chains given their states is at most L^2/N (2 - 1/w*)."
        ),
    ]
}

/// Result of the search for the claim with this id; `None` if there is no such claim.
pub(crate) fn judged(id: &str) -> Option<Judgement> {
    theory::all().into_iter().find(|claim| claim.id == id).map(|claim| claim.examine(Effort::BRIEF))
}

fn said(id: &str) -> Finding {
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
        assert_eq!(said("no such claim").verdict, Verdict::NotReproducible);
    }

    #[test]
    fn every_chart_has_its_claim() {
        let sources = include_str!("papers.rs");
        for chart in mcsa_theory::curves::all() {
            assert!(sources.contains(&format!("\"{}\"", chart.claim)), "{}", chart.claim);
        }
    }
}
