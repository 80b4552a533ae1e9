//! No bytes make a reader panic: a document with pieces replaced is read, or is an error.

use mcsa_bench_suite::experiment::Experiment;
use mcsa_bench_suite::instance::answer;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Pieces that readers of numbers and lists are likely to mistake.
const PIECES: &str = "|0|-1|1e308|1e-2147483648|nan|null|\"\"|[]|{}|[[|1/0|\n\n|18446744073709551615";

/// The document with one to three places replaced by pieces.
fn changed(document: &'static str) -> impl Strategy<Value = String> {
    let change = (any::<Index>(), 0..12_usize, select(PIECES.split('|').collect::<Vec<_>>()));
    prop::collection::vec(change, 1..4).prop_map(|changes| {
        let mut bytes = document.as_bytes().to_vec();
        for (start, length, piece) in changes {
            let start = start.index(bytes.len() + 1);
            bytes.splice(start..(start + length).min(bytes.len()), piece.bytes());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn experiments(text in changed(include_str!("../../examples/my_experiment.toml"))) {
        if let Ok(experiment) = Experiment::parse("my_experiment.toml", &text) {
            experiment.presets.values().for_each(|preset| drop(experiment.tasks(preset)));
        }
    }

    #[test]
    fn finite_problems(text in changed(include_str!("../data/finite_problem.json"))) {
        let _ = answer(&text);
    }
}
