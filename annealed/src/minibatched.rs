//! Bounds estimated from minibatches of the data.

use crate::{draw_subset, seen_len};

use mcsa_core::{Error, Estimator, Minibatch, Stream, Subsampled, same_length};
use serde::{Deserialize, Serialize};

use mcsa_estimators::ElboInfo;

/// Evidence lower bound of a separable target, from a fresh minibatch in every step.
///
/// ```text
/// I: B of N data, uniform without replacement;   log p(z) ~ log prior(z) + N/B sum_{i in I} l_i(z)
/// ```
/// The estimate of the bound and of its gradient stays unbiased (SL-DAIS, Sec. 2). `elbo` is [`Elbo`](mcsa_estimators::Elbo), or
/// [`FlowElbo`](mcsa_estimators::FlowElbo) for flows and annealed families. All its draws share the minibatch.
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_annealed::Minibatched;
/// use mcsa_estimators::{Ascent, Elbo};
/// use mcsa_families::FullRank;
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
    #[serde(skip)]
    seen: Vec<usize>,
}

impl Rows {
    /// The first `batch` rows.
    pub(crate) fn first(batch: usize) -> Self {
        Self { rows: (0..batch).collect(), seen: vec![0; seen_len(batch)] }
    }

    /// Checks that as many rows as a batch can be drawn from `data`.
    pub(crate) fn check(&self, batch: usize, data: usize) -> Result<(), Error> {
        same_length("rows of the minibatch", batch, self.rows.len())?;
        if batch > data {
            return Err(Error::invalid(format!("{batch} rows a batch, the target has {data}")));
        }
        Ok(())
    }

    /// Draws the rows anew, of `data`.
    pub(crate) fn draw(&mut self, stream: &mut Stream, data: usize) {
        self.seen.resize(seen_len(self.rows.len()), 0);
        draw_subset(data, &mut self.rows, &mut self.seen, |count| stream.index(count).unwrap_or(0));
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
        Minibatch::new(target, &rows).map_or(0, |target| self.elbo.work_len(&target, family))
    }

    fn init(&self, target: &P, family: &F, params: &[f64], lanes: &mut [Stream]) -> Result<Rows, Error> {
        let state = Rows::first(self.batch);
        state.check(self.batch, target.num_data()).map_err(|error| error.within("Minibatched"))?;
        let target = Minibatch::new(target, &state.rows).map_err(|error| error.within("Minibatched"))?;
        self.elbo.init(&target, family, params, &mut lanes[1..])?;
        Ok(state)
    }

    fn check(&self, target: &P, family: &F, state: &Rows) -> Result<(), Error> {
        state.check(self.batch, target.num_data())?;
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
        work: &mut [f64],
    ) -> Result<ElboInfo, Error> {
        let (own, lanes) = lanes.split_at_mut(1);
        state.draw(&mut own[0], target.num_data());
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
