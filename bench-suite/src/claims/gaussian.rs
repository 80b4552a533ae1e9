//! Claim on the correlated Gaussian, whose optimum is known.

use super::{Claim, Finding};
use crate::catalog::Target;
use crate::evidence::{Evidence, Series};

/// The minimal divergence of the family is reached. Our claim, not from a paper.
pub fn gaussian() -> Vec<Claim> {
    let sentence = "Under correlation 0.2, ten chains come within 0.1 nats of the best member of the family.";
    vec![Claim { citation: "ours", sentence, judge: reaches_the_floor }]
}

fn is_easy(series: &Series<'_>) -> bool {
    matches!(series.target(), Target::CorrelatedGaussian { correlation, .. } if *correlation < 0.3)
}

fn reaches_the_floor(evidence: &Evidence) -> Finding {
    let Some(series) = evidence.find(|series| series.is("pmcsa", 10) && is_easy(series)) else {
        return Finding::too_little("no fit by pMCSA with ten chains");
    };
    let last = series.steps().last().copied().unwrap_or(0);
    let median = |name| series.median_at(last, name).unwrap_or(f64::NAN);
    Finding::at_most(median("kl") - median("kl_floor"), 0.1, "median KL(p ∥ q) above its floor at the end")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Verdict;
    use crate::experiment::PresetName;
    use crate::registry::REGISTRY;

    fn verdict(kl: f64) -> Verdict {
        let experiment = REGISTRY[0].experiment().unwrap();
        let evidence =
            Evidence::synthetic(experiment, PresetName::Quick, |_, _, _| vec![("kl", kl), ("kl_floor", 1.0)]);
        gaussian()[0].find(&evidence).verdict
    }

    #[test]
    fn it_holds_fails_and_abstains() {
        assert_eq!(verdict(1.05), Verdict::Agree);
        assert_eq!(verdict(1.2), Verdict::Disagree);
        assert_eq!(verdict(f64::NAN), Verdict::TooLittle);
    }
}
