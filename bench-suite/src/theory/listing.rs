//! Results of the claims for a terminal.

use mcsa_core::counted;
use mcsa_theory::claims::{Examined, Judgement, Standing, Witness};

/// A word in the colour of its standing, if colours are on.
fn painted(text: &str, standing: Standing, colours: bool) -> String {
    let colour = match standing {
        Standing::Holds => 32,
        Standing::Tight => 36,
        Standing::Violated => 31,
        Standing::NotCheckable => 33,
    };
    if colours { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.into() }
}

/// Worst ratio with five digits, or the largest difference for an identity.
pub(super) fn worst(examined: &Examined) -> String {
    let finding = &examined.finding;
    let identity = finding.worst.iter().chain(&finding.examples).any(|witness| witness.identity);
    match finding.worst_badness() {
        None => "-".into(),
        Some(difference) if identity => format!("+-{difference:.1e}"),
        Some(ratio) if ratio.is_infinite() => "inf".into(),
        Some(ratio) if ratio >= 1e3 => format!("{ratio:.1e}"),
        Some(ratio) => format!("{ratio:.5}"),
    }
}

/// Text of a witness: `lhs > rhs at ...`
pub(super) fn witnessed(witness: &Witness) -> String {
    let sign = match (witness.identity, witness.refutes) {
        (true, true) => "is not",
        (true, false) => "=",
        // A strict inequality is refuted by equality.
        (false, true) if witness.lhs == witness.rhs => "is not below",
        (false, true) => ">",
        (false, false) => "<=",
    };
    format!("{} {sign} {} at {}", number(witness.lhs), number(witness.rhs), witness.case)
}

/// Six digits, in the shorter of two notations.
fn number(x: f64) -> String {
    if x == 0.0 || (1e-4..1e6).contains(&x.abs()) {
        let text = format!("{x:.7}");
        text.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        format!("{x:.5e}")
    }
}

/// A block for each claim, and a summary line. In full also assumptions, remarks, and details of the check.
pub(super) fn listing(judgements: &[Judgement], colours: bool, in_full: bool) -> String {
    let mut text = format!("{:<19} {:<8} {:<13} {:<10} statement\n", "claim", "paper", "standing", "worst");
    for judgement in judgements {
        let standing = judgement.standing();
        let word = painted(&format!("{:<13}", standing.to_string()), standing, colours);
        let Judgement { id, paper, printed, .. } = judgement;
        text += &format!("{id:<19} {:<8} {word} {:<10} {}\n", paper.key, worst(printed), printed.formula);
        let indent = " ".repeat(29);
        if standing == Standing::NotCheckable {
            text += &format!("{indent}{}\n", printed.method);
        }
        if let Some(witness) = printed.finding.shown().filter(|witness| witness.refutes) {
            text += &format!("{indent}{}\n", witnessed(witness));
        }
        for corrected in &judgement.corrected {
            let standing = corrected.finding.standing;
            let word = painted(&format!("{:<13}", standing.to_string()), standing, colours);
            text += &format!("{:<28} {word} {:<10} {}\n", "  instead", worst(corrected), corrected.formula);
        }
        if in_full {
            text += &in_detail(judgement);
        }
        if !judgement.is_sound() {
            let word = painted("UNSOUND", Standing::Violated, colours);
            text += &format!("{indent}{word}: a correction falls, or a search did not refute a twin\n");
        }
    }
    text + &summary(judgements)
}

fn in_detail(judgement: &Judgement) -> String {
    let Judgement { place, assumptions, remark, printed, .. } = judgement;
    let tried = format!("{} cases, {}", printed.finding.tried, printed.method);
    let found = printed.finding.worst.as_ref().map(witnessed).unwrap_or_default();
    let words = [
        ("place", *place),
        ("assumes", *assumptions),
        ("remark", *remark),
        ("tried", &tried),
        ("found", &found),
    ];
    let lines = words.iter().filter(|(_, words)| !words.is_empty());
    lines.map(|(what, words)| format!("  {what:<26} {words}\n")).collect()
}

pub(super) fn count(judgements: &[Judgement], standing: Standing) -> usize {
    judgements.iter().filter(|judgement| judgement.standing() == standing).count()
}

fn summary(judgements: &[Judgement]) -> String {
    let count = |standing| count(judgements, standing);
    let corrections: usize = judgements.iter().map(|judgement| judgement.corrected.len()).sum();
    let statements = || judgements.iter().flat_map(|j| std::iter::once(&j.printed).chain(&j.corrected));
    let holding = statements().filter(|s| s.finding.holds()).count();
    let twins: Vec<bool> = statements().filter(|s| s.twin.is_some()).map(Examined::twin_is_refuted).collect();
    format!(
        "\n{}: {} tight, {} hold, {} violated, {} not checkable. {} corrections, {} of them stand. \
         {} statements made too strong, {} of them refuted. {} random cases.\n",
        counted(judgements.len(), "claim"),
        count(Standing::Tight),
        count(Standing::Holds),
        count(Standing::Violated),
        count(Standing::NotCheckable),
        corrections,
        holding - count(Standing::Tight) - count(Standing::Holds),
        twins.len(),
        twins.iter().filter(|refuted| **refuted).count(),
        statements().map(|s| s.finding.tried).sum::<usize>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_theory::claims::{self, Effort};

    #[test]
    fn colours_are_for_terminals() {
        let effort = Effort { cases: 50, climbs: 2, iterations: 50 };
        let claim = claims::all().into_iter().find(|claim| claim.id == "001-L2").unwrap();
        let judgements = [claim.examine(effort)];
        assert!(!listing(&judgements, false, true).contains('\x1b'));
        assert!(listing(&judgements, true, true).contains("\x1b[31mVIOLATED"));
    }
}
