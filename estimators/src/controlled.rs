//! Control variates from the mean score of fresh draws.

use faer::Mat;
use mcsa_core::{Ensemble, Error, Estimator, Stream, all_finite, bits, borrow, same_length};
use serde::{Deserialize, Serialize};

/// An estimator that can also return the mean score of its fresh draws of `q_lambda`, a control variate of known mean zero.
pub trait Controllable<P: ?Sized, F: ?Sized>: Estimator<P, F> {
    /// As [`Estimator::ascent_direction`], bit-identical; the second slice, if given, receives the mean score of the fresh draws.
    ///
    /// # Errors
    /// As [`Estimator::ascent_direction`].
    #[expect(clippy::too_many_arguments, reason = "those of an estimator")]
    fn direction_and_control(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut Self::State,
        lanes: &mut [Stream],
        direction_and_control: (&mut [f64], Option<&mut [f64]>),
        work: &mut [f64],
    ) -> Result<Self::Info, Error>;
}

/// Regression control variate: an estimator minus its regression on the mean score of its fresh draws.
///
/// ```text
/// c_t = 1/M sum_j d/dlambda log q_lambda(z_j),   z_j ~ q_lambda fresh, so that E[c_t | past] = 0
/// g'_k = g_k - b_k c_k,    b_k = <g_k c_k> / <c_k^2>,    averages over earlier steps, decaying with `memory`
/// ```
///
/// The coefficient of each parameter depends on earlier steps only, so given these the mean of the direction is exactly
/// unchanged. Where q is near p most proposals are accepted and the direction is nearly `c`, so little noise is left close
/// to the optimum. Costs one score per fresh draw, and no evaluation of the target.
///
/// ```
/// use mcsa_estimators::{Controlled, pmcsa};
/// let estimator = Controlled::new(pmcsa(10));
/// assert_eq!(estimator.memory, 0.95);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controlled<E> {
    /// The estimator whose noise is reduced.
    pub estimator: E,
    /// Decay factor of the running averages per step, at least 0 and less than 1.
    pub memory: f64,
}

/// The state of [`Controlled`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlledState<S> {
    /// The state of the inner estimator.
    pub estimator: S,
    #[serde(with = "bits::vector")]
    products: Vec<f64>,
    #[serde(with = "bits::vector")]
    squares: Vec<f64>,
}

impl<E> Controlled<E> {
    /// A control variate with averages over about 20 steps, short because the coefficient has to follow lambda.
    pub const fn new(estimator: E) -> Self {
        Self { estimator, memory: 0.95 }
    }
}

impl<S> ControlledState<S> {
    /// The coefficient `b_k`; zero before the first step.
    pub fn coefficient(&self, k: usize) -> f64 {
        if self.squares[k] > 0.0 { self.products[k] / self.squares[k] } else { 0.0 }
    }
}

impl<E> Controlled<E> {
    /// The state around that of the inner estimator, before the first step.
    fn begin<S>(&self, params: &[f64], inner: Result<S, Error>) -> Result<ControlledState<S>, Error> {
        if !(0.0..1.0).contains(&self.memory) {
            let error = Error::parameter("memory", self.memory, "at least 0 and less than 1");
            return Err(error.within("Controlled"));
        }
        let zeros = vec![0.0; params.len()];
        Ok(ControlledState { estimator: inner?, products: zeros.clone(), squares: zeros })
    }
}

impl<P, F, E> Estimator<P, F> for Controlled<E>
where
    P: ?Sized,
    F: ?Sized,
    E: Controllable<P, F>,
{
    type State = ControlledState<E::State>;
    type Info = E::Info;

    fn config(&self) -> String {
        format!("Controlled {{ estimator: {}, memory: {:?} }}", self.estimator.config(), self.memory)
    }

    fn family_config(&self, family: &F) -> String {
        self.estimator.family_config(family)
    }

    fn verify(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        self.estimator.verify(target, family, &state.estimator)
    }

    fn num_params(&self, target: &P, family: &F) -> usize {
        self.estimator.num_params(target, family)
    }

    fn check_params(&self, target: &P, family: &F, params: &[f64]) -> Result<(), Error> {
        self.estimator.check_params(target, family, params)
    }

    fn lanes(&self) -> usize {
        self.estimator.lanes()
    }

    fn work_len(&self, target: &P, family: &F) -> usize {
        self.num_params(target, family) + self.estimator.work_len(target, family)
    }

    fn init(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        lanes: &mut [Stream],
    ) -> Result<Self::State, Error> {
        self.begin(params, self.estimator.init(target, family, params, lanes))
    }

    fn init_at(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        positions: Mat<f64>,
        lanes: &mut [Stream],
    ) -> Result<Self::State, Error> {
        self.begin(params, self.estimator.init_at(target, family, params, positions, lanes))
    }

    fn check(&self, target: &P, family: &F, state: &Self::State) -> Result<(), Error> {
        let num_params = self.num_params(target, family);
        let remembered = |what, numbers: &[f64]| {
            same_length(what, num_params, numbers.len())
                .and_then(|()| all_finite(what, numbers))
                .map_err(|error| error.within("Controlled"))
        };
        remembered("products", &state.products)?;
        remembered("squares", &state.squares)?;
        self.estimator.check(target, family, &state.estimator)
    }

    fn chains<'s>(&self, state: &'s Self::State) -> Option<&'s Ensemble> {
        self.estimator.chains(&state.estimator)
    }

    fn ascent_direction(
        &self,
        target: &P,
        family: &F,
        params: &[f64],
        state: &mut Self::State,
        lanes: &mut [Stream],
        direction: &mut [f64],
        mut work: &mut [f64],
    ) -> Result<E::Info, Error> {
        let control = borrow(&mut work, params.len());
        let both = (&mut *direction, Some(&mut *control));
        let info = self.estimator.direction_and_control(
            target,
            family,
            params,
            &mut state.estimator,
            lanes,
            both,
            work,
        )?;
        for (k, (g, &c)) in direction.iter_mut().zip(&*control).enumerate() {
            let coefficient = state.coefficient(k);
            // A step that is not finite ends the fit later; here it must not enter the averages.
            if (*g * c).is_finite() && (c * c).is_finite() {
                state.products[k] = self.memory * state.products[k] + (1.0 - self.memory) * (*g * c);
                state.squares[k] = self.memory * state.squares[k] + (1.0 - self.memory) * (c * c);
                *g -= coefficient * c;
            }
        }
        Ok(info)
    }
}
