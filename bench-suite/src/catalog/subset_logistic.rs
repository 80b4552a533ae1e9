//! Subset of a large data set, or of its synthetic stand-in.

use mcsa_core::{Error, Seed};
use mcsa_data::{Catalogue, DataError, Dataset, Split, Standardised, Strata};

use super::Target;

/// Number of rows of a stand-in for each row that is used, so that subsets of any ratio can be drawn.
const SPARE: usize = 4;

impl Target {
    /// Training rows and held-out rows of a subset, standardised by the former.
    ///
    /// `replicate` is the seed of the job, from which the subset is drawn if each replicate has its own. Rows without any measurement are
    /// left out. Held-out rows are drawn first: subsets that differ in the ratio alone have the same,
    /// and of two of them the training rows with the rarer label are among those of the other.
    ///
    /// # Errors
    /// If the target is another, a setting is invalid, data cannot be loaded, or there are too few rows with a label.
    pub(super) fn subset_rows(
        &self,
        catalogue: &Catalogue,
        replicate: Seed,
    ) -> Result<(Dataset, Dataset), Error> {
        let Self::SubsetLogistic { data, rows, held_out, ratio, seed, splits, .. } = self else {
            return Err(Error::invalid(format!("{} is no subset", self.kind())));
        };
        self.check_size()?;
        let seed = Seed::new(*seed).named(self.kind());
        let all = whole(catalogue, data, rows.saturating_add(*held_out), seed)?;
        let seed = if *splits { replicate.named(self.kind()) } else { seed };
        let strata = Strata { train: *rows, test: *held_out, ratio: *ratio };
        let Standardised { train, test, .. } = Standardised::new(&Split::stratified(&all, strata, seed)?)?;
        Ok((train, test))
    }
}

/// The data set without rows that have no measurement; if it is absent, a stand-in that has a few times as many rows as are used.
pub(super) fn whole(
    catalogue: &Catalogue,
    name: &str,
    used: usize,
    seed: Seed,
) -> Result<Dataset, DataError> {
    let set = match catalogue.load(name) {
        Err(error) if error.is_absent() => {
            let most = catalogue.entry(name)?.rows;
            catalogue.stand_in(name, Some(used.saturating_mul(SPARE).min(most)), seed)?
        }
        found => found?,
    };
    Ok(match catalogue.entry(name)?.missing {
        Some(code) => set.without_rows_of(code),
        None => set,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Job, Task};

    fn target(data: &str, ratio: Option<f64>) -> Target {
        let (data, rows, held_out, prior_scale) = (data.to_owned(), 300, 100, 1.0);
        Target::SubsetLogistic {
            name: None,
            data,
            rows,
            held_out,
            ratio,
            prior_scale,
            seed: 1,
            splits: false,
        }
    }

    #[test]
    fn an_absent_set_is_stood_in_for_and_says_so() {
        let catalogue = Catalogue::new(None);
        for name in ["higgs", "susy", "miniboone", "covtype", "covtype_fir"] {
            let (train, test) = target(name, None).subset_rows(&catalogue, Seed::new(7)).unwrap();
            assert_eq!((train.rows(), test.rows()), (300, 100));
            assert!(train.origin.is_synthetic() && target(name, None).digest(&catalogue).unwrap().is_none());
            let mean = train.x.col_as_slice(0).iter().sum::<f64>() / 300.0;
            assert!(mean.abs() < 1e-12 && (0..300).all(|row| train.x[(row, 0)] > -900.0), "{name}");
        }
        let (train, _) = target("pima", None).subset_rows(&catalogue, Seed::new(7)).unwrap();
        assert!(!train.origin.is_synthetic() && target("pima", None).digest(&catalogue).unwrap().is_some());
        // Counterexamples: a set without stand-in, and targets on whole sets.
        assert!(target("magic_gamma_full", None).subset_rows(&catalogue, Seed::new(7)).is_err());
        let (data, standardised) = ("susy".to_owned(), true);
        assert!(Target::Logistic { data, standardised, prior_scale: 1.0 }.digest(&catalogue).is_err());
    }

    #[test]
    fn the_ratio_is_that_of_the_training_rows_alone() {
        let catalogue = Catalogue::new(None);
        let ones = |data: &Dataset| data.y.iter().sum::<f64>();
        let (even, test) = target("susy", Some(0.5)).subset_rows(&catalogue, Seed::new(7)).unwrap();
        let (rare, same) = target("susy", Some(0.02)).subset_rows(&catalogue, Seed::new(7)).unwrap();
        assert_eq!((ones(&even), ones(&rare)), (150.0, 6.0));
        assert_eq!(test.y, same.y);
        assert!((30.0..70.0).contains(&ones(&test)));
        assert!(target("susy", Some(0.0)).subset_rows(&catalogue, Seed::new(7)).is_err());
    }

    #[test]
    fn replicates_share_their_rows_unless_they_split() {
        let catalogue = Catalogue::new(None);
        let rows = |splits, replicate| {
            let mut target = target("susy", None);
            if let Target::SubsetLogistic { splits: of, .. } = &mut target {
                *of = splits;
            }
            target.subset_rows(&catalogue, Seed::new(replicate)).unwrap().0.x
        };
        assert_eq!(rows(false, 1), rows(false, 2));
        assert_eq!(rows(true, 1), rows(true, 1));
        assert_ne!(rows(true, 1), rows(true, 2));
    }

    #[test]
    fn a_label_of_its_own_takes_the_place_of_the_data_set() {
        let mut named = target("susy", None);
        assert_eq!(named.label(), "susy");
        if let Target::SubsetLogistic { name, .. } = &mut named {
            *name = Some("small".into());
        }
        assert_eq!((named.label(), named.data()), ("small", Some("susy")));
    }

    /// The kind of a stand-in is part of the name of a job: results on it are not those of an imported set.
    #[test]
    fn jobs_know_their_origin() {
        let experiment = "id = 'x'\ntitle = 'x'\nreproduces = []\nseed = 3\n".to_owned()
            + &["quick", "default", "paper"]
                .map(|name| format!("[preset.{name}]\nreplicates = 1\nsteps = 3\n"))
                .concat()
            + "[fits]\nstart = { kind = 'standard' }\ntrace = { points = 1, spacing = 'even' }\n\
               [[fits.optimizer]]\nkind = 'adam'\nrate = 0.1\n\
               [[fits.target]]\nkind = 'subset-logistic'\ndata = ['susy', 'pima']\nrows = 20\nheld_out = 10\nprior_scale = 1.0\n\
               seed = 1\n[[fits.family]]\nkind = 'mean-field'\n[[fits.method]]\nkind = 'pmcsa'\nchains = 2\n";
        let experiment = crate::experiment::Experiment::parse("x.toml", &experiment).unwrap();
        let quick = crate::experiment::PresetName::Quick;
        let plan = crate::plan::plan(&experiment, quick, &Catalogue::new(None)).unwrap();
        assert!(plan.absent.is_empty());
        let [absent, carried] = &plan.jobs[..] else { panic!("two jobs") };
        assert!(absent.is_stand_in() && absent.title().starts_with("x, SYNTHETIC susy"));
        assert!(!carried.is_stand_in() && carried.title().starts_with("x, pima"));
        let imported = Job { data: Some("digest".into()), ..absent.clone() };
        assert!(imported.id() != absent.id() && !imported.is_stand_in());
        assert!(matches!(&absent.task, Task::Fit(fit) if fit.target.stands_in()));
    }
}
