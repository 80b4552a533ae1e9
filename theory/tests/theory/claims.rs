//! All claims of the papers, tested with brief effort and compared with the known standings and counterexamples; the book of errata.

use std::fs;
use std::path::Path;

use Standing::{Holds, NotCheckable, Tight, Violated};
use mcsa_theory::claims::{self, Claim, Effort, Judgement, Standing};

/// The claim of this name, tested.
fn judged(id: &str) -> Judgement {
    let claim = claims::all().into_iter().find(|claim| claim.id == id);
    claim.unwrap_or_else(|| panic!("no claim {id}")).examine(Effort::BRIEF)
}

/// Checks that the claims of a paper have the standings beside which they are named, that corrections hold and twins are refuted; the
/// panic message lists the exceptions.
fn regression(paper: &str, known: &[(Standing, &'static str)]) {
    let mut complaints = String::new();
    let of = |&(standing, ids): &(Standing, &'static str)| ids.split(' ').map(move |id| (id, standing));
    let mut expected: Vec<(&str, Standing)> = known.iter().flat_map(of).collect();
    expected.sort_unstable();
    let mut found: Vec<Claim> =
        claims::all().into_iter().filter(|claim| claim.paper.number == paper).collect();
    found.sort_unstable_by_key(|claim| claim.id);
    assert!(found.iter().map(|claim| claim.id).eq(expected.iter().map(|(id, _)| *id)), "{paper}");
    for (claim, (id, standing)) in found.iter().zip(&expected) {
        let judgement = claim.examine(Effort::BRIEF);
        let finding = &judgement.printed.finding;
        if finding.standing != *standing {
            complaints += &format!("{id}: expected {standing}, found {finding:?}\n");
        }
        if *standing == Standing::Violated && !finding.search_refutes() {
            complaints += &format!("{id}: the search found no counterexample: {finding:?}\n");
        }
        if finding.examples.iter().any(|example| !example.refutes) {
            complaints += &format!("{id}: an example refutes nothing: {finding:?}\n");
        }
        if *standing == Standing::Violated && judgement.corrected.is_empty() {
            complaints += &format!("{id}: violated and not corrected\n");
        }
        let checkable = *standing != Standing::NotCheckable;
        if checkable && *standing != Standing::Violated && judgement.printed.twin.is_none() {
            complaints += &format!("{id}: holds and has no twin\n");
        }
        for statement in std::iter::once(&judgement.printed).chain(&judgement.corrected) {
            if checkable && statement.finding.tried < 900 {
                complaints += &format!("{id}: only {} cases\n", statement.finding.tried);
            }
            if !statement.twin_is_refuted() {
                complaints +=
                    &format!("{id}: the twin of {} stands: {:?}\n", statement.formula, statement.twin);
            }
        }
        for corrected in judgement.corrected.iter().filter(|corrected| !corrected.finding.holds()) {
            complaints += &format!("{id}: the correction falls: {corrected:?}\n");
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
}

/// The two sides of the example that refutes a claim.
fn example(id: &str) -> (f64, f64) {
    let judgement = judged(id);
    let witness = &judgement.printed.finding.examples[0];
    assert!(witness.refutes, "{id}: {witness:?}");
    (witness.lhs, witness.rhs)
}

/// The result depends on the claim alone: not on other claims, threads or earlier calls.
#[test]
fn judgements_are_repeatable() {
    let once = judged("000-T1");
    let again = std::thread::spawn(|| judged("000-T1")).join().unwrap();
    assert_eq!(once, again);
}

#[test]
fn standings_of_mcmc_se() {
    let known = [
        (Holds, "000-L2 000-V1 000-V2"),
        (Tight, "000-L1 000-T1-EQ29 000-T2 000-T3 000-P1 000-T4-EQ53 000-V3"),
        (Violated, "000-AD 000-T1 000-T4 000-T4-ROOT 000-V2-ALWAYS 000-EQ10"),
    ];
    regression("000", &known);
}

#[test]
fn standings_of_pmcsa() {
    let known = [
        (Holds, "001-PK 001-PK-GRAD 001-IWVAR 001-KER 001-BIAS-RB 001-JSA-VAR-LIMIT"),
        (
            Tight,
            "001-CHI-KL 001-L1-LOW 001-L3-ONE 001-L4 001-L4-TV 001-L5 001-T-MSC-MIX 001-T-MSC-EIG \
             001-T-MSC-VAR 001-GAMMA 001-T-JSA-PRODUCT 001-JSA-LAURENT 001-CCOV 001-T-pMCSA-MIX \
             001-T-pMCSA-VAR",
        ),
        (
            Violated,
            "001-W 001-LAM-DEF 001-L1-UP 001-L2 001-L3 001-L6 001-T-MSCRB-MSE 001-T-MSCRB 001-T-JSA \
             001-T-JSA-POWER 001-JSA-SUM 001-JSA-VAR 001-T-JSA-MOMENT 001-T-JSA-MOMENT-SUM 001-CCOV-PAIR \
             001-T-pMCSA-MOMENT 001-R-TAIL 001-R-CONCAVE 001-R-SCORE 001-R-MIXING",
        ),
        (NotCheckable, "001-R-RATE"),
    ];
    regression("001", &known);
}

#[test]
fn standings_of_msc() {
    let known = [
        (Holds, "002-CIS 002-CIS-REVERSIBLE 002-P2 002-P2-WHOLE"),
        (Tight, "002-FIG1 002-FIG1-MEAN"),
        (Violated, "002-ODE 002-P2-REPLACED"),
        (NotCheckable, "002-P1"),
    ];
    regression("002", &known);
}

#[test]
fn standings_of_cw() {
    let known = [
        (Holds, "003-EQ6-7 003-EQ8-10 003-PIMH"),
        (
            Tight,
            "003-T1-N1 003-T2 003-T2-SCHEDULED 003-P1 003-EQ13-GROWTH 003-P3 003-EQ12 003-L1 003-T4 \
             003-T4-GAP-LARGEST 003-P4 003-PESKUN 003-PESKUN-TWICE",
        ),
        (
            Violated,
            "003-T1 003-T2-ADAPTED 003-P2 003-T3 003-T3-RB 003-T3-STATIONARY 003-EQ13 003-T4-GAP \
             003-T4-MEAN 003-WANG 003-PIMH-VARIANCE",
        ),
    ];
    regression("003", &known);
}

#[test]
fn standings_of_sl_dais() {
    let known = [
        (
            Holds,
            "004-L1 004-L1-ANY 004-STILL 004-SCALE 004-P1-BATCH 004-P2 004-P2-SUBSETS 004-P2-GAP \
             004-P3-ANY 004-P3-LOGISTIC 004-P3-STEPS 004-MASS 004-ROWS",
        ),
        (Tight, "004-L1-BOUND 004-P1 004-P1-ANY 004-P2-WIDE 004-P3-SECOND"),
        (NotCheckable, "004-P3"),
    ];
    regression("004", &known);
}

#[test]
fn standings_of_running_moments() {
    let known = [
        (Holds, "005-FIXED 005-OPTIMUM 005-NATURAL 005-ASCENT"),
        (Tight, "005-RATE"),
        (Violated, "005-GAIN 005-ADAPTED"),
    ];
    regression("005", &known);
}

/// The two sides of each example are these fractions, up to the last bits of a double.
#[test]
fn counterexamples_are_the_known_fractions() {
    let known = [
        ("000-AD", 5.0 / 32.0, 1.0 / 8.0),
        ("000-T1", 35.0 / 64.0, 0.5),
        ("000-T4", 3.0 / 8.0, 0.25 * (1.0_f64 / 12.0 + 0.25).sqrt()),
        ("000-T4-ROOT", 3.0 / 8.0, 0.5 * (1.0_f64 / 12.0 + 0.25).sqrt()),
        ("000-V2-ALWAYS", 7.0 / 16.0, 0.25),
        ("000-EQ10", 3.0 / 4.0, 11.0 / 16.0),
        ("001-W", 1.0, 1.0),
        ("001-LAM-DEF", 0.5, 1.0 / 3.0),
        ("001-L1-UP", 0.75, 0.5),
        ("001-L2", 0.75, 0.5),
        ("001-L3", 1.0, 7.0 / 8.0),
        ("001-L6", 1.0, 0.0),
        ("001-T-MSCRB-MSE", 1.0 / 17.0, 16.0 / 289.0),
        ("001-T-JSA", 0.25, 3.0 / 16.0),
        ("001-T-JSA-POWER", 5.0 / 8.0, 9.0 / 16.0),
        ("001-JSA-SUM", 1.5, 2.0),
        ("001-JSA-VAR", 0.5, 0.25),
        ("001-R-MIXING", 1.0, 0.75),
        ("001-R-SCORE", 2.0_f64.sqrt() / 9.0, 10.0 / 81.0),
        ("001-R-CONCAVE", (0.5 / std::f64::consts::TAU).sqrt(), 2.0 / 3.0 / std::f64::consts::TAU.sqrt()),
        ("001-T-pMCSA-MOMENT", 7.0 / 16.0, 3.0 / 8.0),
        // Batches weighted by their probabilities give the first atom 9/10; sets that count once give 28/31.
        ("002-P2-REPLACED", 28.0 / 31.0 - 9.0 / 10.0, 0.0),
        ("003-T1", 9.0 / 16.0, 1.0 / 2.0),
        ("003-T2-ADAPTED", 5.0 / 32.0, 1.0 / 8.0),
        ("003-P2", 1.0, 2.0),
        ("003-T3", 0.25 / 2.998_f64.powi(4), 1999.0 / 4e6),
        ("003-T3-RB", 0.25 / 2.998_f64.powi(4), 1.0 / 4e6),
        ("003-T3-STATIONARY", 0.25 / 2.998_f64.powi(4), 999.0 / 1e6),
        ("003-WANG", 1.0 / 2.0, 1.0 / 4.0),
        // Two atoms with T = 1 and -1, the second proposed three times as often: proposals are accepted with probabilities 1/2 and 1,
        // so E_p[a T] / E_p[a] is -1/3, and so is the step at the mean 0.
        ("005-GAIN", -1.0 / 3.0, 0.0),
    ];
    for (id, lhs, rhs) in known {
        let found = example(id);
        assert!((found.0 - lhs).abs() < 1e-15 && (found.1 - rhs).abs() < 1e-15, "{id}: {found:?}");
    }
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
    let pairs = examples("003-P2");
    near(pairs[1].lhs, 3.0 / 4.0, 1e-15);
    near(pairs[1].rhs, 9.0 / 8.0, 1e-15);
    let (gap, mean) = (examples("003-T4-GAP"), examples("003-T4-MEAN"));
    near(gap[0].lhs, 0.09067, 1e-5);
    near(gap[0].rhs, 900.0 / 362.128_f64.powi(2), 1e-6);
    near(mean[0].rhs, 1_707_401.0 / 1_798_400.0, 1e-15);
}

/// The chapters of the errata, or `None` in a package, which has no book.
fn chapters() -> Option<String> {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src/errata");
    let files = fs::read_dir(book).ok()?.map(|entry| entry.expect("a readable folder").path());
    Some(files.map(|file| fs::read_to_string(file).expect("a readable chapter")).collect())
}

#[test]
fn every_corrected_claim_of_a_paper_is_in_the_book() {
    let Some(text) = chapters() else { return };
    let all = claims::all();
    let printed = |claim: &&claims::Claim| claim.paper.key != "ours" && !claim.corrected.is_empty();
    for claim in all.iter().filter(printed) {
        assert!(text.contains(&format!("`{}`", claim.id)), "{} is missing", claim.id);
    }
}

#[test]
fn the_book_names_claims_that_exist() {
    let Some(text) = chapters() else { return };
    let ids: Vec<&str> = claims::all().iter().map(|claim| claim.id).collect();
    let is_name = |word: &&str| word.starts_with("00") && word.contains('-');
    for name in text.split('`').filter(is_name) {
        assert!(ids.contains(&name), "there is no claim {name}");
    }
}
