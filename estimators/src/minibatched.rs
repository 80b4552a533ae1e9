//! Bounds estimated from minibatches of the data.

use mcsa_core::{Error, Estimator, Minibatch, Stream, Subsampled, borrow};
use serde::{Deserialize, Serialize};

use crate::ElboInfo;

/// Evidence lower bound of a separable target, from a fresh minibatch in every step.
///
/// ```text
/// I: B of N data, uniform without replacement;   log p(z) ~ log prior(z) + N/B sum_{i in I} l_i(z)
/// ```
/// The estimate of the bound and of its gradient stays unbiased (SL-DAIS, Sec. 2). `elbo` is [`Elbo`](crate::Elbo), or
/// [`FlowElbo`](crate::FlowElbo) for flows and annealed families. All its draws share the minibatch.
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_estimators::{Ascent, Elbo, Minibatched};
/// use mcsa_families::{FullRank, Parametric};
/// use mcsa_models::LogisticRegression;
/// use mcsa_optim::Adam;
/// let x = faer::Mat::from_fn(1000, 2, |i, k| if k == 0 { 1.0 } else { (i % 7) as f64 - 3.0 });
/// let y: Vec<f64> = (0..1000).map(|i| f64::from(u8::from(i % 7 > 2))).collect();
/// let (target, family) = (LogisticRegression::new(x.as_ref(), &y, 1.0)?, FullRank::new(2));
/// let (estimator, optimizer) = (Minibatched::new(50, Elbo::closed(1)), Adam::new(0.01)?);
/// let ascent = Ascent { target: &target, family: &family, estimator, optimizer, seed: Seed::new(1) };
/// let mut fit = ascent.start(vec![0.0; 5])?;
/// ascent.run(&mut fit, 100)?;
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Minibatched<E> {
    /// Number B of rows per step.
    pub batch: usize,
    /// Estimator of the bound.
    pub elbo: E,
}

impl<E> Minibatched<E> {
    /// The bound of `elbo` on minibatches of this size.
    pub const fn new(batch: usize, elbo: E) -> Self {
        Self { batch, elbo }
    }
}

/// Rows of the last minibatch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    pub(crate) rows: Vec<usize>,
}

impl Rows {
    /// The first `batch` rows.
    pub(crate) fn first(batch: usize) -> Self {
        Self { rows: (0..batch).collect() }
    }
}

impl<P, F, E> Estimator<P, F> for Minibatched<E>
where
    P: Subsampled + ?Sized,
    F: ?Sized,
    E: for<'a> Estimator<Minibatch<'a, P>, F, State = (), Info = ElboInfo>,
{
    type State = Rows;
    type Info = ElboInfo;

    fn config(&self) -> String {
        format!("Minibatched {{ batch: {}, {} }}", self.batch, self.elbo.config())
    }

    fn family_config(&self, family: &F) -> String {
        self.elbo.family_config(family)
    }

    fn num_params(&self, target: &P, family: &F) -> usize {
        on_first(target, |target| self.elbo.num_params(target, family)).unwrap_or(0)
    }

    fn check_params(&self, target: &P, family: &F, params: &[f64]) -> Result<(), Error> {
        on_first(target, |target| self.elbo.check_params(target, family, params))?
    }

    fn lanes(&self) -> usize {
        self.elbo.lanes() + 1
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        let rows = vec![0; self.batch];
        let inner = Minibatch::new(target, &rows).map_or(0, |target| self.elbo.work_len(&target, family));
        inner + table_len(self.batch)
    }

    fn init(&self, target: &P, family: &F, params: &[f64], lanes: &mut [Stream]) -> Result<Rows, Error> {
        let state = Rows::first(self.batch);
        if self.batch > target.num_data() {
            let data = target.num_data();
            return Err(Error::invalid(format!(
                "Minibatched: {} rows a batch, the target has {data}",
                self.batch
            )));
        }
        let target = Minibatch::new(target, &state.rows).map_err(|error| error.within("Minibatched"))?;
        self.elbo.init(&target, family, params, &mut lanes[1..])?;
        Ok(state)
    }

    fn check(&self, target: &P, family: &F, state: &Rows) -> Result<(), Error> {
        mcsa_core::same_length("rows of the minibatch", self.batch, state.rows.len())?;
        self.elbo.check(&Minibatch::new(target, &state.rows)?, family, &())
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut Rows,
        lanes: &mut [Stream],
        direction: &mut [f64],
        mut work: &mut [f64],
    ) -> Result<ElboInfo, Error> {
        let (own, lanes) = lanes.split_at_mut(1);
        draw_rows(&mut own[0], target.num_data(), &mut state.rows, borrow(&mut work, table_len(self.batch)));
        let target = Minibatch::new(target, &state.rows)?;
        self.elbo.ascent_direction(&target, family, params, &mut (), lanes, direction, work)
    }
}

/// Calls `f` with the minibatch of the first row.
fn on_first<P, T>(target: &P, f: impl FnOnce(&Minibatch<'_, P>) -> T) -> Result<T, Error>
where
    P: Subsampled + ?Sized,
{
    Minibatch::new(target, &[0]).map(|target| f(&target))
}

/// Number of cells of the hash table of [`draw_rows`]: at least twice the rows, a power of 2.
pub(crate) fn table_len(batch: usize) -> usize {
    (2 * batch).next_power_of_two()
}

/// Draws `rows.len()` of `count` numbers uniformly without replacement, by the algorithm of Floyd with a hash table.
///
/// Every set of rows has the same probability; the order of the rows is not uniform.
pub(crate) fn draw_rows(stream: &mut Stream, count: usize, rows: &mut [usize], table: &mut [f64]) {
    const EMPTY: f64 = -1.0;
    table.fill(EMPTY);
    let mask = table.len() - 1;
    // True if the number was new.
    let mut insert = |number: usize| {
        let mut cell = number.wrapping_mul(0x9E37_79B9) >> 7 & mask;
        while table[cell] != EMPTY {
            if table[cell] == number as f64 {
                return false;
            }
            cell = (cell + 1) & mask;
        }
        table[cell] = number as f64;
        true
    };
    let first = count - rows.len();
    for (k, row) in rows.iter_mut().enumerate() {
        let last = first + k;
        *row = stream.index(last + 1).filter(|&chosen| insert(chosen)).unwrap_or(last);
        if *row == last {
            insert(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::enumerate;

    fn rows_of(count: usize, batch: usize) -> Vec<(f64, Vec<usize>)> {
        let draw = |lanes: &mut [Stream]| {
            let (mut rows, mut table) = (vec![0; batch], vec![0.0; table_len(batch)]);
            draw_rows(&mut lanes[0], count, &mut rows, &mut table);
            rows.sort_unstable();
            rows
        };
        let branches = enumerate(1, 10_000, draw).unwrap();
        branches.into_iter().map(|branch| (branch.probability, branch.outcome)).collect()
    }

    /// Every set of three of six numbers has probability 1/20, computed over all decisions.
    #[test]
    fn sets_are_uniform() {
        let branches = rows_of(6, 3);
        let mut sets: Vec<Vec<usize>> = branches.iter().map(|(_, rows)| rows.clone()).collect();
        sets.sort();
        sets.dedup();
        assert_eq!(sets.len(), 20);
        for set in sets {
            let probability: f64 = branches.iter().filter(|(_, rows)| *rows == set).map(|(p, _)| p).sum();
            assert!((probability - 0.05).abs() < 1e-14, "{set:?}: {probability}");
        }
    }

    #[test]
    fn all_rows_are_all_rows() {
        assert!(rows_of(4, 4).iter().all(|(_, rows)| rows == &[0, 1, 2, 3]));
    }
}
