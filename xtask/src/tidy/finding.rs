//! Findings: violations of rules.

use std::fmt;

/// A violation of a rule.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) rule: &'static str,
    pub(super) advice: String,
}

impl Finding {
    pub(super) fn new(path: &str, line: usize, rule: &'static str, advice: impl Into<String>) -> Self {
        Self { path: path.into(), line, rule, advice: advice.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, advice } = self;
        write!(f, "{path}:{line}: {rule}: {advice}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_like_a_compiler_message() {
        let finding = Finding::new("core/src/lib.rs", 7, "unwrap", "say why");
        assert_eq!(finding.to_string(), "core/src/lib.rs:7: unwrap: say why");
    }
}
