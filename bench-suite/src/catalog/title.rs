//! What people call a target or a method with its settings.

use serde::Serialize;

use super::{Method, Target};

impl Target {
    /// The label and every setting that is a number: `correlated-gaussian, correlation 0.2, dim 10`.
    pub fn title(&self) -> String {
        titled(self.label(), self)
    }
}

impl Method {
    /// The kind and every setting: `pmcsa, chains 10`.
    pub fn title(&self) -> String {
        titled(self.kind(), self)
    }
}

fn titled(name: &str, settings: &impl Serialize) -> String {
    let mut title = name.to_owned();
    if let Ok(serde_json::Value::Object(settings)) = serde_json::to_value(settings) {
        let numbers = settings.iter().filter(|(_, value)| value.is_number());
        numbers.for_each(|(key, value)| title.push_str(&format!(", {} {value}", key.replace('_', " "))));
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_told() {
        let target = Target::CorrelatedGaussian { dim: 10, correlation: 0.2 };
        assert_eq!(target.title(), "correlated-gaussian, correlation 0.2, dim 10");
        assert_eq!(Method::Pmcsa { chains: 4 }.title(), "pmcsa, chains 4");
    }
}
