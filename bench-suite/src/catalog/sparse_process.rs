//! Sparse Gaussian processes on subsets of data sets, or of their synthetic stand-ins.

use mcsa_core::{Error, Seed};
use mcsa_data::{Catalogue, Dataset, Scaling, Share, Split, Standardised, Strata, Task};
use mcsa_models::surrogate::Clusters;
use mcsa_models::{InducingCoordinates, SparseGaussianProcess};
use serde::{Deserialize, Serialize};

use super::Target;
use super::subset_logistic::whole;

/// Settings of a sparse Gaussian process: its rows and its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SparseConfig {
    /// Label of the target; by default the name of the data set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The data set.
    pub data: String,
    /// Number of training rows.
    pub rows: usize,
    /// Number of further rows that are held out.
    pub held_out: usize,
    /// Number of inducing points.
    pub inducing: usize,
    /// Length of the kernel at the start, in units of the root of the number of inputs.
    pub length: f64,
    /// True if the coordinates of the inducing values are whitened.
    pub whitened: bool,
    /// Share of the steps that fit a full-rank Gaussian first, jointly with kernel, errors and inducing points.
    pub warm: f64,
    /// True if these are learned in the other steps too; else they stay where the first part ended, for every family.
    pub joint: bool,
    /// Seed of the stand-in.
    pub seed: u64,
}

/// Sparse process of the training rows, theta at the start of a fit, and a process of the held-out rows.
pub(crate) struct SparseRows {
    pub(crate) process: SparseGaussianProcess,
    pub(crate) theta: Vec<f64>,
    pub(crate) test: SparseGaussianProcess,
    /// Scaling of measured responses.
    pub(crate) scaling: Option<Scaling>,
}

/// Scale and degrees of freedom of the errors at the start: half of the responses' standard deviation, and heavy tails. Ours, since
/// the paper states none; both are learned.
const ERRORS: [f64; 2] = [0.5, 5.0];

/// Most iterations of k-means for the inducing points.
const PASSES: usize = 100;

impl SparseConfig {
    /// Number of steps of the first part, of this many in all.
    pub(crate) fn first_steps(&self, steps: u64) -> u64 {
        (self.warm * steps as f64) as u64
    }
}

impl Target {
    /// The process on rows of the replicate: training rows and held-out rows drawn by `seed`, standardised by the former; inducing
    /// points at the centres of clusters; all lengths of the kernel equal.
    ///
    /// # Errors
    /// If the target is another, a setting is invalid, or data cannot be loaded.
    pub(crate) fn sparse_rows(&self, catalogue: &Catalogue, seed: Seed) -> Result<SparseRows, Error> {
        let Self::SparseProcess(config) = self else {
            return Err(Error::invalid(format!("{} is no sparse process", self.kind())));
        };
        let SparseConfig { data, rows, held_out, inducing, length, whitened, seed: stand_in, .. } = config;
        if !(0.0..1.0).contains(&config.warm) {
            return Err(Error::parameter("warm", config.warm, "at least 0 and less than 1"));
        }
        let set = whole(catalogue, data, rows.saturating_add(*held_out), Seed::new(*stand_in))?;
        let Standardised { train, test, target: scaling, .. } = subset(&set, *rows, *held_out, seed)?;
        let coordinates = match whitened {
            true => InducingCoordinates::Whitened,
            false => InducingCoordinates::Plain,
        };
        let process = |data: &Dataset| {
            let make = match data.task {
                Task::Classification => SparseGaussianProcess::classification,
                Task::Regression => SparseGaussianProcess::robust,
            };
            make(data.x.as_ref(), &data.y, *inducing).map(|process| process.with_coordinates(coordinates))
        };
        let mut stream = seed.named("inducing").stream(0, 0);
        let clusters = Clusters::k_means(train.x.as_ref(), *inducing, PASSES, &mut stream)?;
        let log_length = (length * (train.inputs() as f64).sqrt()).ln();
        let [scale, freedom] = ERRORS;
        let noise = [scale.ln(), (freedom - 2.0_f64).ln()];
        let noise = if scaling.is_some() { &noise[..] } else { &[] };
        let (process, test) = (process(&train)?, process(&test)?);
        let theta = process.theta(0.0, &vec![log_length; train.inputs()], noise, clusters.centres())?;
        Ok(SparseRows { process, theta, test, scaling })
    }
}

/// Training rows and held-out rows; labels have the shares of the whole set.
pub(super) fn subset(set: &Dataset, rows: usize, held_out: usize, seed: Seed) -> Result<Standardised, Error> {
    let split = match set.task {
        Task::Classification => {
            Split::stratified(set, Strata { train: rows, test: held_out, ratio: None }, seed)?
        }
        Task::Regression => {
            if rows == 0 || held_out == 0 || rows.saturating_add(held_out) > set.rows() {
                return Err(Error::invalid(format!(
                    "{rows} rows to train and {held_out} to test, of {} of {}",
                    set.rows(),
                    set.name
                )));
            }
            let all = Split::new(set, Share::Down(0.5), seed)?;
            let (training, testing) = (&all.order[..rows], &all.order[rows..rows + held_out]);
            let order = [training, testing].concat();
            Split { train: set.select(training), test: set.select(testing), order }
        }
    };
    Ok(Standardised::new(&split)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(data: &str, inducing: usize) -> Target {
        let (data, rows, held_out) = (data.to_owned(), 60, 20);
        let (length, whitened, seed) = (0.5, true, 1);
        let (warm, joint) = (0.5, true);
        Target::SparseProcess(SparseConfig {
            name: None,
            data,
            rows,
            held_out,
            inducing,
            length,
            whitened,
            warm,
            joint,
            seed,
        })
    }

    #[test]
    fn regressions_and_classifications_by_the_task_of_the_data() {
        let catalogue = Catalogue::new(None);
        for (name, noise) in [("wasp_precipitation_2010", 2), ("susy", 0), ("pima", 0)] {
            let rows = target(name, 7).sparse_rows(&catalogue, Seed::new(3)).unwrap();
            assert_eq!((rows.process.num_data(), rows.test.num_data()), (60, 20));
            assert_eq!(rows.scaling.is_some(), noise == 2, "{name}");
            let inputs = (rows.theta.len() - 1 - noise) / 8;
            assert_eq!(rows.theta.len(), 1 + inputs + noise + 7 * inputs);
            assert!(rows.process.check_theta(&rows.theta).is_ok());
            let again = target(name, 7).sparse_rows(&catalogue, Seed::new(3)).unwrap();
            assert_eq!(again.theta, rows.theta);
            assert_ne!(target(name, 7).sparse_rows(&catalogue, Seed::new(4)).unwrap().theta, rows.theta);
        }
        let refused = |target: Target| target.sparse_rows(&catalogue, Seed::new(3)).map(|_| ()).unwrap_err();
        assert!(refused(target("no such set", 7)).to_string().contains("no such set"));
        assert!(refused(target("susy", 61)).to_string().contains("61"));
        assert!(refused(Target::Radon).to_string().contains("radon"));
    }
}
