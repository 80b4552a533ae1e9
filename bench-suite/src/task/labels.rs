//! Labels of settings, by which claims, figures and tables select jobs.

use mcsa_core::Error;
use serde::Serialize;
use serde_json::Value as Json;

use crate::catalog::{Case, Target};
use crate::grid::Placed;

/// Labels of an experiment. They are no part of its tasks: a label changes no job, seed or result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Labels(Vec<(&'static str, Json, String)>);

impl Labels {
    /// Labels of the cases of a section.
    pub(super) fn of_cases(cases: Vec<Placed<Case>>) -> Self {
        let mut labels = Self::default();
        let targets: Vec<_> =
            cases.into_iter().map(|placed| placed.map(|case| Target::Case { case })).collect();
        labels.add("target", &targets);
        labels
    }

    /// Adds the labels of values of one setting, such as `method`.
    pub(super) fn add<'p, T: Serialize + 'p>(
        &mut self,
        setting: &'static str,
        placed: impl IntoIterator<Item = &'p Placed<T>>,
    ) {
        let labelled = placed.into_iter().filter_map(|placed| Some((placed, placed.label()?)));
        let entry = |(placed, label): (&Placed<T>, &str)| {
            (setting, serde_json::to_value(&placed.value).unwrap_or_default(), label.to_owned())
        };
        self.0.extend(labelled.map(entry));
    }

    /// Refuses two labels for one value: a job would have both.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for (k, (setting, value, label)) in self.0.iter().enumerate() {
            if let Some((.., other)) =
                self.0[..k].iter().find(|(s, v, l)| s == setting && v == value && l != label)
            {
                return Err(Error::invalid(format!("one {setting} has the labels {other:?} and {label:?}")));
            }
        }
        Ok(())
    }

    /// The label of a value of a setting.
    pub fn of(&self, setting: &str, value: &Json) -> Option<&str> {
        let is_it = |(known, of, _): &&(&'static str, Json, String)| *known == setting && of == value;
        self.0.iter().find(is_it).map(|(.., label)| label.as_str())
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Experiment, PresetName};
    use crate::registry::REGISTRY;

    #[test]
    fn a_label_changes_no_job_and_two_labels_of_one_value_are_an_error() {
        let text = &REGISTRY[0].text;
        let plain = Experiment::parse("x.toml", text).unwrap();
        let labelled = text.replacen("kind = \"jsa\"", "kind = \"jsa\"\nlabel = \"one chain\"", 1);
        let labelled =
            labelled.replacen("{ kind = \"standard\" }", "{ kind = \"standard\", label = \"near\" }", 1);
        let found = Experiment::parse("x.toml", &labelled).unwrap();
        let preset = plain.preset(PresetName::Quick).unwrap();
        let tasks = found.tasks(preset).unwrap();
        assert_eq!(tasks, plain.tasks(preset).unwrap());
        let labels = found.labels().unwrap();
        let of = |key: &str, value: serde_json::Value| labels.of(key, &value).map(str::to_owned);
        assert_eq!(of("start", serde_json::json!({ "kind": "standard" })).as_deref(), Some("near"));
        for task in &tasks {
            let label = of("method", serde_json::to_value(task.method()).unwrap());
            assert_eq!(label.is_some(), task.method().kind() == "jsa");
        }
        let twice = "\n[[fits.method]]\nkind = \"jsa\"\ntransitions = 10\nlabel = \"other\"\n";
        let error = Experiment::parse("x.toml", &(labelled + twice)).unwrap_err().to_string();
        assert!(error.contains("one chain") && error.contains("other"), "{error}");
    }
}
