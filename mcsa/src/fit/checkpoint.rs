//! Checkpoint of a fit in a file.

use std::path::Path;

use mcsa_core::{Error, square_fits_in_memory};
use mcsa_estimators::StateFile;

use super::{Fitting, Options, Stage, Target};

/// First words of the file; the number is the version of the format.
const FORMAT: &str = "mcsa fitting 2";

impl Fitting {
    /// Saves the state to a file, which is replaced as a whole and carries a checksum.
    ///
    /// ```
    /// use mcsa::fit::{Fitting, Options, Target};
    /// # let path = std::env::temp_dir().join(format!("mcsa-doc-{}.fitting", std::process::id()));
    /// let (model, options) = (mcsa::models::Gaussian::standard(2), Options::seeded(1));
    /// let target = Target::with_gradient(&model);
    /// let mut fitting = Fitting::new(&options)?;
    /// fitting.advance(&target)?;
    /// fitting.save(&path)?;
    /// assert_eq!(Fitting::resume_or(&path, &target, &options)?, fitting);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), mcsa::prelude::Error>(())
    /// ```
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
        let is_square = |side: [usize; 3]| side == [dim; 3];
        let of_modes = self.ascents.modes.iter();
        let mut sides =
            of_modes.map(|mode| [mode.point.len(), mode.covariance.nrows(), mode.covariance.ncols()]);
        if !sides.all(is_square) {
            return Err(Error::invalid(format!("its modes are not points of dimension {dim}")));
        }
        let begun = self.stage != Stage::Start;
        if begun && (self.ascents.modes.is_empty() || self.climbs.is_empty()) {
            return Err(Error::invalid("it has no modes or climbs, which its stage needs"));
        }
        self.climbs.iter().try_for_each(|climb| climb.shape.build(dim)?.check(climb.params()))
    }

    /// Checks that the file, if there is one, holds an earlier state of this fit, which may be overwritten.
    pub(crate) fn may_overwrite(&self, path: &Path) -> Result<(), Error> {
        let file = file(path);
        let Some(saved) = file.read::<Self>()? else { return Ok(()) };
        let is_earlier = saved.spent.total() <= self.spent.total();
        if saved.options.difference(&self.options).is_none()
            && saved.landmarks.begin(&self.landmarks)
            && is_earlier
        {
            return Ok(());
        }
        let which = if is_earlier { "another fit" } else { "a later state of this fit, or another fit" };
        Err(file.refuse(&format!("it holds {which}: continue that one with `resume_or`, or move the file")))
    }
}

fn file(path: &Path) -> StateFile {
    StateFile::new(path, FORMAT)
}
