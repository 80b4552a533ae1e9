//! An experiment in a file of the user: from its text to the report, and refused files with their messages.

use std::fs;

use crate::process::{made_folder as folder, printed, said};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/my_experiment.toml");

#[test]
fn the_example_runs_and_its_claims_are_checked() {
    let example = fs::read_to_string(EXAMPLE).expect("the example");
    assert!(include_str!("../../../docs/book/src/own-experiment.md").contains(&example), "shown in the book");
    let folder = folder("example");
    let out = folder.to_str().expect("a path in words");
    let listed = printed(&["figures", EXAMPLE, "--list"]);
    assert!(listed.starts_with("my-experiment: ") && listed.contains("user experiment, "), "{listed}");
    assert!(
        listed.contains("quick    16 jobs, 4 replicates, 1000 steps") && !listed.contains("paper"),
        "{listed}"
    );
    assert!(printed(&["figures", "--list"]).contains("figures my_experiment.toml"));
    let figures = ["figures", EXAMPLE, "--preset", "quick", "--out", out];
    let first = printed(&figures);
    assert!(first.contains("my-experiment: 16 jobs, 16 to run"), "{first}");
    assert!(first.contains("explorations: 2 agree, 1 disagrees\n") && !first.contains("claims: "), "{first}");
    // A lost result is the only one that is computed again.
    let results = folder.join("results/my-experiment");
    assert_eq!(fs::read_to_string(results.join("experiment.toml")).expect("settings"), example);
    let files = fs::read_dir(&results).expect("results").flatten().map(|file| file.path());
    let lost = files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).min();
    fs::remove_file(lost.expect("a result")).expect("removed");
    assert!(printed(&figures).contains("my-experiment: 16 jobs, 1 to run"));
    let report = folder.join("report");
    for name in ["kl.png", "kl.svg", "end.png", "ends.csv"] {
        assert!(report.join(format!("my-experiment-{name}")).is_file(), "{name}");
    }
    assert_eq!(
        fs::read_to_string(report.join("my-experiment-ends.csv")).expect("a table").lines().count(),
        5
    );
    let page = fs::read_to_string(report.join("ours.html")).expect("a page");
    for words in
        ["user experiment", "Parallel chains and importance sampling", "At the end", "the greatest of 2"]
    {
        assert!(page.contains(words), "{words}");
    }
    let claims = printed(&["claims", EXAMPLE, "--preset", "quick", "--out", out]);
    assert!(claims.contains("  disagree             On the correlated Gaussian"), "{claims}");
    assert!(claims.contains("less that of SNIS, the greatest of 2, 90 % interval ["), "{claims}");
    // Beside ours, and refused at a preset that it does not have.
    assert!(
        printed(&["claims", EXAMPLE, "ours/gaussian", "--preset", "quick", "--out", out])
            .contains("ours/gaussian: 0 rep")
    );
    let (code, words) = said(&["claims", EXAMPLE, "--preset", "paper", "--out", out]);
    assert!(code == 2 && words.contains("[preset.paper] is missing"), "{words}");
}

/// Replaced text of the example, its replacement, in which @ is the text, and parts of the message.
const MALFORMED: [(&str, &str, &str); 40] = [
    ("points =", "pionts =", "line 20 | pionts"),
    ("chains = 10", "chain = 10", "unknown field `chain`"),
    ("kind = \"standard\"", "@, mean = 3.0", "fits.start.mean"),
    ("[preset.quick]", "@\nfewer = { 'jsa on pima' = 1 }", "preset.quick.fewer | jsa on pima"),
    ("[[fits.target]]", "[fits.start-of]\njsa = { kind = 'standard' }\n@", "fits.start-of.jsa"),
    ("[preset.quick]", "[[figure]]\nname = 'f'\nmetric = 'kll'\n@", "[[figure]] \"f\" | kll"),
    (
        "[preset.quick]",
        "[[figure]]\nname = 'f'\nmetric = 'kl'\ncolour = 'red'\n@",
        "[[figure]] \"f\" | colour",
    ),
    (
        "[preset.quick]",
        "[[figure]]\nname = 'f'\nmetric = 'kl'\nwhere = { method = 'jsa' }\n@",
        "no job has method = \"jsa\"",
    ),
    (
        "[preset.quick]",
        "[[table]]\nname = 't'\ntitle = 't'\ncolumns = [{ title = 'KL', metrics = ['kll'] }]\n@",
        "[[table]] \"t\" | kll",
    ),
    ("title =", "titel =", "line 4 | unknown field `titel`"),
    ("id = \"my-experiment\"\n", "", "missing field `id`"),
    ("my-experiment", "../elsewhere", "\"../elsewhere\" | letters, digits, - and _"),
    (
        "\"my-experiment\"",
        "\"ours/gaussian\"",
        "\"ours/gaussian\" is the name of an experiment of the repository",
    ),
    ("seed = 1", "seed = -1", "line 5 | invalid value: integer `-1`"),
    ("[preset.quick]", "[preset.swift]", "unknown variant `swift` | `quick`, `default`, `paper`"),
    ("replicates = 4", "replicates = 0", "line 9 | preset.quick: replicates and steps are at least 1"),
    ("steps = 1000\n", "@targets = [\"banana\"]\n", "line 9 | preset.quick.targets: no \"banana\""),
    ("[fits]", "[exhibit]\n@", "an [exhibit] has no jobs"),
    ("[[fits.target]]", "[[fits.taget]]", "line | unknown field `taget`"),
    ("kind = \"pmcsa\"", "kind = \"pmsca\"", "line 34 | [[fits.method]] | unknown variant `pmsca`"),
    ("samples = 10", "smaples = 10", "line 38 | [[fits.method]] | unknown field `smaples`"),
    ("chains = 10", "@\non = [\"banana\"]", "on = \"banana\" | no [[fits.target]] is called so"),
    ("rate = 0.01", "rate = -1", "line 42 | rate is -1, expected positive and finite"),
    ("[[fits.optimizer]]\nkind = \"adam\"\nrate = 0.01\n", "", "missing field `optimizer`"),
    ("correlation = 0.2", "correlation = \"high\"", "line 22 | [[fits.target]] | invalid type"),
    ("at-most = 0.5", "at_most = 0.5", "line 56 | unknown field `at_most` | `at-most`"),
    ("[claims]", "@\nbudget = 1", "unknown field `budget` | `citation`, `metric`"),
    ("at-most = 0.5", "", "number 1, line 52 | exactly one of at-least, at-most and within"),
    ("at-most = 0.5", "at-most = nan", "line 52 | a border is NaN"),
    ("metric = \"kl\"\n", "", "line 51 | the key metric is missing"),
    ("of = \"pmcsa\"\nat-most", "at-most", "line 52 | either of, with or without against"),
    ("of = \"pmcsa\"\nat-most", "of = 3\nat-most", "line 52 | of = 3: a kind of method"),
    ("of = \"pmcsa\"\nat-most", "of = \"jsa\"\nat-most", "line 52 | method = \"jsa\"; there are pmcsa, snis"),
    ("target = \"correlated-gaussian\" }", "data = \"pima\" }", "line 52 | no job has a setting \"data\""),
    ("target = \"correlated-gaussian\" }", "budget = 10 }", "line 52 | 2 jobs have | they differ in target"),
    ("against = \"snis\"", "against = \"pmcsa\"", "line 59 | nothing is compared"),
    ("summary = \"mean\"", "summary = \"each\"", "line 52 | it needs interval = \"none\""),
    ("{ at = 900 }", "{ at = 910 }", "line 68 | step 910 is not recorded; the nearest is 900"),
    ("at-least = 0.3", "check = \"half_time\"", "line 68 | against, of, where belongs to a comparison"),
    (
        "where = { target = \"correlated-gaussian\" }\nof = \"pmcsa\"\nat-most = 0.5",
        "check = \"x\"",
        "line 52 | no check of this name",
    ),
];

#[test]
fn a_malformed_file_is_refused_with_name_line_and_key() {
    let (folder, text) = (folder("malformed"), fs::read_to_string(EXAMPLE).expect("the example"));
    let file = folder.join("bad.toml");
    let path = file.to_str().expect("a path in words");
    for (from, to, parts) in MALFORMED {
        assert!(text.contains(from), "{from}");
        fs::write(&file, text.replacen(from, &to.replace('@', from), 1)).expect("written");
        let (code, words) = said(&["figures", path, "--list"]);
        assert_eq!(code, 2, "{to}: {words}");
        assert!(words.contains(path), "{to}: {words}");
        for part in parts.split(" | ") {
            assert!(words.contains(part), "{to}: {part}: {words}");
        }
    }
    // Not TOML, not text, not there, twice.
    fs::write(&file, "id = ").expect("written");
    assert!(said(&["figures", path]).1.contains("line 1"));
    fs::write(&file, b"id = \xff").expect("written");
    assert!(said(&["figures", path]).1.contains("not text in UTF-8: byte 6 is the first that is not"));
    fs::remove_file(&file).expect("removed");
    assert!(said(&["figures", path]).1.contains("cannot be read"));
    assert!(said(&["figures", EXAMPLE, EXAMPLE, "--list"]).1.contains("is the name of another given file"));
}
