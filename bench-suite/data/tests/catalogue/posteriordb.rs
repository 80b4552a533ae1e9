//! Folder of posteriordb: a small one made up in its format, and broken ones.

use std::path::PathBuf;

use mcsa_data::Posteriordb;

fn carried() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/posteriordb")
}

/// Copy of the carried folder in which `from` is replaced by `to` in one file.
fn broken(test: &str, file: &str, from: &str, to: &str) -> Posteriordb {
    let folder = std::env::temp_dir().join(format!("mcsa-posteriordb-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for entry in std::fs::read_dir(carried()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut text = std::fs::read_to_string(&path).unwrap();
        if name == file {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        std::fs::write(folder.join(name), text).unwrap();
    }
    Posteriordb::open(folder).unwrap()
}

#[test]
fn the_carried_folder_is_read() {
    let folder = Posteriordb::open(carried()).unwrap();
    assert_eq!(folder.names().collect::<Vec<_>>(), ["made_up-flat", "made_up-normal"]);
    let flat = folder.load("made_up-flat").unwrap();
    assert_eq!((flat.x.nrows(), flat.x.ncols(), flat.y.len()), (8, 2, 8));
    assert_eq!((flat.weights, flat.half_cauchy), (vec![None, None], None));
    let normal = folder.load("made_up-normal").unwrap();
    assert_eq!((normal.weights, normal.half_cauchy), (vec![Some((1.0, 2.0)), Some((0.0, 0.5))], Some(2.5)));
    assert_ne!(folder.digest("made_up-flat").unwrap(), folder.digest("made_up-normal").unwrap());
}

#[test]
fn an_absent_folder_says_what_to_get() {
    let error = Posteriordb::open("no-such-folder".into()).unwrap_err();
    let text = error.to_string();
    assert!(
        error.is_absent() && text.contains("MCSA_POSTERIORDB") && text.contains("no-such-folder"),
        "{text}"
    );
    assert!(text.contains("github.com/stan-dev/posteriordb"), "{text}");
}

#[test]
fn malformed_files_are_refused_with_their_place() {
    let refused = |test: &str, file: &str, from: &str, to: &str| {
        broken(test, file, from, to).load("made_up-normal").unwrap_err().to_string()
    };
    let text = refused("cell", "made_up-normal.csv", "2.5,1,", "two,1,");
    assert!(text.contains("made_up-normal.csv, line 3, column y: \"two\" is not a finite number"), "{text}");
    let text = refused("short", "made_up-normal.csv", "2.5,1,", "2.5,");
    assert!(text.contains("line 3: 2 cells, expected 3"), "{text}");
    let text = refused("header", "made_up-normal.csv", "y,x0", "z,x0");
    assert!(text.contains("line 1: expected the header y,x0,x1"), "{text}");
    let text = refused(
        "rows",
        "reference.json",
        "\"rows\": 8, \"columns\": 2, \"beta_prior\": [",
        "\"rows\": 9, \"columns\": 2, \"beta_prior\": [",
    );
    assert!(text.contains("8 rows, expected 9"), "{text}");
    let text = refused("prior", "reference.json", "half-cauchy 2.5", "half-normal 2.5");
    assert!(text.contains("made_up-normal: sigma_prior is \"half-normal 2.5\""), "{text}");
    let text = refused("normal", "reference.json", "[\"normal\", 0.0, 0.5]", "[\"normal\", 0.0, -0.5]");
    assert!(text.contains("made_up-normal: beta_prior[1]"), "{text}");
    let folder = Posteriordb::open(carried()).unwrap();
    assert!(folder.load("other").unwrap_err().to_string().contains("no posterior \"other\""));
}
