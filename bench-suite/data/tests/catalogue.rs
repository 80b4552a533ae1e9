//! Requirements on data files, their import, and errors if they are violated.

use std::fs;
use std::path::PathBuf;

use mcsa_core::Seed;
use mcsa_data::{Catalogue, DataError, Dataset, Entry, Table};
use proptest::prelude::*;

/// Description of a data set with two inputs and a label, four rows.
fn labelled(more: &str) -> Entry {
    entry(&format!(
        "kind = \"classification\"\ncolumns = [\"a\", \"b\", \"y\"]\ntarget = \"y\"\nlabels = [{{ code = 0, meaning = \
         \"no\" }}, {{ code = 1, meaning = \"yes\", count = 1 }}]\n{more}"
    ))
}

/// Description of a data set from its kind, columns and further settings.
fn entry(more: &str) -> Entry {
    let head = "name = \"small\"\nrows = 4\nsource = \"\"\ncitation = \"\"\nterms = \"\"\n";
    toml::from_str(&format!("{head}{more}")).expect("an entry")
}

/// A file of the labelled data set.
const SMALL: &str = "a,b,y\n1,5,0\n2,-5.5,1\n3,1e2,0\n4,0,0\n";

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mcsa-data-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn fault(entry: &Entry, text: &str) -> String {
    Table::read(entry, "small.csv", text.as_bytes()).expect_err("a fault").to_string()
}

#[test]
fn faults_are_named_with_line_and_column() {
    for (from, to, message) in [
        ("2,-5.5,1", "2,-5.5", ", line 3: 2 values, expected 3"),
        ("2,-5.5,1", "2,-5.5,1,9", ", line 3: 4 values, expected 3"),
        ("-5.5", "", ", line 3, column b: the cell is empty, expected a number"),
        ("-5.5", "?", ", line 3, column b: \"?\" is not a number"),
        ("-5.5", "NaN", ", line 3, column b: \"NaN\" is not finite"),
        ("-5.5", "1e999", ", line 3, column b: \"1e999\" is not finite"),
        ("-5.5", "\"2\"", ", line 3, column b: \"\\\"2\\\"\" is not a number"),
        ("-5.5,1", "-5.5,2", ", line 3, column y: label 2, expected 0 (no) or 1 (yes)"),
        ("-5.5,1", "-5.5,0", ", column y: label 1 (yes) occurs 0 times, expected 1"),
        ("a,b,y", "a,c,y", ", line 1, column 2: the header says \"c\", expected b"),
        ("a,b,y", "a,b", ", line 1, column y: missing in the header"),
        ("a,b,y", "a,b,y,z", ", line 1: the header has 4 columns, expected 3"),
        ("4,0,0\n", "4,0,0\n5,0,0\n", ", line 6: more than 4 rows"),
        ("4,0,0\n", "", ": 3 rows, expected 4: is it whole?"),
        ("3,1e2", "\n3,1e2", ", line 4: the line is empty; take it out"),
    ] {
        assert!(SMALL.contains(from));
        assert_eq!(fault(&labelled(""), &SMALL.replacen(from, to, 1)), format!("small.csv{message}"));
    }
    assert_eq!(fault(&labelled(""), ""), "small.csv: the file is empty");
}

#[test]
fn missing_cells_must_be_known() {
    let text = SMALL.replace("-5.5", "");
    let table = Table::read(&labelled("fill = { b = 3 }"), "small.csv", text.as_bytes()).unwrap();
    assert_eq!(table.numbers(1), [5.0, 3.0, 100.0, 0.0]);
}

/// Sums of absolute values would not detect turned signs and shuffled rows. By hand: a 1/4 + 4/4 + 9/4 + 16/4 = 7.5, b 5/4 - 11/4
/// + 300/4 = 73.5.
#[test]
fn facts_of_the_manifest_are_checked() {
    let flat = "a,b,y\n1,7,0\n2,7,1\n3,7,0\n4,7,0\n";
    let (known, right) = ("constant = [\"b\"]", "sums = [10, 110.5, 1]\norder = [7.5, 73.5, 0.5]");
    let sum = format!("sha256 = \"{}\"", "0".repeat(64));
    for (facts, text, said) in [
        ("", flat, ", column b: every value is 7; expected values that differ"),
        (known, flat, ""),
        (known, SMALL, ", column b: the values differ; this column is known to be constant"),
        (&sum, SMALL, ": not the file that was verified"),
        ("sums = [10, 110.4, 1]", SMALL, ", column b: the absolute values sum to 110.5, expected 110.4"),
        (right, SMALL, ""),
        (right, &SMALL.replace("-5.5", "5.5"), ", column b: values times row numbers sum to"),
        (
            right,
            "a,b,y\n2,-5.5,1\n1,5,0\n3,1e2,0\n4,0,0\n",
            ", column a: values times row numbers sum to 7.25, expected 7.5: rows in another order",
        ),
    ] {
        match Table::read(&labelled(facts), "small.csv", text.as_bytes()) {
            Ok(_) => assert_eq!(said, "", "{facts}"),
            Err(error) => {
                let is_said = error.to_string().starts_with(&format!("small.csv{said}"));
                assert!(!said.is_empty() && is_said, "{error}");
            }
        }
    }
}

#[test]
fn words_are_kept() {
    let named = entry("kind = \"series\"\ncolumns = [\"date\", \"a\"]\ntext = [\"date\"]\n");
    let text = "date,a\nx,1\ny,2\nz,3\nw,4\n";
    let table = Table::read(&named, "small.csv", text.as_bytes()).unwrap();
    assert_eq!(table.words(0), ["x", "y", "z", "w"]);
    assert_eq!(fault(&named, &text.replace("z,", ",")), "small.csv, line 4, column date: the cell is empty");
}

#[test]
fn published_forms_give_the_same_table() {
    let published = |layout: &str, text: &str| {
        let table = Table::read_any(
            &labelled(&format!("layouts = [{{ what = \"\", {layout} }}]")),
            "x",
            text.as_bytes(),
        );
        let table = table.expect("a table");
        [0, 1, 2].map(|place| table.numbers(place).to_vec())
    };
    let own = published("cells = 3", SMALL);
    for (layout, text) in [
        ("cells = 3", "1,5,0\n2,-5.5,1\n3,1e2,0\n4,0,0"),
        ("cells = 3, target = 0", "0,1,5\n1.0e+00,2,-5.5\n0,3,1e2\n0,4,0\n"),
        ("cells = 3, positive = \"g\"", "1, 5, h\n2, -5.5, g\n3, 1e2, h\n4, 0, h\n"),
        ("cells = 4, skip = 1, ignore = [3]", "X1,X2,Y1,Y2\n1,5,0,9\n2,-5.5,1,\n3,1e2,0,9\n4,0,0,9\n"),
        ("cells = 4, ignore = [1]", "1,9,5,0\n2,9,-5.5,1\n3,x,1e2,0\n4,,0,0\n"),
    ] {
        assert_eq!(published(layout, text), own, "{layout}");
    }
    let sorted =
        published("cells = 2, blanks = true, counted = true", " 1 3\n  2.0E+00  -5.5\n 1 5\n 3 100\n 4 0\n");
    assert_eq!(sorted, [vec![2.0, 1.0, 3.0, 4.0], vec![-5.5, 5.0, 100.0, 0.0], vec![1.0, 0.0, 0.0, 0.0]]);
}

#[test]
fn an_unknown_form_is_answered_with_those_that_are_read() {
    let entry = labelled("layouts = [{ what = \"label last\", cells = 3 }]");
    let error = Table::read_any(&entry, "x", &b"1;5;0\n"[..]).unwrap_err().to_string();
    let expected = "x, line 1: 1 value by commas, 1 by blanks; expected 3 values on a line (label last), or the header \"a,b,y\"";
    assert_eq!(error, expected);
}

/// The text of a data set as a grid without header.
fn bare(data: &Dataset) -> String {
    let row = |row: usize| format!("{},{},{}\n", data.x[(row, 0)], data.x[(row, 1)], data.y[row]);
    (0..data.rows()).map(row).collect()
}

#[test]
fn what_is_imported_is_loaded_bit_by_bit() {
    let (name, folder) = ("wasp_precipitation_2010", folder("import"));
    let catalogue = Catalogue::new(Some(folder.join("made")));
    let made = catalogue.stand_in(name, None, Seed::new(1)).unwrap();
    let (file, text) = (folder.join("mine.txt"), bare(&made));
    fs::write(&file, &text).unwrap();
    assert!(catalogue.load(name).unwrap_err().is_absent());

    let place = catalogue.import(name, &file).unwrap();
    let loaded = catalogue.load(name).unwrap();
    assert_eq!(loaded, made);
    assert!(catalogue.listing().contains("wasp_precipitation_2010  imported"));
    catalogue.import(name, &place).unwrap(); // our own form is one of those that are read
    assert_eq!(catalogue.load(name).unwrap(), loaded);

    fs::write(&file, text.replacen(',', ",north", 1)).unwrap();
    let error = catalogue.import(name, &file).unwrap_err().to_string();
    assert!(error.contains("mine.txt, line 1") && error.contains("is not a number"), "{error}");
    assert_eq!(catalogue.load(name).unwrap(), loaded, "what was there stays");
    assert_eq!(fs::read_dir(folder.join("made")).unwrap().count(), 1, "nothing is left behind");
    fs::remove_dir_all(folder).unwrap();
}

/// Nothing of a file that is no data table is shown.
#[test]
fn no_line_of_another_file_is_shown() {
    let folder = folder("secret");
    let catalogue = Catalogue::new(Some(folder.join("made")));
    let file = folder.join("passwd");
    fs::write(&file, "root:hidden:0:0::/root:/bin/sh\nother:hidden:1:1::/:/bin/sh\n").unwrap();
    for entry in catalogue.entries().iter().filter(|entry| !entry.is_carried()) {
        let error = catalogue.import(&entry.name, &file).unwrap_err().to_string();
        assert!(!error.contains("hidden") && error.contains("passwd, line 1"), "{error}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_imported_is_refused_with_advice() {
    let folder = folder("refuse");
    let catalogue = Catalogue::new(Some(folder.clone()));
    let refused =
        |name: &str, file: &str| catalogue.import(name, &folder.join(file)).unwrap_err().to_string();
    assert!(refused("pima", "x").contains("nothing to import"));
    assert!(refused("smll", "x").contains("did you mean \"sml\"?"));
    assert!(refused("sml", "nothing.csv").contains("nothing.csv: cannot be opened"));
    fs::write(folder.join("data.csv.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
    assert!(refused("sml", "data.csv.gz").contains("unpack it first"));
    let wide = vec!["1.5"; 27].join(",");
    fs::write(folder.join("short.csv"), format!("{wide}\n{wide}\n")).unwrap();
    assert!(refused("sml", "short.csv").ends_with("short.csv: 2 rows, expected 4137: is it whole?"));
    assert!(Catalogue::new(None).import("sml", &folder.join("short.csv")).is_err());
    fs::remove_dir_all(folder).unwrap();
}

/// A data set of the catalogue with few rows, of which an import keeps a part.
fn few(name: &str, rows: usize, subset: Option<usize>) -> Entry {
    let mut entry = Catalogue::new(None).entry(name).unwrap().clone();
    (entry.rows, entry.subset) = (rows, subset);
    entry.labels.iter_mut().for_each(|label| label.count = None);
    entry.sums.clear();
    entry.order.clear();
    entry
}

/// Lines of `cells` distinct numbers, with words put in.
fn lines(
    rows: usize,
    cells: usize,
    separator: &str,
    change: impl Fn(usize, &mut Vec<String>),
) -> Vec<String> {
    let line = |row: usize| {
        let mut words: Vec<String> = (0..cells).map(|cell| format!("{}.5e+00", row * cells + cell)).collect();
        change(row, &mut words);
        words.join(separator)
    };
    (0..rows).map(line).collect()
}

fn read(entry: &Entry, lines: &[String]) -> Result<Table, DataError> {
    Table::read_any(entry, "raw", (lines.join("\n") + "\n").as_bytes())
}

/// The raw files of UCI: label first with commas; two counts and then blanks, label 1 first; seven types last.
#[test]
fn raw_files_of_the_large_sets_are_read() {
    for (name, inputs) in [("higgs", 28), ("susy", 18)] {
        let label = |row: usize, words: &mut Vec<String>| words[0] = format!("{:.18e}", (row % 2) as f64);
        let raw = lines(6, inputs + 1, ",", label);
        let table = read(&few(name, 6, None), &raw).unwrap();
        assert_eq!(table.numbers(inputs), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0], "{name}");
        assert_eq!(
            (table.numbers(0)[1], table.numbers(inputs - 1)[0]),
            ((inputs + 2) as f64 + 0.5, inputs as f64 + 0.5)
        );
        let error = read(&few(name, 6, Some(4)), &raw[..5]).unwrap_err().to_string();
        assert_eq!(error, "raw: 5 rows, expected 6: is it whole?");
    }
    let entry = few("miniboone", 5, None);
    let raw = [vec!["  2  3".to_owned()], lines(5, 50, "  ", |_, _| ())].concat();
    assert_eq!(read(&entry, &raw).unwrap().numbers(50), [1.0, 1.0, 0.0, 0.0, 0.0]);
    assert!(
        read(&entry, &raw[1..])
            .unwrap_err()
            .to_string()
            .starts_with("raw, line 1: 1 value by commas, 50 by blanks")
    );
    assert!(read(&entry, &raw[..5]).unwrap_err().to_string().contains("4 rows, expected 5"));
    for (name, expected) in [("covtype", [0.0, 1.0, 0.0, 0.0]), ("covtype_fir", [1.0, 0.0, 0.0, 0.0])] {
        let kind = |word: usize| {
            move |row: usize, words: &mut Vec<String>| words[54] = [1, 2, 7, word][row].to_string()
        };
        let raw = lines(4, 55, ",", kind(3));
        assert_eq!(read(&few(name, 4, None), &raw).unwrap().numbers(54), expected);
        let error = read(&few(name, 4, None), &lines(4, 55, ",", kind(8))).unwrap_err().to_string();
        assert!(error.starts_with("raw, line 4, column y: label \"8\", expected"), "{error}");
    }
    let pol = lines(3, 27, ",", |_, _| ());
    assert_eq!(read(&few("pol", 3, None), &pol).unwrap().numbers(26), [26.5, 53.5, 80.5]);
    let places = few("wasp_precipitation_2010", 3, None);
    for separator in [",", "\t", "  "] {
        let mut raw = lines(3, 3, separator, |_, _| ());
        assert_eq!(read(&places, &raw).unwrap().numbers(2), [2.5, 5.5, 8.5]);
        raw.insert(0, ["lon", "lat", "value"].join(separator));
        assert_eq!(read(&places, &raw).unwrap().numbers(1), [1.5, 4.5, 7.5]);
        raw[2] = raw[2].replace("3.5e+00", "none");
        assert!(read(&places, &raw).unwrap_err().to_string().contains("raw, line 3, column longitude"));
    }
}

/// Subset of 10 out of 40 rows, 12 of which have the label 1: whole rows in their order, 3 of them with the label 1.
#[test]
fn a_subset_has_whole_rows_and_the_shares_of_the_labels() {
    let label = |row: usize, words: &mut Vec<String>| words[0] = u8::from(row % 10 < 3).to_string();
    let raw = lines(40, 19, ",", label);
    let mut entry = few("susy", 40, Some(10));
    for (label, count) in entry.labels.iter_mut().zip([28, 12]) {
        label.count = Some(count);
    }
    let table = read(&entry, &raw).unwrap();
    assert_eq!(table.numbers(18).iter().sum::<f64>(), 3.0);
    let firsts = table.numbers(0);
    assert!(firsts.len() == 10 && firsts.is_sorted_by(|a, b| a < b));
    assert!((0..10).all(|row| table.numbers(17)[row] == firsts[row] + 17.0));
    assert_eq!(read(&entry, &raw).unwrap(), table);
    // In our own layout a file has the rows of the subset, and their labels.
    let own = |ones: usize| {
        let label = |row: usize, words: &mut Vec<String>| words[18] = u8::from(row < ones).to_string();
        [vec![entry.columns.join(",")], lines(10, 19, ",", label)].concat()
    };
    assert_eq!(read(&entry, &own(3)).unwrap().numbers(0).len(), 10);
    let error = read(&entry, &own(4)).unwrap_err().to_string();
    assert_eq!(error, "raw, column y: label 0 (background) occurs 6 times, expected 7");
    // Rows that are not kept are checked too.
    let mut wrong = raw.clone();
    wrong[39] = wrong[39].replacen("0,", "1,", 1);
    assert!(read(&entry, &wrong).unwrap_err().to_string().contains("occurs 27 times, expected 28"));
}

proptest! {
    #[test]
    fn bytes_are_a_table_or_an_error(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            "[-0-9ae+.,y \n\r]{0,80}".prop_map(String::into_bytes),
        ],
    ) {
        let entry = labelled(FORMS);
        for bytes in [[b"a,b,y\n", &bytes[..]].concat(), bytes] {
            let read = [Table::read(&entry, "x", &bytes[..]), Table::read_any(&entry, "x", &bytes[..])];
            for column in read.iter().flatten().flat_map(|table| [0, 1, 2].map(|place| table.numbers(place))) {
                prop_assert!(column.len() == 4 && column.iter().all(|value| value.is_finite()));
            }
        }
    }
}

/// All accepted layouts of a file.
const FORMS: &str = "layouts = [{ what = \"p\", cells = 3, positive = \"e\" }, { what = \"t\", cells = 4, target = 0, \
    ignore = [2], skip = 2 }, { what = \"c\", cells = 2, blanks = true, counted = true }]";

#[test]
fn a_file_cut_off_anywhere_is_refused() {
    for end in 0..SMALL.len() - 1 {
        assert!(Table::read(&labelled(""), "x", &SMALL.as_bytes()[..end]).is_err(), "{end}");
    }
}
