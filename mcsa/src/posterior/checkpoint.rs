//! Checkpoint file of a fit, and the fingerprint of its target.

use std::path::Path;

use mcsa_core::{Error, LogDensity, Seed, square_fits_in_memory};
use mcsa_estimators::StateFile;
use serde::{Deserialize, Serialize};

use super::start::ascent::Evaluated;
use super::start::mode_search::{Mode, ModeSearch};
use super::{FitState, Objection, Options, Stage, Target};

/// First words of the file; the number is the version of the format.
const FORMAT: &str = "mcsa fitting 5";

impl FitState {
    /// Saves the state to a file, which is replaced as a whole and carries a checksum.
    ///
    /// # Errors
    /// If the file cannot be written; the message names it.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        file(path.as_ref()).write(self)
    }

    /// The state in a file; `None` if there is no file. Its target is not compared with any: see [`resume_or`](Self::resume_or).
    ///
    /// # Errors
    /// If the file is damaged or no checkpoint of a fit; the message names it.
    pub fn read(path: impl AsRef<Path>) -> Result<Option<Self>, Error> {
        file(path.as_ref()).read()
    }

    /// The fit in the file at `path`, or one that has not begun if there is no file.
    ///
    /// Continued, it gives the same bits as one that was never interrupted. `seconds`, `progress` and `checkpoint` may differ from those
    /// that it was begun with; seconds count from the resumption.
    ///
    /// # Errors
    /// If the file cannot be used, or holds the fit of another target or with other options; the message names the difference. Targets
    /// are compared by their log densities at stored points.
    pub fn resume_or(path: impl AsRef<Path>, target: &Target<'_>, options: &Options) -> Result<Self, Error> {
        let file = file(path.as_ref());
        let Some(mut fitting) = file.read::<Self>()? else { return Self::new(options) };
        fitting.adopt(target, options).map_err(|error| file.refuse(&error.to_string()))?;
        Ok(fitting)
    }

    fn adopt(&mut self, target: &Target<'_>, options: &Options) -> Result<(), Error> {
        options.check()?;
        if let Some(difference) = self.options.difference(options) {
            return Err(Error::invalid(format!("it was made with other options: {difference}")));
        }
        self.landmarks.verify(target)?;
        self.check(target)?;
        let seed = self.seed();
        for climb in &mut self.climbs {
            climb.verify(*target.density().inner(), seed)?;
        }
        self.options = options.clone();
        Ok(())
    }

    /// Checks that the state can be continued with a target of this dimension.
    pub(crate) fn check(&self, target: &Target<'_>) -> Result<(), Error> {
        let dim = target.dim();
        if dim == 0 {
            return Err(Error::invalid("the target has no parameters"));
        }
        square_fits_in_memory("dimension", dim)?;
        let Self { ascents: ModeSearch { modes, .. }, climbs, .. } = self;
        if !modes.iter().all(|mode| mode.point.len() == dim && mode.covariance.shape() == (dim, dim)) {
            return Err(Error::invalid(format!("its modes are not points of dimension {dim}")));
        }
        if self.stage != Stage::Start && (modes.is_empty() || climbs.is_empty()) {
            return Err(Error::invalid("it has no modes or climbs, which its stage needs"));
        }
        climbs.iter().try_for_each(|climb| climb.shape.build(dim)?.check(climb.params()))
    }

    /// Checks that the file, if there is one, holds an earlier state of this fit, which may be overwritten.
    pub(crate) fn may_overwrite(&self, path: &Path) -> Result<(), Error> {
        let file = file(path);
        let Some(saved) = file.read::<Self>()? else { return Ok(()) };
        let is_same = saved.options.difference(&self.options).is_none();
        let which = match saved.spent.total() <= self.spent.total() {
            true if is_same && saved.landmarks.begin(&self.landmarks) => return Ok(()),
            true => "another fit",
            false => "a later state of this fit, or another fit",
        };
        Err(file.refuse(&format!("it holds {which}: continue that one with `resume_or`, or move the file")))
    }
}

fn file(path: &Path) -> StateFile {
    StateFile::new(path, FORMAT)
}

/// Points with their log densities, which distinguish a checkpoint from that of another target: the origin, three standard normal
/// points, and the first mode.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct TargetFingerprint {
    known: Vec<Evaluated>,
    has_gradient: bool,
}

/// Number of points that are known before any mode is.
const FIRST: usize = 4;
/// Relative difference of log densities that is rounding.
const ROUNDING: f64 = 1e-8;

impl TargetFingerprint {
    /// Evaluates the target at the points that are not known yet. A second evaluation, which is not counted, must give the same bits, or
    /// NaN twice; else there is an objection.
    pub(crate) fn note(&mut self, target: &Target<'_>, modes: &[Mode], seed: Seed) -> Option<Objection> {
        let mut points = Vec::new();
        if self.known.is_empty() {
            self.has_gradient = target.gradient().is_some();
            let mut stream = seed.named("landmarks").stream(0, 0);
            points = vec![vec![0.0; target.dim()]; FIRST];
            points[1..].iter_mut().for_each(|point| stream.normals_into(point));
        } else if self.known.len() == FIRST {
            points.extend(modes.first().map(|mode| mode.point.clone()));
        }
        let mut work = vec![0.0; target.density().work_len(1)];
        let before = self.known.len();
        for point in points {
            let log_p = target.density().log_density(&point, &mut work);
            self.known.push(Evaluated { point, log_p });
        }
        self.known[before..].iter().find_map(|Evaluated { point, log_p: first }| {
            let second = target.density().inner().log_density(point, &mut work);
            let is_equal = first.to_bits() == second.to_bits() || (first.is_nan() && second.is_nan());
            (!is_equal).then_some(Objection::Random { first: *first, second })
        })
    }

    /// The log density at the first mode.
    pub(crate) fn of_mode(&self) -> Option<&Evaluated> {
        self.known.get(FIRST)
    }

    /// True if the points of `later` begin with these.
    pub(crate) fn begin(&self, later: &Self) -> bool {
        later.known.starts_with(&self.known)
            && (self.known.is_empty() || self.has_gradient == later.has_gradient)
    }

    /// Checks that the densities are those of `target`, without counting the evaluations.
    ///
    /// # Errors
    /// If they are those of another target; the message names the difference.
    pub(crate) fn verify(&self, target: &Target<'_>) -> Result<(), Error> {
        let density = target.density().inner();
        let mut work = vec![0.0; density.work_len(1)];
        for (k, Evaluated { point, log_p }) in self.known.iter().enumerate() {
            if point.len() != target.dim() {
                let (there, here) = (point.len(), target.dim());
                return Err(Error::invalid(format!("its target has dimension {there}, this one {here}")));
            }
            let found = density.log_density(point, &mut work);
            let size = log_p.abs().max(found.abs()).max(1.0);
            let is_near = size.is_finite() && (log_p - found).abs() <= ROUNDING * size;
            if !(is_near || *log_p == found || (log_p.is_nan() && found.is_nan())) {
                return Err(Error::invalid(format!(
                    "log p at its point {k} is {log_p:e} there and {found:e} here: it belongs to another target or to other data"
                )));
            }
        }
        if !self.known.is_empty() && self.has_gradient != target.gradient().is_some() {
            let had =
                if self.has_gradient { "a gradient, this one has none" } else { "no gradient, this one has" };
            return Err(Error::invalid(format!("its target has {had}")));
        }
        Ok(())
    }
}
