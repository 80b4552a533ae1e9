//! Configurations a fit belongs to, as text.

use mcsa_core::{Error, checksum, type_name};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// Number of characters up to which a configuration is kept in full; a longer one is kept with its length and checksum.
const LONGEST: usize = 600;

/// The configurations of a fit and the type names of its states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Configs {
    target: String,
    family: String,
    estimator: String,
    optimizer: String,
    states: [String; 2],
}

/// Deserialises configurations and checks the state types, before the states themselves are read.
pub(crate) fn read<'de, S, O, D: Deserializer<'de>>(deserializer: D) -> Result<Configs, D::Error> {
    let read = Configs::deserialize(deserializer)?;
    let states = [type_name::<S>(), type_name::<O>()];
    if read.states == states {
        return Ok(read);
    }
    let ([estimator, optimizer], [of_estimator, of_optimizer]) = (&read.states, &states);
    Err(D::Error::custom(format!(
        "the fit was made by {} with {}, whose states are {estimator} and {optimizer}; it is read as one with states \
         {of_estimator} and {of_optimizer}: read it for the estimator and the optimizer that made it",
        read.estimator, read.optimizer
    )))
}

impl Configs {
    /// Configurations of a fit with states of types `S` and `O`.
    pub(crate) fn of<P: ?Sized, S, O>(family: String, estimator: String, optimizer: String) -> Self {
        Self {
            target: short(type_name::<P>()),
            family: short(family),
            estimator: short(estimator),
            optimizer: short(optimizer),
            states: [type_name::<S>(), type_name::<O>()],
        }
    }

    /// Checks that a fit with these configurations can continue under `new` ones.
    ///
    /// # Errors
    /// If one differs. The message names it, both values and a remedy.
    pub(crate) fn same(&self, new: &Self) -> Result<(), Error> {
        let start = "start a new fit instead, from its params if they mean the same";
        same("target", &self.target, &new.target, start)?;
        same("family", &self.family, &new.family, start)?;
        let adopt = "go on with the former, or change it on purpose by Ascent::adopt";
        same("estimator", &self.estimator, &new.estimator, adopt)?;
        same("optimizer", &self.optimizer, &new.optimizer, adopt)
    }

    /// Checks that estimator and optimiser may be replaced by those of `new`.
    ///
    /// # Errors
    /// If target or family differ.
    pub(crate) fn may_become(&self, new: &Self) -> Result<(), Error> {
        let new = Self { target: new.target.clone(), family: new.family.clone(), ..self.clone() };
        self.same(&new)
    }
}

fn same(what: &str, old: &str, new: &str, advice: &str) -> Result<(), Error> {
    if old == new {
        return Ok(());
    }
    let (was, is) = difference(old, new);
    Err(Error::invalid(format!("the fit was made with another {what}: it had `{was}`, not `{is}`; {advice}")))
}

/// The differing entries of two configurations, from the first to the last.
fn difference<'t>(old: &'t str, new: &'t str) -> (&'t str, &'t str) {
    let same = old.char_indices().zip(new.chars()).take_while(|((_, a), b)| a == b);
    let head = same.last().map_or(0, |((k, a), _)| k + a.len_utf8());
    let start = old[..head].rfind(['{', ',']).map_or(0, |k| k + 1);
    let most = old.len().min(new.len()) - head;
    let pairs = old.char_indices().rev().zip(new.chars().rev());
    let tail = pairs.take_while(|((k, a), b)| a == b && old.len() - k <= most).last();
    let tail = tail.map_or(0, |((k, _), _)| old.len() - k);
    let cut = |text: &'t str| {
        let from = text.len() - tail;
        let end = text[from..].find(['}', ',']).map_or(text.len(), |k| from + k);
        text[start..end].trim()
    };
    match (cut(old), cut(new)) {
        ("", _) | (_, "") => (old, new),
        entries => entries,
    }
}

fn short(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let head: String = text.chars().take(LONGEST / 2).collect();
    format!("{head} .. ({} letters, checksum {:016x})", text.len(), checksum(text.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_that_differs_is_named() {
        let adam = |rate: &str| format!("Adam(Settings {{ rate: {rate}, first: 0.9, second: 0.999 }})");
        assert_eq!(difference(&adam("0.01"), &adam("0.001")), ("rate: 0.01", "rate: 0.001"));
        assert_eq!(difference(&adam("Constant(0.5)"), &adam("Constant(0.25)")).1, "rate: Constant(0.25)");
        assert_eq!(difference("Sgd { rate: 1.0 }", "Adam"), ("Sgd { rate: 1.0 }", "Adam"));
        assert_eq!(difference("A { k: 1 }", "A { k: 11 }"), ("k: 1", "k: 11"));
        assert_eq!(difference("{a, a, b}", "{a, b}"), ("a, b", "b"));
        assert_eq!(difference("MeanField", "MeanField { dim: 1 }"), ("MeanField", "MeanField { dim: 1 }"));
        let error = same("optimizer", &adam("0.1"), &adam("0.2"), "go on").unwrap_err().to_string();
        assert_eq!(
            error,
            "the fit was made with another optimizer: it had `rate: 0.1`, not `rate: 0.2`; go on"
        );
    }

    #[test]
    fn long_configurations_are_told_apart_by_their_ends() {
        let long = |end: &str| short(format!("{}{end}", "é".repeat(500)));
        assert_eq!(long("a"), long("a"));
        assert!(long("a") != long("b") && long("a").len() < 1_000);
        assert_eq!(short("Imh".into()), "Imh");
    }
}
