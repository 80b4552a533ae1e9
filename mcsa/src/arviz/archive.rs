//! Zarr archive of weighted draws.

use std::path::Path;

use mcsa_core::{Columns, Error, LogDensity, Named, Seed, Separable, fits_in_memory};
use mcsa_estimators::Draws;
use serde_json::{Map, Value};

use super::zarr::{Array, Group, write_archive};
use crate::fit::Fitted;

/// Zarr archive of weighted draws, which ArviZ opens with `from_zarr`.
///
/// Its posterior holds as many points as there are draws, resampled to equal weights; `sample_stats` has `log_p`, `log_q` and
/// `log_weight` of each. [`weighted`](Self::weighted) keeps the draws of q instead, which is what `loo_approximate_posterior` wants.
/// Parameters named `theta[0]`, `theta[1]`, ... are one variable `theta` with a side of its own.
///
/// ```
/// use mcsa::arviz::Archive;
/// # let path = std::env::temp_dir().join(format!("mcsa-doc-{}.zarr", std::process::id()));
/// let target = mcsa::models::EightSchools::non_centred();
/// let fitted = mcsa::fit(&target, &mcsa::fit::Options::seeded(1))?;
/// Archive::of_fit(&fitted, &target)?.write(&path)?;
/// assert!(path.join("posterior/tau/zarr.json").exists());
/// # std::fs::remove_dir_all(&path).unwrap();
/// # Ok::<(), mcsa::prelude::Error>(())
/// ```
pub struct Archive<'a> {
    draws: &'a Draws,
    target: &'a dyn LogDensity,
    attributes: Map<String, Value>,
    /// The draw of each point.
    points: Vec<usize>,
    is_weighted: bool,
    likelihood: Option<&'a dyn Separable>,
    /// Name and values of the data.
    observed: Option<(&'a str, &'a [f64])>,
}

impl<'a> Archive<'a> {
    /// The archive of draws; the names of the parameters are those of the target.
    ///
    /// # Errors
    /// If all weights are zero.
    pub fn of(draws: &'a Draws, target: &'a dyn LogDensity) -> Result<Self, Error> {
        let points = draws.copies(draws.len(), &mut Seed::new(1).named("archive").stream(0, 0))?;
        let mut attributes = Map::new();
        attributes.insert("inference_library".into(), "mcsa".into());
        attributes.insert("inference_library_version".into(), env!("CARGO_PKG_VERSION").into());
        attributes.insert("k_hat".into(), number(draws.shape));
        attributes.insert("effective_sample_size".into(), number(draws.sample_size));
        attributes.insert("log_evidence".into(), number(draws.log_evidence()));
        Ok(Self { draws, target, attributes, points, is_weighted: false, likelihood: None, observed: None })
    }

    /// The archive of a fit: its draws, with the verdict among the attributes of the posterior.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_fit(fitted: &'a Fitted, target: &'a dyn LogDensity) -> Result<Self, Error> {
        let archive = Self::of(&fitted.draws, target)?;
        let verdict = if fitted.verdict.is_yes() { "yes" } else { "no" };
        Ok(archive
            .attribute("verdict", verdict)
            .attribute("verdict_words", fitted.verdict.to_string())
            .attribute("family", fitted.shape.to_string())
            .attribute("evaluations", fitted.evaluations.total())
            .attribute("log_evidence_error", number(fitted.evidence.error)))
    }

    /// Keeps the draws of q as they are, with their weights in `sample_stats`.
    pub fn weighted(self) -> Self {
        Self { points: (0..self.draws.len()).collect(), is_weighted: true, ..self }
    }

    /// Adds the group `log_likelihood`, which `loo` needs: a number for each point and datum.
    pub fn with_likelihood(self, target: &'a dyn Separable) -> Self {
        Self { likelihood: Some(target), ..self }
    }

    /// Adds the group `observed_data`. Data and their log likelihood have this name; without data it is `y`.
    pub fn with_observed(self, name: &'a str, values: &'a [f64]) -> Self {
        Self { observed: Some((name, values)), ..self }
    }

    /// Adds an attribute of the posterior.
    pub fn attribute(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }

    /// Writes the archive to a folder; one that an archive was written to before is replaced.
    ///
    /// # Errors
    /// If something that is no Zarr archive is there, the folder cannot be written, or the numbers do not fit in memory.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        write_archive(path, &self.groups()?)
    }

    fn groups(&self) -> Result<Vec<Group>, Error> {
        let mut attributes = self.attributes.clone();
        attributes.insert("resampled".into(), Value::from(!self.is_weighted));
        let group = |name: &str, attributes, arrays| Group { name: name.into(), attributes, arrays };
        let mut groups = vec![
            group("posterior", attributes.clone(), self.with_sides(self.parameters())?),
            group("sample_stats", attributes, self.with_sides(self.stats())?),
        ];
        if let Some(target) = self.likelihood {
            let arrays = self.with_sides(vec![self.log_likelihood(target)?])?;
            groups.push(group("log_likelihood", Map::new(), arrays));
        }
        if let Some((name, values)) = self.observed {
            let side = format!("{name}_dim_0");
            let labels = Array::count(&side, values.len());
            let values = Array::numbers(&[values.len()], &[&side], values)?;
            groups.push(group("observed_data", Map::new(), vec![(side, labels), (name.into(), values)]));
        }
        Ok(groups)
    }

    /// The variables, and the labels of all their sides.
    fn with_sides(&self, variables: Vec<Variable>) -> Result<Vec<(String, Array)>, Error> {
        let mut arrays = vec![
            ("chain".to_owned(), Array::count("chain", 1)),
            ("draw".to_owned(), Array::count("draw", self.points.len())),
        ];
        for Variable { name, length, values } in variables {
            let (mut shape, side) = (vec![1, self.points.len()], format!("{name}_dim_0"));
            let mut dims = vec!["chain", "draw"];
            if let Some(length) = length {
                arrays.push((side.clone(), Array::count(&side, length)));
                shape.push(length);
                dims.push(&side);
            }
            let array = Array::numbers(&shape, &dims, &values)?;
            arrays.push((name, array));
        }
        Ok(arrays)
    }

    fn stats(&self) -> Vec<Variable> {
        let even = -(self.points.len() as f64).ln();
        let of = |values: &[f64]| self.points.iter().map(|&i| values[i]).collect();
        let weights = match self.is_weighted {
            true => of(&self.draws.log_weights),
            false => vec![even; self.points.len()],
        };
        let scalar = |name: &str, values| Variable { name: name.to_owned(), length: None, values };
        vec![
            scalar("log_p", of(&self.draws.log_p)),
            scalar("log_q", of(&self.draws.log_q)),
            scalar("log_weight", weights),
        ]
    }

    fn parameters(&self) -> Vec<Variable> {
        let mut named = Named::default();
        for &i in &self.points {
            named.next_point();
            self.target.constrain(self.draws.points.as_ref().column(i), &mut named);
        }
        let names: Vec<(&str, Option<usize>)> = named.names().iter().map(|name| indexed(name)).collect();
        let mut variables = Vec::new();
        let mut first = 0;
        while first < names.len() {
            let (stem, index) = names[first];
            // Names that count up from 0 belong together.
            let length = match index {
                Some(0) => {
                    names[first..].iter().zip(0..).take_while(|(name, i)| **name == (stem, Some(*i))).count()
                }
                _ => 1,
            };
            let is_scalar = index != Some(0);
            let name = if is_scalar { &named.names()[first] } else { stem };
            let columns = first..first + length;
            let rows = named.values().chunks_exact(names.len());
            let values = rows.flat_map(|row| row[columns.clone()].iter().copied()).collect();
            variables.push(Variable { name: safe(name), length: (!is_scalar).then_some(length), values });
            first += length;
        }
        variables
    }

    fn log_likelihood(&self, target: &dyn Separable) -> Result<Variable, Error> {
        let (rows, points) = (target.num_data(), self.points.len());
        let name = match self.observed {
            Some((name, values)) if values.len() == rows => name,
            Some((name, values)) => {
                let said = format!("{name} has {} values; the target has {rows} data", values.len());
                return Err(Error::invalid(said).within("Archive"));
            }
            None => "y",
        };
        fits_in_memory("log likelihoods", points, rows).map_err(|error| error.within("Archive"))?;
        let mut work = vec![0.0; LogDensity::work_len(target, 1)];
        let mut values = Vec::with_capacity(points * rows);
        for &i in &self.points {
            let z = self.draws.points.as_ref().column(i);
            values.extend((0..rows).map(|row| target.log_likelihood_at(&[row], z, &mut work)));
        }
        Ok(Variable { name: name.to_owned(), length: Some(rows), values })
    }
}

/// Variable of a group: a number, or `length` numbers, for each point.
struct Variable {
    name: String,
    length: Option<usize>,
    values: Vec<f64>,
}

/// Stem and index of a name `theta[3]`.
fn indexed(name: &str) -> (&str, Option<usize>) {
    let parts = name.strip_suffix(']').and_then(|rest| rest.split_once('['));
    match parts.and_then(|(stem, index)| Some((stem, index.parse().ok()?))) {
        Some((stem, index)) => (stem, Some(index)),
        None => (name, None),
    }
}

/// A name that can be that of a folder.
fn safe(name: &str) -> String {
    name.replace(['/', '\\'], "_")
}

/// A number as JSON, which knows neither NaN nor infinities.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number)
}
