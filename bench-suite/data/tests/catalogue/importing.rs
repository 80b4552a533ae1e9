//! Import of a user's file from its published layout to a data set that loads.

use std::fs;
use std::path::PathBuf;

use mcsa_core::Seed;
use mcsa_data::{Catalogue, Dataset, Table};

use crate::sets::{SMALL, labelled};

fn columns(more: &str, text: &str) -> [Vec<f64>; 3] {
    let table = Table::read_any(&labelled(more), "x", text.as_bytes()).expect("a table");
    [0, 1, 2].map(|place| table.numbers(place).to_vec())
}

#[test]
fn published_forms_give_the_same_table() {
    let own = columns("", SMALL);
    let last = "layouts = [{ what = \"\", cells = 3 }]";
    assert_eq!(columns(last, "1,5,0\n2,-5.5,1\n3,1e2,0\n4,0,0"), own);
    let first = "layouts = [{ what = \"\", cells = 3, target = 0 }]";
    assert_eq!(columns(first, "0,1,5\n1.0e+00,2,-5.5\n0,3,1e2\n0,4,0\n"), own);
    let class = "layouts = [{ what = \"\", cells = 3, positive = \"g\" }]";
    assert_eq!(columns(class, "1, 5, h\n2, -5.5, g\n3, 1e2, h\n4, 0, h\n"), own);
    let sheet = "layouts = [{ what = \"\", cells = 4, skip = 1, ignore = [3] }]";
    assert_eq!(columns(sheet, "X1,X2,Y1,Y2\n1,5,0,9\n2,-5.5,1,\n3,1e2,0,9\n4,0,0,9\n"), own);
    let between = "layouts = [{ what = \"\", cells = 4, ignore = [1] }]";
    assert_eq!(columns(between, "1,9,5,0\n2,9,-5.5,1\n3,x,1e2,0\n4,,0,0\n"), own);
    let counted = "layouts = [{ what = \"\", cells = 2, blanks = true, counted = true }]";
    let sorted = columns(counted, " 1 3\n  2.0E+00  -5.5\n 1 5\n 3 100\n 4 0\n");
    assert_eq!(sorted, [vec![2.0, 1.0, 3.0, 4.0], vec![-5.5, 5.0, 100.0, 0.0], vec![1.0, 0.0, 0.0, 0.0]]);
    assert_eq!(columns(last, SMALL), own);
}

#[test]
fn an_unknown_form_is_answered_with_those_that_are_read() {
    let entry = labelled("layouts = [{ what = \"label last\", cells = 3 }]");
    let error = Table::read_any(&entry, "x", &b"1;5;0\n"[..]).unwrap_err().to_string();
    let expected =
        "x, line 1: begins with \"1;5;0\"; expected 3 values on a line (label last), or the header \"a,b,y\"";
    assert_eq!(error, expected);
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mcsa-data-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
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
    assert_eq!((&loaded.x, &loaded.y, &loaded.columns), (&made.x, &made.y, &made.columns));
    assert!(loaded.origin.to_string().starts_with("imported, "));
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
