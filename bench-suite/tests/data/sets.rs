//! Small sets of the tests' own.

use mcsa_bench_suite::data::Entry;

/// The description of a set of two inputs and a label, four rows.
pub(crate) fn labelled(more: &str) -> Entry {
    entry(&format!(
        "kind = \"classification\"\ncolumns = [\"a\", \"b\", \"y\"]\ntarget = \"y\"\nlabels = [{{ code = 0, meaning = \
         \"no\" }}, {{ code = 1, meaning = \"yes\", count = 1 }}]\n{more}"
    ))
}

/// The description of a set, from its kind, columns and what else.
pub(crate) fn entry(more: &str) -> Entry {
    let head = "name = \"small\"\nrows = 4\nsource = \"\"\ncitation = \"\"\nterms = \"\"\n";
    toml::from_str(&format!("{head}{more}")).expect("an entry")
}

/// A file of it.
pub(crate) const SMALL: &str = "a,b,y\n1,5,0\n2,-5.5,1\n3,1e2,0\n4,0,0\n";
