//! Series by data set and method, and mean ranks.

use crate::catalog::{Ansatz, FamilyConfig};
use crate::look;
use crate::results::{Results, Series};
use mcsa_plot::Style;

/// Metrics that are ranked, with their titles; larger values are better.
pub(super) const RANKED: [(&str, &str); 3] =
    [("elbo", "ELBO"), ("lpd", "Test log predictive density"), ("accuracy", "Test accuracy")];

/// Results by data set and method. The first target of a data set counts, and methods that occur on all of these; further targets
/// and methods are variants of settings.
pub(super) struct Board<'r> {
    /// Labels of the first targets, with their series: one of each common method, in the order of the file.
    pub(super) sets: Vec<(String, Vec<Series<'r>>)>,
    /// Series of other targets and methods.
    pub(super) variants: Vec<Series<'r>>,
}

/// Name of a method: the family of a fit, with the number of steps of a path, or the kind of chains.
pub(super) fn name(series: &Series<'_>) -> String {
    match series.shape() {
        Some(FamilyConfig::Annealed(annealed)) => {
            let (name, _) = look::family(ansatz(annealed.surrogate));
            format!("{name} {}", annealed.steps)
        }
        Some(family) => look::family(family.kind()).0.to_owned(),
        None => look::name(series.method().kind()).to_owned(),
    }
}

/// Style of a method.
pub(super) fn style(series: &Series<'_>) -> Style {
    match series.shape() {
        Some(FamilyConfig::Annealed(annealed)) => look::family(ansatz(annealed.surrogate)).1,
        Some(family) => look::family(family.kind()).1,
        None => look::style(series.method()),
    }
}

/// Key of annealed paths in the list of looks.
fn ansatz(ansatz: Ansatz) -> &'static str {
    match ansatz {
        Ansatz::Posterior => "posterior",
        Ansatz::Minibatch => "minibatch",
        _ => "surrogate",
    }
}

/// Returns true for a family whose cost of a step does not grow with the data: all but DAIS. Chains are no family.
pub(super) fn is_scalable(series: &Series<'_>) -> bool {
    match series.shape() {
        Some(FamilyConfig::Annealed(annealed)) => annealed.surrogate != Ansatz::Posterior,
        shape => shape.is_some(),
    }
}

/// Returns true if two series have one method, on whatever target.
fn is_alike(a: &Series<'_>, b: &Series<'_>) -> bool {
    a.shape() == b.shape() && a.method() == b.method()
}

impl<'r> Board<'r> {
    /// Sorts the series of results.
    pub(super) fn of(results: &'r Results) -> Self {
        let (mut sets, mut variants) = (Vec::<(String, Vec<Series<'r>>)>::new(), Vec::new());
        for series in results.series() {
            let is_first = |other: &Series<'_>| series.target() == other.target();
            match sets.iter_mut().find(|(_, all)| all[0].target().data() == series.target().data()) {
                Some((_, all)) if is_first(&all[0]) => all.push(series),
                Some(_) => variants.push(series),
                None => sets.push((series.place(), vec![series])),
            }
        }
        let common: Vec<Vec<bool>> = sets
            .iter()
            .map(|(_, all)| {
                let is_common =
                    |one| sets.iter().all(|(_, others)| others.iter().any(|other| is_alike(one, other)));
                all.iter().map(is_common).collect()
            })
            .collect();
        for ((_, all), is_common) in sets.iter_mut().zip(common) {
            let (mut kept, mut is_common) = (Vec::new(), is_common.into_iter());
            for series in std::mem::take(all) {
                if is_common.next() == Some(true) { kept.push(series) } else { variants.push(series) }
            }
            *all = kept;
        }
        sets.retain(|(_, all)| !all.is_empty());
        Self { sets, variants }
    }

    /// One series of each method, those of the first data set.
    pub(super) fn methods(&self) -> &[Series<'r>] {
        self.sets.first().map_or(&[], |(_, all)| all)
    }

    /// One series of each scalable method.
    pub(super) fn scalable(&self) -> impl Iterator<Item = &Series<'r>> {
        self.methods().iter().filter(|series| is_scalable(series))
    }

    /// Mean rank over data sets of each scalable method, for every replicate with values of all methods on all sets. Rank 1 is the best;
    /// equal values share their mean rank.
    ///
    /// ```text
    /// rank_ms = 1 + #{better than m on s} + 1/2 #{others equal to m on s},   mean over s
    /// ```
    pub(super) fn ranks(&self, metric: &str) -> Vec<(String, Vec<f64>)> {
        let mut ranks: Vec<(String, Vec<f64>)> =
            self.scalable().map(|series| (name(series), Vec::new())).collect();
        let last = self.methods().iter().flat_map(|series| &series.outcomes).map(|o| o.job.replicate).max();
        for replicate in 0..=last.unwrap_or(0) {
            let values = |(_, all): &(String, Vec<Series<'_>>)| -> Option<Vec<f64>> {
                let scalable = all.iter().filter(|series| is_scalable(series));
                scalable.map(|series| series.end(replicate, metric)).collect()
            };
            let sets: Option<Vec<Vec<f64>>> = self.sets.iter().map(values).collect();
            let Some(sets) = sets.filter(|sets| !sets.is_empty()) else { continue };
            for (place, (_, ranks)) in ranks.iter_mut().enumerate() {
                let sum: f64 = sets.iter().map(|values| rank(values, place)).sum();
                ranks.push(sum / sets.len() as f64);
            }
        }
        ranks
    }
}

/// Rank of a value among values of which larger ones are better.
fn rank(values: &[f64], place: usize) -> f64 {
    let count = |is: fn(&f64, &f64) -> bool| values.iter().filter(|other| is(other, &values[place])).count();
    0.5 + count(|other, own| other > own) as f64 + 0.5 * count(|other, own| other == own) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_rank() {
        let values = [3.0, 1.0, 3.0, 7.0];
        let ranks: Vec<f64> = (0..4).map(|place| rank(&values, place)).collect();
        assert_eq!(ranks, [2.5, 4.0, 2.5, 1.0]);
        assert_eq!(rank(&[2.0; 7], 3), 4.0);
    }
}
