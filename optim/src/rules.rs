//! Ascent rules: stochastic gradient ascent, momentum, adaptive step lengths, and distance over gradients.

use mcsa_core::numeric::vectorised;
use mcsa_core::{Error, Optimizer, all_finite, bits, positive, same_length};
use serde::{Deserialize, Serialize};

use crate::{IntoSchedule, Schedule};

/// `Ok` if `value` is not negative, and finite.
pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<(), Error> {
    let is_good = value >= 0.0 && value.is_finite();
    if is_good { Ok(()) } else { Err(Error::parameter(name, value, "at least 0 and finite")) }
}

/// `Ok` if `value` is in `[0, 1)`.
fn fraction(name: &'static str, value: f64) -> Result<(), Error> {
    let is_good = (0.0..1.0).contains(&value);
    if is_good { Ok(()) } else { Err(Error::parameter(name, value, "at least 0 and less than 1")) }
}

/// `Ok` if a vector of a saved state has length `num_params` and is finite.
pub(crate) fn check_state(what: &'static str, num_params: usize, values: &[f64]) -> Result<(), Error> {
    same_length(what, num_params, values.len())?;
    all_finite(what, values)
}

/// `Ok` if a vector of sums of squares has length `num_params`, is finite and has no negative value.
fn check_squares(what: &'static str, num_params: usize, values: &[f64]) -> Result<(), Error> {
    check_state(what, num_params, values)?;
    match values.iter().find(|value| **value < 0.0) {
        None => Ok(()),
        Some(value) => Err(Error::parameter(what, *value, "a sum of squares")),
    }
}

/// Asserts that the state, the params and the direction passed to `ascend` have equal lengths.
fn assert_lengths(stored: usize, params: &[f64], direction: &[f64]) {
    assert!(stored == params.len() && params.len() == direction.len(), "one number per param");
}

/// A rule with a rate and further constants, each with its domain and its default, and a state of one number or two per parameter.
/// The last argument is the step: with the constants, the rate of the step, the state, the params and the direction.
macro_rules! rule {
    (
        $(#[$doc:meta])* $Rule:ident { $($constant:ident: $domain:ident = $default:literal),+ }
        $(#[$state_doc:meta])* $State:ident { $length:ident: $what:literal $check:ident $(, $other:ident: $other_what:literal $other_check:ident)? }
        in $module:ident by |$settings:ident, $rate:ident, $at:ident, $params:ident, $direction:ident| $step:block
    ) => {
        mod $module {
            use super::*;

            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            #[serde(try_from = "Written")]
            pub struct $Rule(Settings);

            #[derive(Debug, Clone, PartialEq, Serialize)]
            pub(super) struct Settings {
                pub(super) rate: Schedule,
                $(pub(super) $constant: f64),+
            }

            /// Settings of a file, in which constants may be absent.
            #[derive(Deserialize)]
            #[serde(deny_unknown_fields)]
            struct Written {
                rate: Schedule,
                $($constant: Option<f64>),+
            }

            $(#[$state_doc])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            pub struct $State {
                pub(super) steps: u64,
                #[serde(with = "bits::vector")]
                pub(super) $length: Vec<f64>,
                $(#[serde(with = "bits::vector")]
                pub(super) $other: Vec<f64>,)?
            }

            impl $Rule {
                #[doc = concat!("The rule with a constant rate or a schedule, and", $(" ", stringify!($constant), " ", $default,)+ ".")]
                ///
                /// # Errors
                /// If the rate is not positive and finite.
                pub fn new(rate: impl IntoSchedule) -> Result<Self, Error> {
                    Self::with(rate, $($default),+)
                }

                /// The rule with all its constants.
                ///
                /// # Errors
                /// If the rate or epsilon is not positive and finite, or another constant is outside `[0, 1)`.
                pub fn with(rate: impl IntoSchedule, $($constant: f64),+) -> Result<Self, Error> {
                    let within = |error: Error| error.within(stringify!($Rule));
                    let rate = rate.into_schedule().map_err(within)?;
                    $($domain(stringify!($constant), $constant).map_err(within)?;)+
                    Ok(Self(Settings { rate, $($constant),+ }))
                }

                /// The schedule of the rate `gamma_t`.
                pub fn rate(&self) -> &Schedule {
                    &self.0.rate
                }
            }

            impl TryFrom<Written> for $Rule {
                type Error = Error;

                fn try_from(written: Written) -> Result<Self, Error> {
                    Self::with(written.rate, $(written.$constant.unwrap_or($default)),+)
                }
            }

            impl Optimizer for $Rule {
                type State = $State;

                fn config(&self) -> String {
                    format!("{self:?}")
                }

                fn init(&self, num_params: usize) -> $State {
                    $State { steps: 0, $length: vec![0.0; num_params] $(, $other: vec![0.0; num_params])? }
                }

                fn check(&self, num_params: usize, state: &$State) -> Result<(), Error> {
                    $check($what, num_params, &state.$length)
                        $(.and_then(|()| $other_check($other_what, num_params, &state.$other)))?
                        .map_err(|error| error.within(stringify!($Rule)))
                }

                fn ascend(&self, $at: &mut $State, $params: &mut [f64], $direction: &[f64]) {
                    assert_lengths($at.$length.len(), $params, $direction);
                    $at.steps += 1;
                    let ($settings, $rate) = (&self.0, self.0.rate.at($at.steps));
                    vectorised(
                        #[inline(always)]
                        || $step,
                    );
                }
            }
        }
        pub use $module::{$Rule, $State};
    };
}

/// Stochastic gradient ascent (Robbins & Monro 1951).
///
/// ```text
/// lambda <- lambda + gamma_t g
/// ```
/// The convergence theory of stochastic approximation is about this rule. The length of a step is proportional to that of the
/// direction, so a rate that suits one scaling of lambda may be far too large or too small for another.
///
/// Units: the rate is in [units of lambda squared](crate#units-of-the-rate).
///
/// ```
/// use mcsa_core::Optimizer;
/// use mcsa_optim::{Schedule, Sgd};
/// let sgd = Sgd::new(Schedule::inverse(0.5)?)?;
/// let (mut state, mut params) = (sgd.init(1), [0.0]);
/// sgd.ascend(&mut state, &mut params, &[4.0]); // 0.5/1 * 4
/// sgd.ascend(&mut state, &mut params, &[4.0]); // 0.5/2 * 4
/// assert_eq!(params, [3.0]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sgd {
    /// The schedule of the rate `gamma_t`.
    pub rate: Schedule,
}

/// State of [`Sgd`]: the number of steps taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SgdState {
    steps: u64,
    num_params: usize,
}

impl Sgd {
    /// Gradient ascent with a constant rate or a schedule.
    ///
    /// # Errors
    /// If the rate is not positive and finite.
    pub fn new(rate: impl IntoSchedule) -> Result<Self, Error> {
        let rate = rate.into_schedule().map_err(|error| error.within("Sgd"))?;
        Ok(Self { rate })
    }
}

impl Optimizer for Sgd {
    type State = SgdState;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn init(&self, num_params: usize) -> SgdState {
        SgdState { steps: 0, num_params }
    }

    fn check(&self, num_params: usize, state: &SgdState) -> Result<(), Error> {
        same_length("params", num_params, state.num_params).map_err(|error| error.within("Sgd"))
    }

    fn ascend(&self, state: &mut SgdState, params: &mut [f64], direction: &[f64]) {
        assert_lengths(state.num_params, params, direction);
        state.steps += 1;
        let rate = self.rate.at(state.steps);
        for (param, &g) in params.iter_mut().zip(direction) {
            *param += rate * g;
        }
    }
}

rule! {
    /// Gradient ascent with heavy-ball momentum (Polyak 1964).
    ///
    /// ```text
    /// v <- momentum v + gamma_t g        lambda <- lambda + v
    /// ```
    /// The rate is part of the velocity `v`, so a smaller rate does not reduce the velocity gained before. Over all later steps a
    /// direction contributes `1 / (1 - momentum)` times its first step: with momentum 0.9, use a tenth of the rate of
    /// [`Sgd`].
    ///
    /// Units: the rate is in [units of lambda squared](crate#units-of-the-rate).
    ///
    /// ```
    /// use mcsa_core::Optimizer;
    /// let heavy = mcsa_optim::Momentum::with(0.1, 0.5)?;
    /// let (mut state, mut params) = (heavy.init(1), [0.0]);
    /// heavy.ascend(&mut state, &mut params, &[10.0]);
    /// heavy.ascend(&mut state, &mut params, &[0.0]); // it rolls on
    /// assert_eq!(params, [1.5]);
    /// # Ok::<(), mcsa_core::Error>(())
    /// ```
    Momentum { momentum: fraction = 0.9 }
    /// State of [`Momentum`]: the velocity.
    MomentumState { velocity: "velocity" check_state }
    in heavy_ball by |settings, rate, state, params, direction| {
        for ((param, &g), v) in params.iter_mut().zip(direction).zip(&mut state.velocity) {
            *v = settings.momentum * *v + rate * g;
            *param += *v;
        }
    }
}

rule! {
    /// Gradient ascent with Nesterov's momentum (Nesterov 1983, as restated by Sutskever et al. 2013).
    ///
    /// ```text
    /// v <- momentum v + gamma_t g        lambda <- lambda + momentum v + gamma_t g
    /// ```
    /// Lambda is here the look-ahead point, to which the velocity alone would lead and at which the next direction is estimated (Bengio
    /// et al. 2013); so the rule is used exactly like [`Momentum`]. With noisy directions the accelerated rate of the
    /// deterministic rule is lost, but the damping of oscillations remains.
    ///
    /// Units: the rate is in [units of lambda squared](crate#units-of-the-rate).
    ///
    /// ```
    /// use mcsa_core::Optimizer;
    /// let nesterov = mcsa_optim::Nesterov::with(0.1, 0.5)?;
    /// let (mut state, mut params) = (nesterov.init(1), [0.0]);
    /// nesterov.ascend(&mut state, &mut params, &[10.0]);
    /// assert_eq!(params, [1.5]); // the step, and half of it ahead
    /// # Ok::<(), mcsa_core::Error>(())
    /// ```
    Nesterov { momentum: fraction = 0.9 }
    /// State of [`Nesterov`]: the velocity.
    NesterovState { velocity: "velocity" check_state }
    in nesterov by |settings, rate, state, params, direction| {
        let momentum = settings.momentum;
        for ((param, &g), v) in params.iter_mut().zip(direction).zip(&mut state.velocity) {
            *v = momentum * *v + rate * g;
            *param += momentum * *v + rate * g;
        }
    }
}

rule! {
    /// Adam with bias correction (Kingma & Ba 2015, Alg. 1), as an ascent rule.
    ///
    /// ```text
    /// m <- b1 m + (1 - b1) g        v <- b2 v + (1 - b2) g^2
    /// lambda <- lambda + gamma_t * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
    /// ```
    /// A step is at most about `gamma_t` long in each coordinate, whatever the scale of the direction. With a constant rate Adam does
    /// not converge but fluctuates around the optimum; on some convex problems it does not converge with a decreasing rate either
    /// (Reddi, Kale & Kumar 2018).
    ///
    /// Units: the rate is in [units of lambda](crate#units-of-the-rate).
    ///
    /// ```
    /// use mcsa_core::Optimizer;
    /// let adam = mcsa_optim::Adam::new(0.1)?;
    /// let (mut state, mut params) = (adam.init(1), [0.0]);
    /// adam.ascend(&mut state, &mut params, &[3.0]);
    /// assert!((params[0] - 0.1).abs() < 1e-9); // the first step has the length of the rate
    /// # Ok::<(), mcsa_core::Error>(())
    /// ```
    Adam { momentum: fraction = 0.9, memory: fraction = 0.999, epsilon: positive = 1e-8 }
    /// State of [`Adam`]: running means of the directions and of their squares.
    AdamState { first: "first moments" check_state, second: "second moments" check_squares }
    in adam by |settings, rate, state, params, direction| {
        let (momentum, memory, t) = (settings.momentum, settings.memory, state.steps as f64);
        let (first_bias, second_bias) = (1.0 - momentum.powf(t), 1.0 - memory.powf(t));
        let moments = state.first.iter_mut().zip(&mut state.second);
        for ((param, &g), (m, v)) in params.iter_mut().zip(direction).zip(moments) {
            *m = momentum * *m + (1.0 - momentum) * g;
            *v = memory * *v + (1.0 - memory) * g * g;
            // After some 350 steps the first bias is exactly 1: the compiler makes a loop of its own for it, without a division.
            let first = if first_bias == 1.0 { *m } else { *m / first_bias };
            *param += rate * first / ((*v / second_bias).sqrt() + settings.epsilon);
        }
    }
}

rule! {
    /// RMSProp (Tieleman & Hinton 2012, lecture 6.5): steps divided by the root of a running mean of squared directions.
    ///
    /// ```text
    /// v <- memory v + (1 - memory) g^2        lambda <- lambda + gamma_t g / (sqrt(v) + epsilon)
    /// ```
    /// There is no bias correction: the first step is `1 / sqrt(1 - memory)` times the rate, 3.2 times with the default memory of 0.9.
    /// [`Adam`] has a bias correction.
    ///
    /// Units: the rate is in [units of lambda](crate#units-of-the-rate).
    ///
    /// ```
    /// use mcsa_core::Optimizer;
    /// let rms = mcsa_optim::RmsProp::with(0.1, 0.75, 1e-12)?;
    /// let (mut state, mut params) = (rms.init(1), [0.0]);
    /// rms.ascend(&mut state, &mut params, &[1000.0]);
    /// assert!((params[0] - 0.2).abs() < 1e-12);
    /// # Ok::<(), mcsa_core::Error>(())
    /// ```
    RmsProp { memory: fraction = 0.9, epsilon: positive = 1e-8 }
    /// State of [`RmsProp`]: for each coordinate, the running mean of squared directions.
    RmsPropState { squares: "squares" check_squares }
    in rms_prop by |settings, rate, state, params, direction| {
        let memory = settings.memory;
        for ((param, &g), v) in params.iter_mut().zip(direction).zip(&mut state.squares) {
            *v = memory * *v + (1.0 - memory) * g * g;
            *param += rate * g / (v.sqrt() + settings.epsilon);
        }
    }
}

rule! {
    /// AdaGrad, diagonal version (Duchi, Hazan & Singer 2011): steps divided by the root of the sum of all squared directions.
    ///
    /// ```text
    /// v <- v + g^2        lambda <- lambda + gamma_t g / (sqrt(v) + epsilon)
    /// ```
    /// With a constant rate the steps already decrease like `1 / sqrt(t)`. All directions count equally: directions that are large at
    /// the start, far from the optimum, make all later steps small.
    ///
    /// Units: the rate is in [units of lambda](crate#units-of-the-rate).
    ///
    /// ```
    /// use mcsa_core::Optimizer;
    /// let ada = mcsa_optim::AdaGrad::new(1.0)?;
    /// let (mut state, mut params) = (ada.init(1), [0.0]);
    /// ada.ascend(&mut state, &mut params, &[3.0]); // 3 / 3
    /// ada.ascend(&mut state, &mut params, &[4.0]); // 4 / 5
    /// assert!((params[0] - 1.8).abs() < 1e-8);
    /// # Ok::<(), mcsa_core::Error>(())
    /// ```
    AdaGrad { epsilon: positive = 1e-8 }
    /// State of [`AdaGrad`]: for each coordinate, the sum of squares of all directions.
    AdaGradState { squares: "squares" check_squares }
    in ada_grad by |settings, rate, state, params, direction| {
        for ((param, &g), v) in params.iter_mut().zip(direction).zip(&mut state.squares) {
            *v += g * g;
            *param += rate * g / (v.sqrt() + settings.epsilon);
        }
    }
}

/// Distance over gradients, DoG (Ivgi, Hinder & Carmon 2023): stochastic gradient ascent without a learning rate.
///
/// ```text
/// r_t = max(movement (1 + |lambda_0|), max_{i <= t} |lambda_i - lambda_0|)        G_t = sum_{i <= t} |g_i|^2
/// lambda_{t+1} = lambda_t + (r_t / sqrt(G_t)) g_t
/// ```
/// The length of a step is proportional to the largest distance from the start so far. The only constant is the length of the first
/// step, `movement`, relative to `1 + |lambda_0|`. It must be small beside the distance to the optimum; making it ten times smaller
/// costs only a few more steps. The published guarantee is for an average of the iterates: wrap the rule in
/// [`Averaged`](crate::Averaged), as the authors do. All coordinates share one step length, so they should have similar scales.
///
/// As long as all directions are zero, lambda does not move.
///
/// Units: `movement` is relative to `1 + |lambda_0|`, so the first step is about `movement` in units of lambda. A posterior standard
/// deviation below that needs a smaller `movement` or a [`Whitened`](mcsa_core::Whitened) target.
///
/// ```
/// use mcsa_core::Optimizer;
/// let dog = mcsa_optim::Dog::new(0.1)?;
/// let (mut state, mut params) = (dog.init(2), [0.0, 0.0]);
/// dog.ascend(&mut state, &mut params, &[30.0, 40.0]); // 0.1 / 50 * direction
/// assert!((params[0] - 0.06).abs() < 1e-12 && (params[1] - 0.08).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Dog(Settings);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    movement: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { movement: 1e-6 }
    }
}

/// State of [`Dog`]: the start, the largest distance from it, and the sum of squared norms of the directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DogState {
    steps: u64,
    #[serde(with = "bits::vector")]
    start: Vec<f64>,
    #[serde(with = "bits::scalar")]
    farthest: f64,
    #[serde(with = "bits::scalar")]
    squares: f64,
}

impl Dog {
    /// The rule with `movement`, the length of the first step relative to `1 + |lambda_0|`; the default is that of the authors'
    /// program, `1e-6`.
    ///
    /// # Errors
    /// If `movement` is not positive and finite.
    pub fn new(movement: f64) -> Result<Self, Error> {
        Self::try_from(Settings { movement })
    }
}

impl TryFrom<Settings> for Dog {
    type Error = Error;

    fn try_from(settings: Settings) -> Result<Self, Error> {
        positive("movement", settings.movement).map_err(|error| error.within("Dog"))?;
        Ok(Self(settings))
    }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

impl Optimizer for Dog {
    type State = DogState;

    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn init(&self, num_params: usize) -> DogState {
        DogState { steps: 0, start: vec![0.0; num_params], farthest: 0.0, squares: 0.0 }
    }

    fn check(&self, num_params: usize, state: &DogState) -> Result<(), Error> {
        check_state("start", num_params, &state.start)
            .and_then(|()| not_negative("farthest", state.farthest))
            .and_then(|()| not_negative("squares", state.squares))
            .map_err(|error| error.within("Dog"))
    }

    fn ascend(&self, state: &mut DogState, params: &mut [f64], direction: &[f64]) {
        assert_lengths(state.start.len(), params, direction);
        if state.steps == 0 {
            state.start.copy_from_slice(params);
            state.farthest = self.0.movement * (1.0 + norm(params.iter().copied()));
        }
        state.steps += 1;
        let came = norm(params.iter().zip(&state.start).map(|(param, start)| param - start));
        state.farthest = state.farthest.max(came);
        state.squares += direction.iter().map(|g| g * g).sum::<f64>();
        if state.squares == 0.0 {
            return;
        }
        let rate = state.farthest / state.squares.sqrt();
        for (param, &g) in params.iter_mut().zip(direction) {
            *param += rate * g;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On `-h x^2 / 2` the error obeys `x'' = (1 + m - r h) x' - m x`: solved with its roots 3/4 and 1/4.
    #[test]
    fn on_a_parabola_momentum_is_a_recurrence_of_second_order() {
        let (root, other) = (0.75_f64, 0.25_f64);
        let momentum = root * other;
        let rate_times_curvature = 1.0 + momentum - (root + other);
        let heavy = Momentum::with(rate_times_curvature / 3.0, momentum).unwrap();
        let (mut state, mut params) = (heavy.init(1), [1.0]);
        // The velocity starts at 0: the first point and the one before it are both 1.
        let first = (1.0 - other) / (root - other);
        for t in 1..30 {
            let direction = [-3.0 * params[0]];
            heavy.ascend(&mut state, &mut params, &direction);
            let expected = first * root.powi(t + 1) + (1.0 - first) * other.powi(t + 1);
            assert!((params[0] - expected).abs() < 1e-14, "{t}: {} {expected}", params[0]);
        }
    }

    /// The two sequences of the literature: look-ahead points y, iterates x, directions estimated at y.
    #[test]
    fn params_of_nesterov_are_the_points_ahead() {
        let (rate, momentum, curvature) = (0.1, 0.8, 3.0);
        let nesterov = Nesterov::with(rate, momentum).unwrap();
        let (mut state, mut params) = (nesterov.init(1), [1.0]);
        let (mut x, mut y) = (1.0_f64, 1.0_f64);
        for t in 0..40 {
            let direction = [-curvature * params[0]];
            nesterov.ascend(&mut state, &mut params, &direction);
            let next = y + rate * (-curvature * y);
            y = next + momentum * (next - x);
            x = next;
            assert!((params[0] - y).abs() < 1e-14, "{t}");
        }
    }

    #[test]
    fn three_steps_of_adam_by_hand() {
        let adam = Adam::with(0.5, 0.5, 0.75, 1e-8).unwrap();
        let (mut state, mut params) = (adam.init(1), [1.0]);
        let (mut m, mut v, mut x) = (0.0_f64, 0.0_f64, 1.0_f64);
        for (t, g) in [(1, 2.0_f64), (2, -1.0), (3, 0.5)] {
            adam.ascend(&mut state, &mut params, &[g]);
            m = 0.5 * m + 0.5 * g;
            v = 0.75 * v + 0.25 * g * g;
            x += 0.5 * (m / (1.0 - 0.5_f64.powi(t))) / ((v / (1.0 - 0.75_f64.powi(t))).sqrt() + 1e-8);
            assert!((params[0] - x).abs() < 1e-14);
        }
    }

    #[test]
    fn the_schedule_scales_each_step() {
        let adam = Adam::with(Schedule::inverse(1.0).unwrap(), 0.0, 0.0, 1e-300).unwrap();
        let (mut state, mut params) = (adam.init(1), [0.0]);
        let harmonic = [1.0, 1.5, 1.5 + 1.0 / 3.0];
        for expected in harmonic {
            adam.ascend(&mut state, &mut params, &[5.0]);
            assert_eq!(params[0], expected);
        }
        let text = r#"{"rate":{"kind":"inverse","gamma":1},"momentum":0,"memory":0,"epsilon":1e-300}"#;
        assert_eq!(serde_json::from_str::<Adam>(text).unwrap(), adam);
    }

    #[test]
    fn two_steps_of_rms_prop_by_hand() {
        let rms = RmsProp::with(0.5, 0.75, 1e-300).unwrap();
        let (mut state, mut params) = (rms.init(2), [1.0, 0.0]);
        rms.ascend(&mut state, &mut params, &[4.0, 0.0]); // v = 4, step 0.5 * 4/2
        assert_eq!(params, [2.0, 0.0]);
        rms.ascend(&mut state, &mut params, &[-2.0, 1.0]); // v = 3 + 1 = 4, and 1/4
        assert_eq!(params, [1.5, 1.0]);
    }

    #[test]
    fn three_steps_of_dog_by_hand() {
        let dog = Dog::new(0.5).unwrap();
        let (mut state, mut params) = (dog.init(2), [0.0, 1.0]);
        dog.ascend(&mut state, &mut params, &[3.0, 0.0]); // r = 0.5 * 2, G = 9
        assert_eq!(params, [1.0, 1.0]);
        dog.ascend(&mut state, &mut params, &[0.0, 4.0]); // r = max(1, 1), G = 25
        assert_eq!(params, [1.0, 1.8]);
        dog.ascend(&mut state, &mut params, &[0.0, -12.0]); // r = |(1, 0.8)|, G = 169
        assert!((params[1] - (1.8 - 1.64_f64.sqrt() * 12.0 / 13.0)).abs() < 1e-15);
        dog.ascend(&mut state, &mut params, &[1.0, 0.0]); // it came back, but the farthest counts
        let third = (1.0 + (params[1] - 1.0).powi(2)).sqrt().max(1.64_f64.sqrt());
        assert!((params[0] - (1.0 + third / 170.0_f64.sqrt())).abs() < 1e-15);
    }

    /// A rule is read from a file whose constants are optional, wrong files are refused, and so are states of another length or with
    /// impossible numbers. Returns the message of the first wrong file.
    fn is_checked<O>(rule: O, file: &str, wrong: &[&str], broken: &[O::State]) -> String
    where
        O: Optimizer + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        assert_eq!(toml::from_str::<O>(file).unwrap(), rule);
        assert!(rule.check(2, &rule.init(2)).is_ok());
        assert!(rule.check(3, &rule.init(2)).unwrap_err().to_string().ends_with("has length 2, expected 3"));
        assert!(broken.iter().all(|state| rule.check(1, state).is_err()));
        let refused = |text: &&str| toml::from_str::<O>(text).unwrap_err().message().to_owned();
        wrong.iter().map(refused).collect::<Vec<_>>().swap_remove(0)
    }

    #[test]
    fn constants_files_and_states_are_checked() {
        let sgd = Sgd::new(0.5).unwrap();
        let error = is_checked(sgd, "rate = 0.5", &["rate = nan", "rate = 0.5\nmomentum = 0.9"], &[]);
        assert_eq!(error, "rate is NaN, expected positive and finite");
        let wrong = ["momentum = 2", "momentum = 1.0", "momentum = -0.1", "momentum = nan", "beta = 2"];
        let wrong = wrong.map(|line| format!("rate = 1\n{line}"));
        let wrong = wrong.each_ref().map(String::as_str);
        let state = MomentumState { steps: 3, velocity: vec![f64::NAN] };
        let error = is_checked(Momentum::new(1.0).unwrap(), "rate = 1", &wrong, &[state]);
        assert_eq!(error, "Momentum: momentum is 2, expected at least 0 and less than 1");
        let state = NesterovState { steps: 3, velocity: vec![f64::NAN] };
        let error = is_checked(Nesterov::new(1.0).unwrap(), "rate = 1", &wrong, &[state]);
        assert_eq!(error, "Nesterov: momentum is 2, expected at least 0 and less than 1");
        let rates = ["rate = -1", "rate = 0", "rate = inf", "rate = nan", "rate = 1\nepsilon = 0.0"];
        let first = AdamState { steps: 1, first: vec![f64::NAN], second: vec![1.0] };
        let second = AdamState { steps: 1, first: vec![0.0], second: vec![-1.0] };
        let adam = Adam::new(1.0).unwrap();
        is_checked(adam.clone(), "rate = 1", &wrong, &[]);
        is_checked(adam.clone(), "rate = 1", &["rate = 1\nmemory = nan"], &[]);
        let error = is_checked(adam, "rate = 1", &rates, &[first, second]);
        assert_eq!(error, "rate is -1, expected positive and finite");
        let state = RmsPropState { steps: 1, squares: vec![-1.0] };
        let rms = RmsProp::new(1.0).unwrap();
        is_checked(rms.clone(), "rate = 1", &["rate = 1\nmemory = 1.0", "rate = 1\nrho = 0.9"], &[]);
        is_checked(rms, "rate = 1", &rates, &[state]);
        let state = AdaGradState { steps: 1, squares: vec![f64::INFINITY] };
        let ada = AdaGrad::new(1.0).unwrap();
        is_checked(ada.clone(), "rate = 1", &["rate = 1\nmemory = 0.9"], &[]);
        is_checked(ada, "rate = 1", &rates, &[state]);
        let dog = Dog::default();
        let state = DogState { squares: f64::NAN, ..dog.init(1) };
        let error = is_checked(dog, "", &["movement = 0.0", "movement = inf", "rate = 1"], &[state]);
        assert_eq!(error, "Dog: movement is 0, expected positive and finite");
    }
}
