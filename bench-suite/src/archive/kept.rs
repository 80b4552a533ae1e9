//! An archived result with its origin.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::store::{CODE, Ended, Row};

/// Origin of a result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// Fingerprint of the code.
    pub code: String,
    /// Day on which the result was written, `2026-01-31`.
    pub date: String,
    /// Vector unit; `-` if it is not known.
    pub unit: String,
}

/// An archived result.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// Its origin.
    pub origin: Origin,
    /// Recorded rows.
    pub rows: Vec<Row>,
    /// End of the job.
    pub ended: Ended,
}

impl Origin {
    /// Returns true if the result was computed by code other than this program's.
    pub fn is_stale(&self) -> bool {
        self.code != CODE
    }
}

/// Day of a time in the proleptic Gregorian calendar, UTC (Hinnant, "chrono-compatible low-level date algorithms").
pub(super) fn day(time: SystemTime) -> String {
    let days = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    // Days since 1 March of the year 0; eras have 400 years.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn days_are_those_of_the_calendar() {
        let of = |seconds: u64| day(UNIX_EPOCH + Duration::from_secs(seconds));
        let found = [0, 86_399, 951_782_400, 951_868_800, 1_735_689_599, 1_767_225_600].map(of);
        let days = ["1970-01-01", "1970-01-01", "2000-02-29", "2000-03-01", "2024-12-31", "2026-01-01"];
        assert_eq!(found, days);
    }
}
