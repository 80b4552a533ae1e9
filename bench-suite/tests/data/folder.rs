//! The user's own folder.

use mcsa_bench_suite::data::{Catalogue, State};

/// With `MCSA_DATA` set, every set that its folder holds must load; without, the folder is empty and so is the claim.
#[test]
fn whatever_the_folder_holds_can_be_loaded() {
    let folder = std::env::var_os("MCSA_DATA").map(Into::into);
    let catalogue = Catalogue::new(folder);
    for entry in catalogue.entries().iter().filter(|entry| catalogue.state(entry) != State::Absent) {
        catalogue.check(&entry.name).unwrap_or_else(|error| panic!("{error}"));
    }
}
