//! Bounds estimated from minibatches of the data, and the models and random subsets that they need.

use mcsa_core::{Error, Estimator, Minibatch, Parametric, Pushforward, Stream, Subsampled, same_length};
use mcsa_estimators::{ElboInfo, FlowElbo};
use mcsa_models::LocalRobustRegression;
use serde::{Deserialize, Serialize};

use crate::dais::SemiAnnealed;
use crate::{LocalMinibatch, SparseGaussianProcess};

/// Evidence lower bound from a fresh minibatch I in every step: B of the N data, drawn uniformly without replacement.
///
/// | target | bound of a step |
/// |---|---|
/// | [`Subsampled`] | `log prior(z) + N/B sum_{i in I} l_i(z) - log q(z)` |
/// | [`LocalRobustRegression`], with [`SemiAnnealed`] | `log p(theta) - log q(theta) + N/B sum_{n in I} [l_n(w_n; theta) - log q_n(w_n)]` |
/// | [`SparseGaussianProcess`], with [`WithTheta`](mcsa_families::WithTheta) | `log N(u; 0, K) + N/B sum_{n in I} log p(y_n; u) - log q(u)`, ascended in lambda and theta together |
///
/// The estimate of the bound and of its gradient stays unbiased (SL-DAIS, Sec. 2). `elbo` is [`Elbo`](mcsa_estimators::Elbo), or
/// [`FlowElbo`] for flows and annealed families. All its draws share the minibatch. Local parameters of data outside the minibatch have
/// derivative zero in that step; an optimiser with momentum moves them on (SL-DAIS, App. A).
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
    rows: Vec<usize>,
    #[serde(skip)]
    seen: Vec<usize>,
}

impl Rows {
    /// The first `batch` rows.
    fn first(batch: usize) -> Self {
        Self { rows: (0..batch).collect(), seen: vec![0; seen_len(batch)] }
    }

    /// Draws the rows anew, of `data`.
    fn draw(&mut self, stream: &mut Stream, data: usize) {
        self.seen.resize(seen_len(self.rows.len()), 0);
        draw_subset(data, &mut self.rows, &mut self.seen, |count| stream.index(count).unwrap_or(0));
    }
}

/// `Ok` if as many rows as a batch can be drawn from `data`.
fn check_batch(batch: usize, data: usize) -> Result<(), Error> {
    if batch > data {
        return Err(
            Error::invalid(format!("{batch} rows a batch, the target has {data}")).within("Minibatched")
        );
    }
    Ok(())
}

/// Rows, if there are some and all are below the number of data; `what` has these data.
pub(crate) fn checked_rows<'a>(what: &str, data: usize, rows: &'a [usize]) -> Result<&'a [usize], Error> {
    match rows.iter().find(|&&row| row >= data) {
        Some(row) => Err(Error::invalid(format!("row {row} of a minibatch: the {what} has {data} data"))),
        None if rows.is_empty() => Err(Error::invalid("a minibatch has at least one row")),
        None => Ok(rows),
    }
}

/// Methods of [`Estimator`] by the bound of a minibatch that is drawn anew in every step; `$on` and `$part` are the target and the
/// family of its rows.
macro_rules! bound_of_minibatches {
    (
        $Model:ty, $Family:ty, $this:ident, ($model:ident, $rows:ident) => $on:expr, $family:ident => $part:expr
    ) => {
        type State = Rows;
        type Info = ElboInfo;

        fn num_params(&$this, $model: &$Model, $family: &$Family) -> usize {
            let $rows = &[0][..];
            $on.map_or(0, |target| $this.elbo.num_params(&target, $part))
        }

        fn check_params(&$this, $model: &$Model, $family: &$Family, params: &[f64]) -> Result<(), Error> {
            check_batch($this.batch, $model.num_data())?;
            let $rows = &[0][..];
            $this.elbo.check_params(&$on?, $part, params)
        }

        fn work_len(&$this, $model: &$Model, $family: &$Family) -> usize {
            let $rows = &vec![0; $this.batch][..];
            $on.map_or(0, |target| $this.elbo.work_len(&target, $part))
        }

        fn init(
            &$this,
            $model: &$Model,
            $family: &$Family,
            params: &[f64],
            lanes: &mut [Stream],
        ) -> Result<Rows, Error> {
            check_batch($this.batch, $model.num_data())?;
            let state = Rows::first($this.batch);
            {
                let $rows = &state.rows[..];
                let target = $on.map_err(|error| error.within("Minibatched"))?;
                $this.elbo.init(&target, $part, params, &mut lanes[1..])?;
            }
            Ok(state)
        }

        fn check(&$this, $model: &$Model, $family: &$Family, state: &Rows) -> Result<(), Error> {
            check_batch($this.batch, $model.num_data())?;
            same_length("rows of the minibatch", $this.batch, state.rows.len())?;
            let $rows = &state.rows[..];
            $this.elbo.check(&$on?, $part, &())
        }

        fn ascent_direction(
            &$this,
            $model: &$Model,
            $family: &$Family,
            params: &[f64],
            state: &mut Rows,
            lanes: &mut [Stream],
            direction: &mut [f64],
            work: &mut [f64],
        ) -> Result<ElboInfo, Error> {
            let (own, lanes) = lanes.split_at_mut(1);
            state.draw(&mut own[0], $model.num_data());
            let $rows = &state.rows[..];
            $this.elbo.ascent_direction(&$on?, $part, params, &mut (), lanes, direction, work)
        }
    };
}

impl<P, F, E> Estimator<P, F> for Minibatched<E>
where
    P: Subsampled + ?Sized,
    F: ?Sized,
    E: for<'a> Estimator<Minibatch<'a, P>, F, State = (), Info = ElboInfo>,
{
    bound_of_minibatches!(
        P, F, self, (target, rows) => Minibatch::new(target, rows), family => family
    );

    fn config(&self) -> String {
        format!("Minibatched {{ batch: {}, {} }}", self.batch, self.elbo.config())
    }

    fn family_config(&self, family: &F) -> String {
        self.elbo.family_config(family)
    }

    fn lanes(&self) -> usize {
        self.elbo.lanes() + 1
    }
}

impl Estimator<LocalRobustRegression, SemiAnnealed> for Minibatched<FlowElbo> {
    bound_of_minibatches!(
        LocalRobustRegression, SemiAnnealed, self, (model, rows) => same_length("data of the family", model.num_data(), family.model.num_data())
            .and_then(|()| LocalMinibatch::new(model, rows)),
        family => &family.on(rows)
    );

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn family_config(&self, family: &SemiAnnealed) -> String {
        family.config()
    }

    fn lanes(&self) -> usize {
        2
    }
}

impl<F: Pushforward + ?Sized> Estimator<SparseGaussianProcess, F> for Minibatched<FlowElbo> {
    bound_of_minibatches!(
        SparseGaussianProcess, F, self, (model, rows) => model.on(rows), family => family
    );

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn family_config(&self, family: &F) -> String {
        family.config()
    }

    fn lanes(&self) -> usize {
        2
    }
}

/// Length of the table `seen` that [`draw_subset`] needs for this number of rows: a hash table at most half full.
pub fn seen_len(rows: usize) -> usize {
    (2 * rows).next_power_of_two()
}

/// Inserts a row into the hash table `seen`; false if it is there.
fn insert(seen: &mut [usize], row: usize) -> bool {
    let mut at = row & (seen.len() - 1);
    while seen[at] != 0 {
        if seen[at] == row + 1 {
            return false;
        }
        at = (at + 1) & (seen.len() - 1);
    }
    seen[at] = row + 1;
    true
}

/// Uniform random subset of `0..data`, written to `rows` in no order (Floyd's algorithm; Bentley & Floyd 1987); `index(n)` is
/// uniform on `0..n`, such as [`Stream::index`](mcsa_core::Stream::index).
///
/// ```
/// use mcsa_annealed::{draw_subset, seen_len};
/// use mcsa_core::Seed;
/// let (mut stream, mut rows) = (Seed::new(1).stream(0, 0), [0; 3]);
/// let mut seen = vec![0; seen_len(3)];
/// draw_subset(10, &mut rows, &mut seen, |count| stream.index(count).unwrap_or(0));
/// assert!(rows.iter().all(|&row| row < 10) && rows[0] != rows[1] && rows[1] != rows[2] && rows[2] != rows[0]);
/// ```
pub fn draw_subset(
    data: usize,
    rows: &mut [usize],
    seen: &mut [usize],
    mut index: impl FnMut(usize) -> usize,
) {
    seen.fill(0);
    let first = data - rows.len();
    for (row, last) in rows.iter_mut().zip(first..) {
        let candidate = index(last + 1);
        *row = if insert(seen, candidate) { candidate } else { last };
        insert(seen, *row);
    }
}

/// Uniform random subset of `count` of `0..data`.
///
/// # Errors
/// If `count` is 0 or above `data`.
pub(crate) fn random_subset(data: usize, count: usize, stream: &mut Stream) -> Result<Vec<usize>, Error> {
    if count == 0 || count > data {
        return Err(Error::invalid(format!("a subset of {count} data: the target has {data}")));
    }
    let mut rows = vec![0; count];
    draw_subset(data, &mut rows, &mut vec![0; seen_len(count)], |count| stream.index(count).unwrap_or(0));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn subsets(with_replacement: bool) -> BTreeMap<Vec<usize>, f64> {
        let branches = mcsa_core::enumerate(1, 1000, |lanes| {
            let mut index = |count| lanes[0].index(count).expect("a count above 0");
            let mut rows = vec![0; 3];
            if with_replacement {
                rows.fill_with(|| index(5));
            } else {
                draw_subset(5, &mut rows, &mut vec![0; seen_len(3)], index);
            }
            rows.sort_unstable();
            rows
        });
        let mut total = BTreeMap::new();
        for branch in branches.expect("discrete decisions") {
            *total.entry(branch.outcome).or_insert(0.0) += branch.probability;
        }
        total
    }

    /// All ten subsets of three out of five, with equal probabilities; drawing with replacement is not that.
    #[test]
    fn subsets_are_equally_likely() {
        let total = subsets(false);
        assert_eq!(total.len(), 10);
        assert!(total.values().all(|p| (p - 0.1).abs() < 1e-14));
        assert!(subsets(true).len() > 10);
    }

    #[test]
    fn everything_is_a_subset() {
        let mut rows = vec![0; 40];
        draw_subset(40, &mut rows, &mut vec![0; seen_len(40)], |count| count / 2);
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..40));
    }
}
