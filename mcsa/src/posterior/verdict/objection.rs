//! Objections of witnesses to a fit.

use std::fmt;

use mcsa_core::{bits, counted};
use serde::{Deserialize, Serialize};

use crate::posterior::rule::RULE;

/// Objection to the result of a fit, with the numbers behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "witness", rename_all = "kebab-case")]
pub enum Objection {
    /// The gradient is not that of the log density.
    Gradient {
        /// Name of the parameter.
        name: String,
        /// Entry of the gradient.
        #[serde(with = "bits::decimal")]
        given: f64,
        /// Central difference of the log density.
        #[serde(with = "bits::decimal")]
        by_differences: f64,
    },
    /// The log density at one point differs from one evaluation to the next.
    Random {
        /// Log density by the first evaluation.
        #[serde(with = "bits::decimal")]
        first: f64,
        /// Log density by the second evaluation.
        #[serde(with = "bits::decimal")]
        second: f64,
    },
    /// The weights are too uneven: their tail is heavy or not known to be light, or their effective sample size is below 400.
    Weights {
        /// k-hat.
        #[serde(with = "bits::decimal")]
        shape: f64,
        /// Its threshold.
        #[serde(with = "bits::decimal")]
        threshold: f64,
        /// Effective sample size.
        #[serde(with = "bits::decimal")]
        sample_size: f64,
        /// Number of draws.
        draws: usize,
    },
    /// The tail of weights times squared deviations of a parameter is heavy.
    Spread {
        /// Name of the parameter.
        name: String,
        /// k-hat of the products.
        #[serde(with = "bits::decimal")]
        shape: f64,
        /// Its threshold.
        #[serde(with = "bits::decimal")]
        threshold: f64,
    },
    /// A mode search ended at a point to which q gives almost no density.
    Start {
        /// Log weight at the point, less the log evidence.
        #[serde(with = "bits::decimal")]
        log_weight: f64,
        /// Number of ascents that ended there.
        reached: usize,
        /// Number of ascents.
        made: usize,
    },
    /// Mode searches passed points with mass around them to which q gives almost no density.
    Passed {
        /// Largest log weight at such a point, less the log evidence.
        #[serde(with = "bits::decimal")]
        log_weight: f64,
        /// Number of such points, of the ten that were looked at and those of earlier looks.
        points: usize,
        /// Number of ascents.
        made: usize,
    },
    /// Chains disagree with each other: those of another kernel, or those that are the answer.
    Mixing {
        /// Name of the parameter.
        name: String,
        /// R-hat.
        #[serde(with = "bits::decimal")]
        r_hat: f64,
    },
    /// Chains of another kernel disagree with the weighted draws.
    Moments {
        /// Name of the parameter.
        name: String,
        /// Mean of the weighted draws less that of the chains, in standard deviations; if `of_variance`, the relative difference
        /// of variances.
        #[serde(with = "bits::decimal")]
        difference: f64,
        /// The difference in standard errors.
        #[serde(with = "bits::decimal")]
        z: f64,
        /// True if variances differ.
        of_variance: bool,
    },
    /// Chains of another kernel stay where q has too little mass.
    Missed {
        /// Largest mean log weight of a chain, less the log evidence.
        #[serde(with = "bits::decimal")]
        log_weight: f64,
        /// Number of such chains; 0 if only the `offset` is too large.
        chains: usize,
        /// Number of chains, without those that never came near the mass of p.
        of: usize,
        /// Mean log weight of all chains, less that of the weighted draws.
        #[serde(with = "bits::decimal", default)]
        offset: f64,
    },
    /// Draws of stretched copies of q give a parameter a larger variance than draws of q.
    WiderProposals {
        /// Name of the parameter.
        name: String,
        /// Variance by all draws, stretched copies included, over that by draws of q alone.
        #[serde(with = "bits::decimal")]
        ratio: f64,
    },
    /// The density falls too slowly along a line for moments to exist.
    Tail {
        /// Name of the parameter, or of the direction.
        name: String,
        /// Exponent a of the fall: the density is about `r^-a` at a large distance r.
        #[serde(with = "bits::decimal")]
        fall: f64,
    },
    /// The log density was NaN or `+inf` at draws of q.
    NonFinite {
        /// Number of such draws.
        draws: usize,
        /// Number of draws.
        of: usize,
    },
    /// A limit ended the starts.
    Starts {
        /// Number of ascents made.
        made: usize,
        /// Requested number of ascents.
        of: usize,
    },
    /// Tempering ended before the target: by the budget of evaluations, its number of rungs, or degenerate moments.
    Tempering {
        /// Exponent of the target that was reached; 1 is the target.
        #[serde(with = "bits::decimal")]
        exponent: f64,
    },
    /// A limit ended the fit before a check.
    Unverified {
        /// The check.
        check: Check,
        /// True if the limit is that of time, false if it is that of evaluations.
        by_time: bool,
    },
    /// A limit ended the draws.
    Draws {
        /// Number of draws made.
        made: usize,
        /// Requested number of draws.
        of: usize,
    },
    /// Chains that are the answer have too few effective draws of a parameter.
    Slow {
        /// The parameter.
        name: String,
        /// Effective sample size of its mean or of its squared deviation, the smaller.
        #[serde(with = "bits::decimal")]
        sample_size: f64,
    },
    /// Steps of chains that are the answer diverged.
    Divergences {
        /// Number of divergent steps.
        steps: u64,
        /// Number of steps.
        of: u64,
    },
    /// Averages over the chains that are the answer violate Stein's identities, which hold for every smooth density on the whole
    /// space.
    Stein {
        /// Violation in units of its limit.
        #[serde(with = "bits::decimal")]
        excess: f64,
    },
    /// The budget of evaluations ended before the climb settled.
    Budget,
    /// The time ended before the climb settled.
    Time,
    /// The fit was interrupted before its verdict.
    Interrupted,
}

/// Check that a limit may leave undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Comparison of the gradient with differences of the log density.
    Gradient,
    /// Chains of another kernel.
    Chains,
    /// Draws of stretched copies of q.
    WiderProposals,
    /// Fall of the density along rays.
    Tails,
    /// Chains from modes that the chains of the answer do not visit.
    Modes,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gradient => "the check of the gradient",
            Self::Chains => "the check by chains of another kernel",
            Self::WiderProposals => "the check by draws that reach farther out",
            Self::Tails => "the check of the tails",
            Self::Modes => "the check for modes beside the chains",
        })
    }
}

impl Objection {
    /// The objection that a check is missing because of the limit of another one.
    pub(crate) const fn unverified(check: Check, limit: &Self) -> Self {
        Self::Unverified { check, by_time: matches!(limit, Self::Time) }
    }

    /// True if the density has no integral.
    pub(crate) fn is_improper(&self) -> bool {
        matches!(self, Self::Tail { fall, .. } if *fall <= RULE.integrable)
    }

    /// True if the density or its gradient is at fault, and other objections may follow from this one.
    pub(crate) fn is_to_model(&self) -> bool {
        matches!(self, Self::Gradient { .. } | Self::Random { .. } | Self::NonFinite { .. })
            || self.is_improper()
    }

    /// True if a limit ended the fit.
    pub(crate) const fn is_limit(&self) -> bool {
        matches!(self, Self::Budget | Self::Time | Self::Interrupted)
    }

    /// What to do about it.
    pub const fn advice(&self) -> &'static str {
        match self {
            Self::Gradient { .. } => "correct the gradient of the parameter that is named",
            Self::Random { .. } => "let the log density depend on the parameters alone",
            Self::NonFinite { .. } => {
                "find where the log density is NaN; outside the support it is minus infinity"
            }
            Self::Tail { .. } => "give every parameter a proper prior with a variance",
            Self::Spread { .. } | Self::WiderProposals { .. } => {
                "use quantiles in place of standard deviations, and look at the tails of the priors"
            }
            Self::Start { .. } | Self::Passed { .. } => {
                "raise the number of starts, and look at the points that they found"
            }
            Self::Missed { .. } | Self::Divergences { .. } => {
                "write effects of groups with many data as they are, and those of groups with few data in units of their scale"
            }
            Self::Stein { .. } => "declare the bounds of parameters, so that the density has the whole space",
            Self::Weights { .. } | Self::Moments { .. } | Self::Mixing { .. } | Self::Slow { .. } => {
                "raise the budget of evaluations, or write the model in other parameters"
            }
            Self::Starts { .. }
            | Self::Tempering { .. }
            | Self::Unverified { .. }
            | Self::Draws { .. }
            | Self::Budget
            | Self::Time => "raise the limit of evaluations or of time",
            Self::Interrupted => "let the fit go on from its state",
        }
    }

    /// True if another q may remove the objection.
    pub(crate) const fn is_to_q(&self) -> bool {
        matches!(
            self,
            Self::Weights { .. }
                | Self::Spread { .. }
                | Self::Start { .. }
                | Self::Passed { .. }
                | Self::Mixing { .. }
                | Self::Moments { .. }
                | Self::Missed { .. }
                | Self::WiderProposals { .. }
        )
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gradient { name, given, by_differences } => write!(
                f,
                "the gradient is not that of the log density: for {name} it gives {}, differences give {}; \
                 it was not used",
                brief(*given, 6),
                brief(*by_differences, 6)
            ),
            Self::Random { first, second } => write!(
                f,
                "the log density is random: at one point it was {first} and then {second}; the fit needs a function of the parameters \
                 alone"
            ),
            Self::Spread { name, shape, threshold } => write!(
                f,
                "the spread of {name} rests on a few draws far out: k-hat of weight times squared deviation {shape:.2} (limit {threshold:.2})"
            ),
            Self::Weights { shape, threshold, sample_size, draws } => {
                let limit =
                    if shape < threshold { String::new() } else { format!(" (limit {threshold:.2})") };
                write!(
                    f,
                    "the weights of the draws are uneven: k-hat {shape:.2}{limit}, effective sample size {sample_size:.0} of {draws}{}",
                    least(*sample_size)
                )
            }
            Self::Start { log_weight, reached, made } => write!(
                f,
                "{reached} of {made} starts found a mode to which the fit gives almost no density: the density there is e^{} \
                 times that of the fit",
                brief(*log_weight, 1)
            ),
            Self::Passed { log_weight, points, made } => write!(
                f,
                "{made} starts passed {} with mass to which the fit gives almost no density: the density there is up to e^{} times \
                 that of the fit",
                counted(*points, "point"),
                brief(*log_weight, 1)
            ),
            Self::Mixing { r_hat, .. } if !r_hat.is_finite() => f.write_str(
                "chains of another kernel found no point of weight: their log densities are not finite",
            ),
            Self::Mixing { name, r_hat } => {
                write!(f, "chains from different starts disagree in {name}: R-hat {}", brief(*r_hat, 2))
            }
            Self::Moments { name, difference, z, of_variance } => {
                let (what, unit) =
                    if *of_variance { ("variance", "of it") } else { ("mean", "standard deviations") };
                let from_draws = -difference;
                let sign = if from_draws > 0.0 { "+" } else { "" };
                write!(
                    f,
                    "chains of another kernel put the {what} of {name} {sign}{} {unit} from that of the draws, {z:.1} standard errors",
                    brief(from_draws, 2)
                )
            }
            Self::Missed { chains: 0, offset, .. } => write!(
                f,
                "chains of another kernel find more mass than the fit has: their mean log weight is {offset:.2} above that of the draws"
            ),
            Self::Missed { log_weight, chains, of, .. } => write!(
                f,
                "{chains} of {of} chains of another kernel stay where the fit has too little mass: the density there is some e^{} times that of the fit",
                brief(*log_weight, 2)
            ),
            Self::WiderProposals { name, ratio } => write!(
                f,
                "draws that reach farther out give {name} a variance {} times that of the fit: mass lies beyond its draws",
                brief(*ratio, 2)
            ),
            Self::Tail { name, fall } if *fall <= 0.0 => {
                write!(f, "the density does not fall along {name}: the posterior is improper")
            }
            Self::Tail { name, fall } => {
                let missing = match fall {
                    _ if self.is_improper() => "an integral: the posterior is improper",
                    fall if *fall <= 2.02 => "a mean: quantiles alone can be used",
                    fall if *fall <= 3.02 => "a variance",
                    _ => "a variance that draws can show",
                };
                write!(f, "the density falls like r^{:.2} along {name}, too slowly to have {missing}", -fall)
            }
            Self::NonFinite { draws, of } => {
                write!(f, "the log density is NaN or +inf at {draws} of {of} draws, which were left out")
            }
            Self::Starts { made, of } => {
                write!(f, "a limit of evaluations or time ended the starts after {made} of {of}")
            }
            Self::Tempering { exponent } => {
                write!(
                    f,
                    "tempering ended at the exponent {}, of 1: the budget or its rungs did not suffice, or its draws degenerated",
                    if *exponent < 1e-3 { format!("{exponent:.1e}") } else { format!("{exponent:.3}") }
                )
            }
            Self::Unverified { check, by_time } => {
                let limit = if *by_time { "the time" } else { "the budget of evaluations" };
                write!(f, "not verified: {limit} ended before {check}")
            }
            Self::Draws { made, of } => {
                write!(f, "a limit of evaluations or time ended the draws after {made} of {of}")
            }
            Self::Slow { name, sample_size } => {
                write!(
                    f,
                    "chains move slowly in {name}: effective sample size {sample_size:.0}{}",
                    least(*sample_size)
                )
            }
            Self::Divergences { steps, of } => write!(
                f,
                "{steps} of {of} steps of the chains diverged: a part of the posterior is too narrow for them; give the scales of a hierarchy \
                 other coordinates"
            ),
            Self::Stein { excess } => write!(
                f,
                "averages of the gradient over the chains miss what holds for every density by {} times the limit: chains stop short of a \
                 part of the posterior",
                brief(*excess, 2)
            ),
            Self::Budget => f.write_str("the budget ended before the weights had settled"),
            Self::Time => f.write_str("the time ended before the weights had settled"),
            Self::Interrupted => f.write_str("the fit was interrupted before its verdict: no check was run"),
        }
    }
}

/// A number with some decimals, or with a power of ten if it is large.
fn brief(x: f64, decimals: usize) -> String {
    if x.abs() < 1e5 { format!("{x:.decimals$}") } else { format!("{x:.*e}", decimals.max(2) - 1) }
}

/// The limit of an effective sample size that is below it.
fn least(sample_size: f64) -> String {
    if sample_size >= RULE.fewest { String::new() } else { format!(" (least {:.0})", RULE.fewest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_what_was_found() {
        let missed =
            |chains, log_weight, offset| Objection::Missed { log_weight, chains, of: 16, offset }.to_string();
        assert!(missed(2, 1e50, 9.0).ends_with(
            "2 of 16 chains of another kernel stay where the fit has too little mass: the density there is some e^1.0e50 times that of the fit"
        ));
        let gradient =
            |given| Objection::Gradient { name: "p[5]".into(), given, by_differences: -0.25 }.to_string();
        assert!(gradient(1.5).contains("for p[5] it gives 1.500000, differences give -0.250000;"));
        assert!(gradient(-8.0741556e99).contains("for p[5] it gives -8.07416e99, differences"));
        let passed = |log_weight| Objection::Passed { log_weight, points: 3, made: 100 }.to_string();
        assert!(passed(41.27).contains("e^41.3 times") && passed(1.27e40).contains("e^1.3e40 times"));
        assert!(missed(0, 0.4, 0.31).ends_with("their mean log weight is 0.31 above that of the draws"));
        let mixing = |r_hat| Objection::Mixing { name: "tau".into(), r_hat }.to_string();
        assert!(mixing(1.5).ends_with("in tau: R-hat 1.50"));
        assert!(!mixing(f64::NEG_INFINITY).contains("inf"));
        let moments = |difference| {
            Objection::Moments { name: "tau".into(), difference, z: 5.0, of_variance: false }.to_string()
        };
        assert!(
            moments(0.25).contains("tau -0.25 standard") && moments(-0.25).contains("tau +0.25 standard")
        );
        let weights = |shape, sample_size| {
            Objection::Weights { shape, threshold: 0.63, sample_size, draws: 500 }.to_string()
        };
        assert!(weights(0.43, 201.0).ends_with("k-hat 0.43, effective sample size 201 of 500 (least 400)"));
        assert!(weights(0.75, 410.0).ends_with("k-hat 0.75 (limit 0.63), effective sample size 410 of 500"));
        assert!(
            weights(f64::NAN, f64::NAN)
                .ends_with("(limit 0.63), effective sample size NaN of 500 (least 400)")
        );
        let tempering = |exponent| Objection::Tempering { exponent }.to_string();
        assert!(
            tempering(0.955).contains("exponent 0.955, of 1") && tempering(1e-7).contains("exponent 1.0e-7")
        );
    }
}
