//! Arbitrary bytes never cause a panic.

use mcsa_data::{Catalogue, Posteriordb, Table};
use proptest::prelude::*;

use crate::sets::{SMALL, labelled};

proptest! {
    #[test]
    fn any_bytes_are_a_table_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let entry = labelled(FORMS);
        let _ = Table::read(&entry, "x", &bytes[..]);
        let _ = Table::read_any(&entry, "x", &bytes[..]);
        let behind_a_header = [b"a,b,y\n", &bytes[..]].concat();
        let _ = Table::read_any(&entry, "x", &behind_a_header[..]);
    }

    #[test]
    fn text_that_is_nearly_a_table_is_one_or_an_error(text in "[-0-9ae+.,y \n\r]{0,80}") {
        let entry = labelled(FORMS);
        let behind_a_header = format!("a,b,y\n{text}");
        for text in [text, behind_a_header] {
            if let Ok(table) = Table::read_any(&entry, "x", text.as_bytes()) {
                prop_assert!((0..3).all(|place| table.numbers(place).len() == 4));
                prop_assert!((0..3).all(|place| table.numbers(place).iter().all(|value| value.is_finite())));
            }
        }
    }

    #[test]
    fn a_changed_byte_of_a_verified_file_is_noticed(at in 0_usize..10_806, byte: u8) {
        let catalogue = Catalogue::new(None);
        let entry = catalogue.entry("yacht").unwrap();
        let mut bytes = include_bytes!("../../yacht.csv").to_vec();
        let same = bytes[at] == byte;
        bytes[at] = byte;
        prop_assert_eq!(Table::read(entry, "yacht.csv", &bytes[..]).is_ok(), same);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A reference or a table with a piece replaced is read, or is an error.
    #[test]
    fn a_changed_folder_of_posteriordb_is_read_or_an_error(
        is_table: bool,
        (start, length) in (any::<prop::sample::Index>(), 0..12_usize),
        piece in prop::sample::select(&["", "-1", "1e308", "nan", "null", "[[", "\n", "18446744073709551615"][..]),
    ) {
        let files = [
            ("reference.json", include_str!("../posteriordb/reference.json")),
            ("made_up-normal.csv", include_str!("../posteriordb/made_up-normal.csv")),
        ];
        let folder = std::env::temp_dir().join(format!("mcsa-posteriordb-bytes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (k, (name, text)) in files.into_iter().enumerate() {
            let mut bytes = text.as_bytes().to_vec();
            if is_table == (k == 1) {
                let start = start.index(bytes.len());
                bytes.splice(start..(start + length).min(bytes.len()), piece.bytes());
            }
            std::fs::write(folder.join(name), bytes).unwrap();
        }
        let _ = Posteriordb::open(folder).and_then(|folder| folder.load("made_up-normal"));
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
