//! Detection of faults in files, with their positions in the message.

use mcsa_data::{Entry, Table};

use crate::sets::{SMALL, entry, labelled};

fn fault(entry: &Entry, text: &str) -> String {
    Table::read(entry, "small.csv", text.as_bytes()).expect_err("a fault").to_string()
}

#[test]
fn a_file_in_order_is_read() {
    let table = Table::read(&labelled(""), "small.csv", SMALL.as_bytes()).unwrap();
    assert_eq!(table.numbers(1), [5.0, -5.5, 100.0, 0.0]);
    assert_eq!(table.numbers(2), [0.0, 1.0, 0.0, 0.0]);
    let windows = SMALL.replace('\n', "\r\n") + "\r\n";
    let same = Table::read(&labelled(""), "small.csv", windows.as_bytes()).unwrap();
    assert_eq!(same.numbers(1), table.numbers(1));
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
fn constant_columns_must_be_known() {
    let flat = "a,b,y\n1,7,0\n2,7,1\n3,7,0\n4,7,0\n";
    let message = "small.csv, column b: every value is 7; expected values that differ";
    assert_eq!(fault(&labelled(""), flat), message);
    let known = labelled("constant = [\"b\"]");
    assert!(Table::read(&known, "small.csv", flat.as_bytes()).is_ok());
    let message = "small.csv, column b: the values differ; this column is known to be constant";
    assert_eq!(fault(&known, SMALL), message);
}

#[test]
fn missing_cells_must_be_known() {
    let text = SMALL.replace("-5.5", "");
    let table = Table::read(&labelled("fill = { b = 3 }"), "small.csv", text.as_bytes()).unwrap();
    assert_eq!(table.numbers(1), [5.0, 3.0, 100.0, 0.0]);
}

#[test]
fn other_bytes_are_refused() {
    let sum = "0".repeat(64);
    let message = fault(&labelled(&format!("sha256 = \"{sum}\"")), SMALL);
    assert!(message.starts_with("small.csv: not the file that was verified"), "{message}");
}

/// Sums of absolute values would not detect these changes. By hand: a 1/4 + 4/4 + 9/4 + 16/4 = 7.5, b 5/4 - 11/4 + 300/4 =
/// 73.5.
#[test]
fn turned_signs_and_shuffled_rows_are_refused() {
    let right = labelled("sums = [10, 110.5, 1]\norder = [7.5, 73.5, 0.5]");
    Table::read(&right, "x", SMALL.as_bytes()).expect("the set itself");
    let turned = fault(&right, &SMALL.replace("-5.5", "5.5"));
    assert!(turned.contains("column b: values times row numbers sum to"), "{turned}");
    let shuffled = fault(&right, "a,b,y\n2,-5.5,1\n1,5,0\n3,1e2,0\n4,0,0\n");
    assert!(shuffled.contains("column a") && shuffled.contains("rows in another order"), "{shuffled}");
}

#[test]
fn other_sums_are_refused() {
    let right = labelled("sums = [10, 110.5, 1]");
    assert!(Table::read(&right, "small.csv", SMALL.as_bytes()).is_ok());
    let message = fault(&labelled("sums = [10, 110.4, 1]"), SMALL);
    assert!(message.starts_with("small.csv, column b: the absolute values sum to 110.5, expected 110.4"));
}

#[test]
fn words_are_kept() {
    let named = entry("kind = \"series\"\ncolumns = [\"date\", \"a\"]\ntext = [\"date\"]\n");
    let text = "date,a\nx,1\ny,2\nz,3\nw,4\n";
    let table = Table::read(&named, "small.csv", text.as_bytes()).unwrap();
    assert_eq!(table.words(0), ["x", "y", "z", "w"]);
    assert_eq!(fault(&named, &text.replace("z,", ",")), "small.csv, line 4, column date: the cell is empty");
}
