//! Training schedules: stages with tempered targets and defended proposals.

use std::sync::LazyLock;

use mcsa_core::Error;
use mcsa_families::{Defence, Tail};
use mcsa_models::{Gaussian, Tempered};
use serde::{Deserialize, Serialize};

/// Training schedule: stages in sequence; chains and optimiser are restarted in each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Schedule {
    /// Display name.
    pub name: String,
    /// Stages.
    pub stages: Vec<Stage>,
}

/// One stage of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// Fraction of all steps.
    pub part: f64,
    /// Weight of the defensive component of the proposal, a Cauchy distribution around the start.
    pub defence: f64,
    /// Power to which the target density is raised.
    pub power: f64,
}

/// One stage on the target as it is, with proposals from q alone.
pub(crate) static PLAIN: LazyLock<Schedule> = LazyLock::new(|| Schedule {
    name: "plain".to_owned(),
    stages: vec![Stage { part: 1.0, defence: 0.0, power: 1.0 }],
});

impl Schedule {
    pub(super) fn check(&self) -> Result<(), Error> {
        let place = |error: Error| error.within(format!("fits.schedule {:?}", self.name));
        let parts: f64 = self.stages.iter().map(|stage| stage.part).sum();
        if (parts - 1.0).abs() > 1e-9 || self.stages.iter().any(|stage| stage.part <= 0.0) {
            return Err(place(Error::invalid("the parts are positive and add up to 1")));
        }
        self.stages.iter().try_for_each(|stage| {
            Tempered::new(&Gaussian::standard(1), stage.power).map(drop).map_err(place)?;
            Defence::new(stage.defence, Tail::cauchy(1)).map(drop).map_err(place)
        })
    }

    /// First and last step of each stage of a fit with `steps` steps: `(0, 80), (80, 400)`.
    pub(crate) fn spans(&self, steps: u64) -> Vec<(u64, u64)> {
        let end = |number: usize| {
            let parts: f64 = self.stages[..number].iter().map(|stage| stage.part).sum();
            (parts * steps as f64).round() as u64
        };
        (0..self.stages.len()).map(|number| (end(number), end(number + 1))).collect()
    }
}
