//! The user's data folder.

use mcsa_data::{Catalogue, State};

/// If `MCSA_DATA` is set, every data set in its folder must load; otherwise the folder is empty and the test is vacuous.
#[test]
fn whatever_the_folder_holds_can_be_loaded() {
    let folder = std::env::var_os("MCSA_DATA").map(Into::into);
    let catalogue = Catalogue::new(folder);
    for entry in catalogue.entries().iter().filter(|entry| catalogue.state(entry) != State::Absent) {
        catalogue.check(&entry.name).unwrap_or_else(|error| panic!("{error}"));
    }
}
