//! Display names of targets and methods with their settings.

use serde::Serialize;

use super::{Method, Target};

impl Target {
    /// Label and all numerical settings: `correlated-gaussian, correlation 0.2, dim 10`.
    pub fn title(&self) -> String {
        match self {
            Self::Case { case } => case.title(),
            _ => titled(self.label(), self),
        }
    }
}

impl Method {
    /// Kind and all settings: `pmcsa, chains 10`.
    pub fn title(&self) -> String {
        match self {
            Self::Inference { entrant } => entrant.title(),
            _ => titled(self.kind(), self),
        }
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
