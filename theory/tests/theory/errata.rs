//! Errata of the book: each claim with a corrected statement has its place there.

use std::fs;
use std::path::Path;

use mcsa_theory::claims;

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
