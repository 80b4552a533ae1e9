//! Synthetic stand-ins for data sets that are absent.
//!
//! A stand-in has the shape of a data set, so that code can run without the data. Results on it say nothing about the data
//! set itself. Each row has its own random stream, so that a row does not depend on the number of rows.

mod cases;
mod forest;
mod levels;
mod physics;
mod precipitation;
mod regression;

use super::{DataError, Dataset, Entry, Origin, Series, StandIn, Task};
use mcsa_core::Seed;

/// The stand-in of a data set.
pub(super) fn stand_in(entry: &Entry, rows: Option<usize>, seed: Seed) -> Result<Dataset, DataError> {
    let Some(kind) = entry.stand_in else {
        let problem = "there is no synthetic stand-in for this set";
        return Err(DataError::unusable(&entry.name, problem));
    };
    let rows = rows.unwrap_or(entry.rows);
    if rows == 0 || rows > entry.rows {
        let problem = format!("{rows} rows asked for; a stand-in has 1 to {}", entry.rows);
        return Err(DataError::unusable(&entry.name, problem));
    }
    let inputs = entry.inputs();
    let root = seed.named("stand-in").named(&entry.name);
    let (x, y) = match kind {
        StandIn::SmoothRegression => cases::draw(&regression::Smooth::new(inputs, root), rows, root),
        StandIn::Susy => cases::draw(&physics::Collisions::new(8, inputs, root), rows, root),
        StandIn::Higgs => cases::draw(&physics::Collisions::new(21, inputs, root), rows, root),
        StandIn::Miniboone => cases::draw(&physics::Flashes::new(inputs, root), rows, root),
        StandIn::Covtype => cases::draw(&forest::Forest::new(root), rows, root),
        StandIn::Precipitation => precipitation::draw(rows, root),
        StandIn::IndexLevels => {
            return Err(DataError::Shape { name: entry.name.clone(), kind: entry.kind });
        }
    };
    Ok(Dataset {
        name: entry.name.clone(),
        task: Task::of(entry)?,
        columns: entry.columns[..inputs].to_vec(),
        x,
        y,
        origin: Origin::Synthetic { stands_for: entry.name.clone(), seed },
    })
}

/// The stand-in of a time series.
pub(super) fn series(entry: &Entry, seed: Seed) -> Result<Series, DataError> {
    if entry.stand_in != Some(StandIn::IndexLevels) {
        let problem = "there is no synthetic stand-in for this series";
        return Err(DataError::unusable(&entry.name, problem));
    }
    let levels = levels::draw(entry.rows, seed.named("stand-in").named(&entry.name));
    let digits = entry.rows.to_string().len();
    Ok(Series {
        name: entry.name.clone(),
        columns: entry.columns[1..].to_vec(),
        dates: (1..=entry.rows).map(|day| format!("day {day:0digits$}")).collect(),
        levels: faer::Mat::from_fn(levels.len(), 1, |row, _| levels[row]),
        origin: Origin::Synthetic { stands_for: entry.name.clone(), seed },
    })
}

#[cfg(test)]
mod tests;
