//! Parser of the command line.

use crate::verbs::{self, VERBS, Verb};

/// A parsed command line.
pub(crate) enum Request<'a> {
    /// List the verbs.
    Overview,
    /// Explain one verb.
    Help(&'static Verb),
    /// Run one verb with the arguments that follow it.
    Run(&'static Verb, &'a [String]),
}

/// Reads the arguments after the program's name; the error is a sentence for the user.
///
/// `--help` asks for help only before a bare `--`; arguments after it are passed to the program that the verb starts.
pub(crate) fn parse(arguments: &[String]) -> Result<Request<'_>, String> {
    let Some((first, rest)) = arguments.split_first() else {
        return Err(format!("no verb given\n\n{}", verbs::overview()));
    };
    match first.as_str() {
        "-h" | "--help" => Ok(Request::Overview),
        "help" => match rest {
            [] => Ok(Request::Overview),
            [name] => verb(name).map(Request::Help),
            _ => Err("help takes one verb".into()),
        },
        name => {
            let verb = verb(name)?;
            let ours = rest.iter().take_while(|argument| *argument != "--");
            if ours.into_iter().any(|a| a == "-h" || a == "--help") {
                return Ok(Request::Help(verb));
            }
            (verb.check)(rest)?;
            Ok(Request::Run(verb, rest))
        }
    }
}

fn verb(name: &str) -> Result<&'static Verb, String> {
    VERBS.iter().find(|verb| verb.name == name).ok_or_else(|| match nearest(name) {
        Some(verb) => format!("no verb `{name}`; did you mean `{}`?", verb.name),
        None => format!("no verb `{name}`; `cargo xtask --help` lists them"),
    })
}

/// The verb with the smallest edit distance to `name`, if that distance is at most half the length of the verb's name.
fn nearest(name: &str) -> Option<&'static Verb> {
    VERBS
        .iter()
        .map(|verb| (distance(name, verb.name), verb))
        .filter(|(distance, verb)| *distance <= verb.name.len().div_ceil(2))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, verb)| verb)
}

/// Levenshtein distance: the fewest insertions, deletions and replacements that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    /// The error message for a command line that must be refused.
    fn complaint(line: &str) -> String {
        parse(&words(line)).err().expect("refused")
    }

    #[test]
    fn a_verb_runs_with_what_follows_it() {
        let arguments = words("bench imh --quick");
        let Ok(Request::Run(verb, rest)) = parse(&arguments) else {
            panic!("bench was not understood");
        };
        assert_eq!((verb.name, rest), ("bench", &arguments[1..]));
    }

    #[test]
    fn help_is_found_wherever_it_is_asked_for() {
        for line in ["--help", "-h", "help"] {
            assert!(matches!(parse(&words(line)), Ok(Request::Overview)));
        }
        for line in ["help tidy", "tidy --help", "tidy -h"] {
            let arguments = words(line);
            assert!(matches!(parse(&arguments), Ok(Request::Help(verb)) if verb.name == "tidy"));
        }
        let beyond = words("figures -- --help");
        assert!(matches!(parse(&beyond), Ok(Request::Run(..))));
    }

    #[test]
    fn a_slip_of_the_finger_is_answered_with_the_nearest_verb() {
        for (typed, meant) in [("tset", "test"), ("tidi", "tidy"), ("figure", "figures")] {
            assert!(complaint(typed).contains(&format!("`{meant}`?")), "{typed}");
        }
        assert!(complaint("photosynthesis").contains("--help"));
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["", "help ci tidy", "tidy now", "ci --keepgoing", "help nothing"] {
            assert!(parse(&words(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "ci"), 2);
        assert_eq!(distance("tidy", "tidy"), 0);
    }
}
