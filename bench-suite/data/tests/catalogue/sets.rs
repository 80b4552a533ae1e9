//! Small data sets for tests.

use mcsa_data::Entry;

/// Description of a data set with two inputs and a label, four rows.
pub(crate) fn labelled(more: &str) -> Entry {
    entry(&format!(
        "kind = \"classification\"\ncolumns = [\"a\", \"b\", \"y\"]\ntarget = \"y\"\nlabels = [{{ code = 0, meaning = \
         \"no\" }}, {{ code = 1, meaning = \"yes\", count = 1 }}]\n{more}"
    ))
}

/// Description of a data set from its kind, columns and further settings.
pub(crate) fn entry(more: &str) -> Entry {
    let head = "name = \"small\"\nrows = 4\nsource = \"\"\ncitation = \"\"\nterms = \"\"\n";
    toml::from_str(&format!("{head}{more}")).expect("an entry")
}

/// A file of the labelled data set.
pub(crate) const SMALL: &str = "a,b,y\n1,5,0\n2,-5.5,1\n3,1e2,0\n4,0,0\n";
