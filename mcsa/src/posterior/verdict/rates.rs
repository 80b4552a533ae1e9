//! Error rates of the verdict, as measured on targets whose answers are known.

use std::fmt;

use crate::posterior::rule::RULE;

/// Way to an answer. Each has error rates of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Weighted draws of q, with a gradient.
    Gradient,
    /// Weighted draws of q, by the log density alone.
    Density,
    /// Draws of chains, with a gradient or by differences.
    Chains,
}

/// Error rates of the verdict: numbers of fits and of errors among them.
///
/// An answer is wrong if a mean is off by more than 0.3 standard deviations of the posterior or a standard deviation by more than
/// a factor 1.3. The planted failures are modes far apart, funnels, bananas, tails too heavy for any family, steps of the density,
/// improper posteriors, wrong gradients, and densities that are NaN in a corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Version of the rule with which they were measured.
    pub rule: u32,
    /// The way of the answers.
    pub way: Way,
    /// Fits of planted failures that starts can reach.
    pub planted: usize,
    /// Number of `planted` fits with a wrong answer and the verdict yes.
    pub false_yes: usize,
    /// Upper end of the exact 90 % interval of the share `false_yes / planted`.
    pub at_most: f64,
    /// Fits of posteriors with a mode that fewer than one start in twenty reaches.
    pub hidden: usize,
    /// Number of `hidden` fits with a wrong answer and the verdict yes.
    pub hidden_yes: usize,
    /// Fits of good posteriors with a right answer.
    pub right: usize,
    /// Number of `right` fits with the verdict no.
    pub false_no: usize,
}

impl Rates {
    /// The rates in words, as seen from a yes.
    pub(crate) fn of_yes(self) -> impl fmt::Display {
        let Self { way, planted, false_yes, at_most, hidden, hidden_yes, .. } = self;
        let percent = 100.0 * at_most;
        let (by, wrong) = match way {
            Way::Gradient => ("", ", wrong gradients"),
            Way::Density => ("by the log density alone ", ""),
            Way::Chains => ("that chains answered ", ", wrong gradients"),
        };
        let reachable = format!(
            "in {planted} fits {by}of planted failures (distant modes, funnels, heavy tails, steps, improper posteriors{wrong}, NaN) a \
             wrong answer got yes in {false_yes}, at most {percent:.1} % with 95 % confidence"
        );
        let counts = match hidden {
            0 => String::new(),
            _ => format!(": with such modes yes was wrong in {hidden_yes} of {hidden}"),
        };
        let hidden = format!("A mode that no start reaches cannot be detected{counts}");
        format!("{reachable}{}. {hidden}", self.age())
    }

    /// The rates in words, as seen from a no.
    pub(crate) fn of_no(self) -> impl fmt::Display {
        let Self { way, right, false_no, .. } = self;
        let by = match way {
            Way::Gradient => "",
            Way::Density => " by the log density alone",
            Way::Chains => " by chains",
        };
        format!(
            "On targets with known answers {false_no} of {right} right answers{by} got a no, too{}",
            self.age()
        )
    }

    fn age(self) -> &'static str {
        if self.rule == RULE.number { "" } else { " (measured with an earlier version of the rule)" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::{MEASURED, MEASURED_BY_CHAINS, MEASURED_BY_DENSITY};

    #[test]
    fn rates_of_another_rule_say_so() {
        for (rule, is_earlier) in [(RULE.number, false), (RULE.number + 1, true)] {
            let rates = Rates { rule, ..MEASURED };
            let said = [rates.of_yes().to_string(), rates.of_no().to_string()];
            assert_eq!(said.map(|said| said.contains("earlier")), [is_earlier; 2]);
        }
    }

    #[test]
    fn errors_are_fewer_than_fits() {
        for rates in [MEASURED, MEASURED_BY_DENSITY, MEASURED_BY_CHAINS] {
            let Rates { planted, false_yes, hidden, hidden_yes, right, false_no, at_most, .. } = rates;
            assert!(false_yes <= planted && hidden_yes <= hidden && false_no <= right);
            assert!(false_yes as f64 <= at_most * planted as f64 && at_most <= 1.0);
        }
    }

    #[test]
    fn each_way_quotes_its_own_rates() {
        let said = |has_gradient, by_chains| {
            crate::posterior::Verdict { objections: Vec::new(), has_gradient, by_chains }.to_string()
        };
        let (alone, chains) = ("by the log density alone", "that chains answered");
        assert!(said(false, false).contains(alone) && said(false, true).contains(chains));
        assert!(!said(true, false).contains(alone) && !said(true, false).contains(chains));
    }
}
