//! Options of a fit.

use std::fmt::Display;
use std::path::PathBuf;

use mcsa_core::Error;
use serde::{Deserialize, Serialize};

use super::Approximation;

/// Options of [`fit`](crate::fit()). The defaults suit posteriors of up to some hundred dimensions whose density takes microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The seed of all random numbers.
    pub seed: u64,
    /// Number of weighted draws in the result.
    pub draws: usize,
    /// Number of ascents from spread points: ten before the climb, the others for the verdict. Without a gradient the first start
    /// is tempering. The others are ascents by differences of the log density, all for the verdict. If an ascent reaches a basin
    /// of attraction with probability `s`, all ascents miss it with probability `(1 - s)^starts`: 0.6 % for one in twenty and 100
    /// starts.
    pub starts: usize,
    /// Largest number of evaluations of the target by the whole fit, draws and verdict included; at least 1. 100 draws are made
    /// in any case. `None` is a million, or ten million by the log density alone.
    ///
    /// Starts before the climb begin while less than half of the limit is spent. Starts and climbs leave the verdict its
    /// evaluations, but at most half of the limit. These are `draws`, some 10,000 for chains of another kernel (without a
    /// gradient 3,200 per dimension), and up to 5,000 for stretched copies of q.
    ///
    /// Chains that may be the answer begin only if 20,000 gradients are left for them, each of `d + 1` evaluations if it is by
    /// differences. Until their draws count, they take at most two fifths of the limit and half of what is left when they begin,
    /// or 100,000 gradients if that is more. Without a gradient, or with a small limit, it is four fifths of what is left. Once
    /// their draws count, it is 84 % of what was left when they began.
    ///
    /// Up to five evaluations that compare a point with itself may lie beyond the limit. A limit that ends a stage or leaves out
    /// a check is an objection.
    pub evaluations: Option<u64>,
    /// Largest time in seconds of the whole fit from the call on, draws and verdict included. The clock is read before every
    /// evaluation or batch of them. Beyond the limit the draws take about a second, or 100 are made. A limit that ends a stage or
    /// leaves out a check is an objection, and such a result depends on the machine.
    pub seconds: Option<f64>,
    /// Effective sample size per draw at which a climb ends. A climb with even weights also ends if another round takes more
    /// evaluations than the largest possible gain saves: `draws / share - draws`, with the share reached. Fewer than 4000 draws
    /// count as 4000 there.
    pub share: f64,
    /// The q of an earlier fit, at which this one begins: see [`start_from`](Self::start_from).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Approximation>,
    /// True for a line on standard error with the stage and what was found; silent if standard error is not a terminal.
    pub progress: bool,
    /// File that holds the state of the fit. A call that finds a state there continues it with the same bits; at its end the file
    /// holds the complete state. Saving takes at most a twentieth of the time.
    pub checkpoint: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self::seeded(1)
    }
}

/// Most draws, which no memory holds in one dimension.
const MOST_DRAWS: f64 = (1_u64 << 40) as f64;

impl Options {
    /// The defaults, with this seed: 4000 draws, 100 starts, evaluations by the kind of target, no limit of time, no progress, no file.
    pub const fn seeded(seed: u64) -> Self {
        Self {
            seed,
            draws: 4_000,
            starts: 100,
            evaluations: None,
            seconds: None,
            share: 0.7,
            earlier: None,
            progress: false,
            checkpoint: None,
        }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If there are fewer than 100 draws or more than 2^40, no starts, no evaluations, a time that is not positive, or a share outside `(0, 1]`.
    pub fn check(&self) -> Result<(), Error> {
        let (draws, starts, share) = (self.draws as f64, self.starts as f64, self.share);
        let evaluations = self.evaluations.map_or(f64::INFINITY, |most| most as f64);
        let seconds = self.seconds.unwrap_or(f64::INFINITY);
        let rules = [
            ("draws", draws, draws >= 100.0, "at least 100"),
            ("draws", draws, draws <= MOST_DRAWS, "at most 2^40: more do not fit into memory"),
            ("starts", starts, starts >= 1.0, "at least 1"),
            ("evaluations", evaluations, evaluations >= 1.0, "at least 1"),
            ("seconds", seconds, seconds > 0.0, "positive"),
            ("share", share, share > 0.0 && share <= 1.0, "positive and at most 1"),
        ];
        rules.into_iter().try_for_each(|(name, value, holds, expected)| match holds {
            true => Ok(()),
            false => Err(Error::parameter(name, value, expected).within("Options")),
        })
    }

    /// The first difference between these options and others that changes a result.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let [here, there] = [self, other].map(|options| match options.evaluations {
            Some(most) => most.to_string(),
            None => "the default".to_owned(),
        });
        let named: [(&str, [&dyn Display; 2]); 5] = [
            ("seed", [&self.seed, &other.seed]),
            ("draws", [&self.draws, &other.draws]),
            ("starts", [&self.starts, &other.starts]),
            ("evaluations", [&here, &there]),
            ("share", [&self.share, &other.share]),
        ];
        if self.earlier != other.earlier {
            return Some("the earlier fits at which they begin differ".to_owned());
        }
        let mut pairs = named.iter().map(|(name, pair)| (name, pair.map(ToString::to_string)));
        pairs.find(|(_, [a, b])| a != b).map(|(name, [a, b])| format!("{name} is {a} there and {b} here"))
    }
}
