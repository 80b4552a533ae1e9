//! Checkpoints of jobs of any kind.

use std::path::Path;
use std::time::Instant;

use mcsa_core::{Error, file};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Due, Place, Running, now};
use crate::store::{CODE, LONGEST, write_whole};
use crate::task::Job;

/// Writes the checkpoints of one job and asks whether its run is to continue.
///
/// A job makes its steps in stretches and calls `goes_on` after each:
///
/// ```text
/// while left > 0 { make stretch(left) steps;  if !goes_on(..) { end without a result } }
/// ```
/// A stretch takes about [`LOOK`] seconds, so that a request to stop is obeyed soon, and a checkpoint is late by at most one
/// step. A checkpoint that cannot be written gives a warning; the job continues.
pub(super) struct Checkpoints<'s> {
    job: &'s Job,
    running: &'s Running<'s>,
    /// Steps of the next stretch, if checkpoints are due by time.
    stretch: u64,
    /// Number of steps left when the last stretch began, and the time of its beginning.
    left: u64,
    begun: Instant,
    /// Steps since the last checkpoint, and the time at which the saved state was reached.
    since: u64,
    saved: Instant,
    /// Work that was not yet reported.
    untold: u64,
    is_warned: bool,
}

/// Target duration of a stretch in seconds.
const LOOK: f64 = 0.1;

impl<'s> Checkpoints<'s> {
    /// Must be called before the job begins: the time until the first checkpoint starts here.
    pub(super) fn new(job: &'s Job, running: &'s Running<'s>) -> Self {
        let (begun, saved) = (now(), now());
        Self { job, running, stretch: 1, left: 0, begun, since: 0, saved, untold: 0, is_warned: false }
    }

    /// State in the last checkpoint, if there is one.
    pub(super) fn last<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        match self.running.place {
            Place::BesideResults => self.running.store.checkpoint(self.job),
            Place::File(path) => {
                read(path, self.job).map_err(|error| error.within(path.display().to_string()))
            }
            Place::Nowhere => Ok(None),
        }
    }

    /// Adds the name of the checkpoint's file to an error about its contents.
    pub(super) fn named(&self, error: Error) -> Error {
        error.within(match self.running.place {
            Place::File(path) => path.display().to_string(),
            _ => format!("{}/{}.checkpoint", self.job.experiment, self.job.id()),
        })
    }

    /// Reports work that earlier runs have done.
    pub(super) fn tell(&self, work: u64) {
        (self.running.progress)(work);
    }

    /// Number of steps, of those left, in the next stretch.
    pub(super) fn stretch(&mut self, left: u64) -> u64 {
        (self.left, self.begun) = (left, now());
        let most = match self.running.checkpoint {
            Due::Steps(steps) => steps.max(1) - self.since,
            Due::Seconds(_) => self.stretch,
        };
        most.min(left)
    }

    /// Ends a stretch of `made` steps, which were `work`: saves `state` if a checkpoint is due or the run is to stop. Returns
    /// false if the run is to stop. After the last step nothing is saved, because the result follows.
    #[must_use]
    pub(super) fn goes_on<T: Serialize>(&mut self, made: u64, work: u64, state: impl FnOnce() -> T) -> bool {
        let took = self.begun.elapsed().as_secs_f64();
        if took < 0.5 * LOOK {
            self.stretch = (2 * self.stretch).min(1 << 20);
        } else if took > 2.0 * LOOK {
            self.stretch = (self.stretch / 2).max(1);
        }
        self.since += made;
        self.untold += work;
        let is_over = made >= self.left;
        let is_due = match self.running.checkpoint {
            Due::Steps(steps) => self.since >= steps.max(1),
            // The next stretch must not end later than the checkpoint is due.
            Due::Seconds(seconds) => self.saved.elapsed().as_secs_f64() + took >= seconds,
        };
        if matches!(self.running.checkpoint, Due::Steps(_)) && !is_due && !is_over {
            return true;
        }
        let goes_on = (self.running.progress)(std::mem::take(&mut self.untold));
        if is_over {
            return true;
        }
        if is_due || !goes_on {
            (self.since, self.saved) = (0, now());
            self.keep(&state());
        }
        goes_on
    }

    fn keep<T: Serialize>(&mut self, state: &T) {
        let kept = match self.running.place {
            Place::BesideResults => self.running.store.save_checkpoint(self.job, state),
            Place::File(path) => write(path, self.job, state),
            Place::Nowhere => Ok(()),
        };
        if let Err(error) = kept
            && !std::mem::replace(&mut self.is_warned, true)
        {
            let place = format!("{}, {}", self.job.experiment, self.job.task.title());
            (self.running.warn)(&format!(
                "{place}: {error}; the job goes on, and would begin earlier if it were interrupted"
            ));
        }
    }
}

/// Contents of a checkpoint in a file of its own: fingerprint of the code, job, and state.
#[derive(Serialize, Deserialize)]
struct Saved<J, T> {
    code: String,
    job: J,
    state: T,
}

fn write<T: Serialize>(path: &Path, job: &Job, state: &T) -> Result<(), Error> {
    let text = serde_json::to_string(&Saved { code: CODE.to_owned(), job, state });
    let text = text.map_err(|error| Error::invalid(format!("cannot write {}: {error}", path.display())))?;
    write_whole(path, text.as_bytes())
}

fn read<T: DeserializeOwned>(path: &Path, job: &Job) -> Result<Option<T>, Error> {
    let bytes = match file::read(path, LONGEST) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| Error::invalid(format!("cannot be read: {error}")))?,
    };
    let anew = "delete the file to begin anew";
    let malformed =
        |error: serde_json::Error| Error::invalid(format!("it is no whole checkpoint ({error}); {anew}"));
    let saved: Saved<Value, Value> = serde_json::from_slice(&bytes).map_err(malformed)?;
    if saved.code != CODE {
        return Err(Error::invalid(format!("it is a checkpoint of another version of this program; {anew}")));
    }
    let asked = serde_json::to_value(job).map_err(malformed)?;
    if let Some(difference) = difference("", &saved.job, &asked) {
        let other = "give the arguments of that fit or another file";
        return Err(Error::invalid(format!("it is a checkpoint of another fit: {difference}; {other}")));
    }
    serde_json::from_value(saved.state).map(Some).map_err(malformed)
}

/// The first difference between two JSON values.
fn difference(place: &str, there: &Value, here: &Value) -> Option<String> {
    match (there, here) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let inner = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                let of = |map: &serde_json::Map<_, _>| map.get(key).cloned().unwrap_or(Value::Null);
                difference(&inner, &of(a), &of(b))
            })
        }
        _ if there == here => None,
        _ => Some(format!("{place} is {there} there and {here} here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named() {
        let ours = json!({"task": {"fit": {"steps": 3, "method": {"kind": "pmcsa"}}}});
        assert_eq!(difference("", &ours, &ours), None);
        let theirs = json!({"task": {"fit": {"steps": 3, "method": {"kind": "jsa"}}}});
        let said = difference("", &theirs, &ours).unwrap();
        assert_eq!(said, "task.fit.method.kind is \"jsa\" there and \"pmcsa\" here");
        let longer = json!({"task": {"fit": {"steps": 3, "method": {"kind": "pmcsa"}, "averaged": 2}}});
        assert_eq!(difference("", &ours, &longer).unwrap(), "task.fit.averaged is null there and 2 here");
    }
}
