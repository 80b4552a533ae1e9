//! Arbitrary bytes never cause a panic.

use mcsa_data::{Catalogue, Table};
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

/// All accepted layouts of a file.
const FORMS: &str = "layouts = [{ what = \"p\", cells = 3, positive = \"e\" }, { what = \"t\", cells = 4, target = 0, \
    ignore = [2], skip = 2 }, { what = \"c\", cells = 2, blanks = true, counted = true }]";

#[test]
fn a_file_cut_off_anywhere_is_refused() {
    for end in 0..SMALL.len() - 1 {
        assert!(Table::read(&labelled(""), "x", &SMALL.as_bytes()[..end]).is_err(), "{end}");
    }
}
