//! The numbers that decide in a fit, on one page: the rule, whose rates of error are measured.

/// Limits of the decisions and of the verdict. Sizes of work, such as lengths of rounds, are constants of the modules that do the
/// work. An effective share is an effective sample size per draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Version of the rule: to be raised with every change that can turn a yes into a no or a no into a yes.
    pub number: u32,
    // Climbs.
    /// Relative gain of the effective share in a round below which climbing ends.
    pub slow: f64,
    /// Effective share below which chains take over from a climb that a round did not improve, or that has made three rounds.
    pub slowest: f64,
    /// Effective share below which a round shows no gain: five of its thousand draws. After two such rounds in a row chains take
    /// over.
    pub noise: f64,
    /// Effective share below which a larger family is tried.
    pub poor: f64,
    /// k-hat above which a larger family is tried.
    pub heavy: f64,
    /// Ratio of effective shares from which on a larger family has helped.
    pub helped: f64,
    /// Decrease of k-hat from which on a larger family has helped.
    pub lighter: f64,
    /// Share of the evidence below which a mode has no component of a first mixture.
    pub no_component: f64,
    // The verdict on q and its weighted draws.
    /// k-hat of the final draws above which the climb goes on once.
    pub heavy_draws: f64,
    /// k-hat of the draws above which a mixture is tried once although all checks pass.
    pub soft: f64,
    /// As `soft`, of the difference of mean log weights.
    pub soft_offset: f64,
    /// Largest number of mixtures that begin at points of the checks.
    pub mends: usize,
    /// Ratio of effective sample sizes below which the fit before a mixture is the better one.
    pub poorer: f64,
    /// Largest difference of the log evidences of these two fits, in standard errors.
    pub agree: f64,
    /// Log ratio of evidences from which on a tempered start replaces the climbs.
    pub tempered: f64,
    /// Smallest effective sample size of draws, weighted or of chains.
    pub fewest: f64,
    /// Largest k-hat of weight times squared deviation; from 1 on the estimate of the variance has no mean.
    pub spread: f64,
    /// Excess over the largest log weight of the draws from which on an ascent's end lies outside q.
    pub outside: f64,
    /// Share of the evidence, by Laplace's approximation, below which a mode outside q is negligible.
    pub negligible: f64,
    /// Relative change of a variance below which mass that q lacks is negligible. The change is the mass times its squared
    /// distance, in squares of standard deviations.
    pub moment: f64,
    /// As `moment`, for chains in conditional coordinates, whose far ends few draws reach.
    pub driven: f64,
    /// Largest R-hat of witness chains.
    pub witness_r_hat: f64,
    /// Most witness chains that never came near the mass.
    pub astray: usize,
    /// Limit of the second largest mean log weight of a witness chain, less the log evidence.
    pub two_stuck: f64,
    /// Largest mean log weight of any witness chain, less the log evidence.
    pub stuck: f64,
    /// Limit of the mean log weight of all witness chains less that of the weighted draws; three standard errors are added to it.
    pub offset: f64,
    /// Smallest difference of means between witness chains and draws, in standard deviations, that is an objection.
    pub shift: f64,
    /// Smallest relative difference of variances that is an objection.
    pub stretch: f64,
    /// Probability that no such comparison objects to a right fit.
    pub confidence: f64,
    /// Largest factor between the variance that the draws of q give and that of all draws, those of stretched copies included.
    pub stretched: f64,
    // Tails of the density.
    /// Exponent of the fall up to which the density along a line is an objection. Up to 3 the variance does not exist; room is
    /// added for rounding, and for variances that thousands of draws do not determine. n draws of a density that falls like
    /// `r^-(1 + nu)` reach about `n^(1/nu)`. They see only `1 - n^(-(nu - 2)/nu)` of the variance: 0.75 of it for `nu = 2.4` and
    /// n = 4000.
    pub no_variance: f64,
    /// Fall from which on the density along a line has an integral, with room for rounding.
    pub integrable: f64,
    /// Contribution of a tail to the second moment along its axis, in squares of the standard deviation, below which it is no objection.
    pub faint: f64,
    // The verdict on chains.
    /// Largest R-hat of chains.
    pub r_hat: f64,
    /// Largest R-hat of chains that are an answer, with an objection.
    pub near_r_hat: f64,
    /// Stein's identities: smallest violation of the first that counts (twice that of the second), and its smallest ratio to its
    /// standard error.
    pub stein: (f64, f64),
    /// Largest share of divergent steps, with one metric and in conditional coordinates.
    pub divergent: (f64, f64),
    /// k-hat of squared deviations of draws with equal weights from which on they do not show a variance.
    pub unseen: f64,
    /// k-hat of deviations from which on draws do not show a mean: it is 1 of a density without one, estimated with an error of some 0.15.
    pub no_mean: f64,
    // What is shown.
    /// Smallest effective sample size and largest k-hat of weighted draws whose moments are shown with a no.
    pub close: (f64, f64),
    /// Largest standard error of a log evidence that is shown.
    pub evidence_error: f64,
}

/// The rule of this version.
pub const RULE: Rule = Rule {
    number: 17,
    slow: 0.15,
    slowest: 0.1,
    noise: 0.005,
    poor: 0.3,
    heavy: 0.7,
    helped: 1.2,
    lighter: 0.1,
    no_component: 1e-4,
    heavy_draws: 0.7,
    soft: 0.45,
    soft_offset: 0.15,
    mends: 2,
    poorer: 0.5,
    agree: 3.0,
    tempered: 3.0,
    fewest: 400.0,
    spread: 0.9,
    outside: 4.0,
    negligible: 1e-3,
    moment: 0.1,
    driven: 0.5,
    witness_r_hat: 1.25,
    astray: 4,
    two_stuck: 6.0,
    stuck: 12.0,
    offset: 0.3,
    shift: 0.15,
    stretch: 0.3,
    confidence: 0.999,
    stretched: 1.2,
    no_variance: 3.4,
    integrable: 1.02,
    faint: 1e-6,
    r_hat: 1.01,
    near_r_hat: 1.1,
    stein: (0.1, 4.5),
    divergent: (0.0005, 0.02),
    unseen: 0.7,
    no_mean: 0.6,
    close: (30.0, 1.0),
    evidence_error: 0.5,
};
