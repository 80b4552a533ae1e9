//! Counters of evaluations of a target, a family or a surrogate; references to these, and counted ones, implement their traits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use faer::{MatMut, MatRef};

use crate::{
    Backprop, Curvature, Error, ExactDraws, Family, Gradient, LogDensity, Named, Parametric, Part,
    Pushforward, Reparameterised, Separable, StepSizes, Stream, Subsampled,
};

/// Wrapper of a target, a family or a surrogate that counts its evaluations, one per point.
///
/// Costs of estimators are compared in evaluations, never in seconds alone. Counting changes no computed value.
///
/// ```
/// use mcsa_core::{Counted, LogDensity, from_fn};
/// let target = Counted::new(from_fn(1, |_| 0.0));
/// target.log_densities(mcsa_core::batch(&[0.0; 5], 1, 5), &mut [0.0; 5], &mut []);
/// assert_eq!(target.counts().log_density, 5);
/// ```
#[derive(Debug, Default)]
pub struct Counted<T> {
    inner: T,
    counters: [AtomicU64; KINDS],
}

/// Kinds of evaluations, with the field of [`Counts`] that is their number.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $field:ident,)*) => {
        /// Kind of an evaluation, as in [`Counts`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Evaluation {
            $(#[doc = concat!("One of [`Counts::", stringify!($field), "`].")] $kind,)*
        }

        const KINDS: usize = [$(Evaluation::$kind),*].len();

        /// Numbers of evaluations, by kind; a batch of `n` points counts `n`.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl<T> Counted<T> {
            /// The counts since construction or the last [`reset`](Self::reset).
            pub fn counts(&self) -> Counts {
                let numbers = self.numbers();
                Counts { $($field: numbers[Evaluation::$kind as usize],)* }
            }
        }
    };
}

kinds! {
    /// Evaluations of the target's log density alone.
    LogDensity: log_density,
    /// Evaluations of the target's gradient, each of which includes the log density.
    Gradient: gradient,
    /// Products of the target's Hessian with a vector.
    HessianVector: hessian_vector,
    /// Likelihood terms of single data: values, gradients and products with Hessians, outside of the evaluations above.
    Term: terms,
    /// Evaluations of the family's log density.
    LogProb: log_prob,
    /// Draws from the family or, for reparameterised families, of its noise.
    Sample: sample,
    /// Scores of the family, and pullbacks of gradients through its reparameterisation.
    Score: score,
    /// Gradients `d/dz log q` of the family's log density in z.
    Slope: slope,
}

impl<T> Counted<T> {
    /// Wraps `inner`, with all counts zero.
    pub fn new(inner: T) -> Self {
        Self { inner, counters: Default::default() }
    }

    /// Counts evaluations at some points, for traits of other crates that a counted object implements.
    pub fn add(&self, kind: Evaluation, points: usize) {
        self.counters[kind as usize].fetch_add(points as u64, Relaxed);
    }

    fn numbers(&self) -> [u64; KINDS] {
        self.counters.each_ref().map(|counter| counter.load(Relaxed))
    }

    /// Sets all counts to zero.
    pub fn reset(&mut self) {
        self.counters = Default::default();
    }

    /// Runs `look` and restores the counts from before it.
    ///
    /// For checks and measurements whose cost should not be attributed to a method. Evaluations by other threads during the call
    /// are not counted either.
    pub fn uncounted<L>(&self, look: impl FnOnce() -> L) -> L {
        let before = self.numbers();
        let seen = look();
        self.counters.iter().zip(before).for_each(|(counter, number)| counter.store(number, Relaxed));
        seen
    }

    /// The wrapped target, family or surrogate.
    pub fn inner(&self) -> &T {
        &self.inner
    }
}

/// A call, and the number of evaluations that it makes: `[Kind: points]`, `[if Kind: points]` if it returns true, or
/// `[through pull, Kind: points]` if its argument `pull` does.
macro_rules! counted {
    ($self:ident, $call:expr) => {
        $call
    };
    ($self:ident, $call:expr, if $kind:ident: $points:expr) => {{
        let points = $points;
        let is_made = $call;
        $self.add(Evaluation::$kind, if is_made { points } else { 0 });
        is_made
    }};
    ($self:ident, $call:expr, through $pull:ident, $kind:ident: $points:expr) => {{
        let (points, mut is_pulled) = ($points, false);
        let mut noting = |z: MatRef<'_, f64>, log_q: &mut [f64], cotangents: MatMut<'_, f64>| {
            is_pulled = $pull(z, log_q, cotangents);
            is_pulled
        };
        let $pull: &mut Backprop<'_> = &mut noting;
        $call;
        $self.add(Evaluation::$kind, if is_pulled { points } else { 0 });
    }};
    ($self:ident, $call:expr, $kind:ident: $points:expr) => {{
        $self.add(Evaluation::$kind, $points);
        $call
    }};
}

/// Implements traits for references and boxes, by the methods of what they refer to.
macro_rules! by_reference {
    ($($trait:ident { $(fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? $([$($count:tt)*])?;)* })+) => {$(
        impl<T: $trait + ?Sized> $trait for &T {
            $(fn $name(&self, $($arg: $type),*) $(-> $out)? {
                (**self).$name($($arg),*)
            })*
        }

        impl<T: $trait + ?Sized> $trait for Box<T> {
            $(fn $name(&self, $($arg: $type),*) $(-> $out)? {
                (**self).$name($($arg),*)
            })*
        }
    )+};
}

/// As [`by_reference`], and for [`Counted`], which counts evaluations.
macro_rules! forward {
    ($($trait:ident { $(fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? $([$($count:tt)*])?;)* })+) => {$(
        by_reference! { $trait { $(fn $name($($arg: $type),*) $(-> $out)?;)* } }

        impl<T: $trait> $trait for Counted<T> {
            $(fn $name(&self, $($arg: $type),*) $(-> $out)? {
                counted!(self, self.inner().$name($($arg),*) $(, $($count)*)?)
            })*
        }
    )+};
}

forward! {
    LogDensity {
        fn dim() -> usize;
        fn work_len(columns: usize) -> usize;
        fn log_density(z: &[f64], work: &mut [f64]) -> f64 [LogDensity: 1];
        fn log_densities(z: MatRef<'_, f64>, out: &mut [f64], work: &mut [f64]) [LogDensity: z.ncols()];
        fn shares_rows() -> bool;
        fn constrain(z: &[f64], out: &mut Named);
        fn prior() -> Option<&dyn ExactDraws>;
    }
    Gradient {
        fn gradient_into(z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 [Gradient: 1];
        fn gradients_into(z: MatRef<'_, f64>, out: &mut [f64], gradients: MatMut<'_, f64>, work: &mut [f64])
            [Gradient: z.ncols()];
    }
    Curvature {
        fn hessian_vector_into(z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]) [HessianVector: 1];
    }
    Separable {
        fn num_data() -> usize;
        fn log_prior(z: &[f64], work: &mut [f64]) -> f64;
        fn log_likelihood_at(rows: &[usize], z: &[f64], work: &mut [f64]) -> f64 [Term: rows.len()];
    }
    Subsampled {
        fn rows_work_len(rows: usize) -> usize;
        fn prior_gradient_into(z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64;
        fn add_gradient_at(part: Part<'_>, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64
            [Term: part.rows.len()];
        fn prior_hessian_vector_into(z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]);
        fn add_hessian_vector_at(part: Part<'_>, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64])
            [Term: part.rows.len()];
        fn gradients_at(rows: &[usize], z: &[f64], gradients: &mut [f64], work: &mut [f64]) [Term: rows.len()];
        fn add_weighted_hessian_vector_at(
            rows: &[usize], weights: &[f64], z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]
        ) [Term: rows.len()];
    }
    Parametric {
        fn dim() -> usize;
        fn num_params() -> usize;
        fn work_len(columns: usize) -> usize;
        fn check(params: &[f64]) -> Result<(), Error>;
        fn config() -> String;
    }
    Family {
        fn log_probs(params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]) [LogProb: z.ncols()];
        fn sample_into(
            params: &[f64], lanes: &mut [Stream], z: MatMut<'_, f64>, log_q: &mut [f64], work: &mut [f64]
        ) [Sample: z.ncols()];
        fn add_scores(
            params: &[f64], z: MatRef<'_, f64>, weights: &[f64], gradient: &mut [f64], work: &mut [f64]
        ) [Score: z.ncols()];
        fn log_probs_again(
            params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], work: &mut [f64]
        ) [LogProb: z.ncols()];
        fn add_scores_again(
            params: &[f64], z: MatRef<'_, f64>, weights: &[f64], gradient: &mut [f64], work: &mut [f64]
        ) [Score: z.ncols()];
        fn reflect(params: &[f64], z: &mut [f64]) -> bool;
    }
    Reparameterised {
        fn noise_dim() -> usize;
        fn sample_noise_into(lanes: &mut [Stream], noise: MatMut<'_, f64>) [Sample: noise.ncols()];
        fn transport(params: &[f64], noise: MatRef<'_, f64>, z: MatMut<'_, f64>, work: &mut [f64]);
        fn add_pullbacks(
            params: &[f64],
            noise: MatRef<'_, f64>,
            cotangents: MatRef<'_, f64>,
            gradient: &mut [f64],
            work: &mut [f64]
        ) [Score: noise.ncols()];
        fn add_slopes(
            params: &[f64], z: MatRef<'_, f64>, weight: f64, slopes: MatMut<'_, f64>, work: &mut [f64]
        ) [Slope: z.ncols()];
        fn entropy(params: &[f64], work: &mut [f64]) -> f64;
        fn add_entropy_gradient(params: &[f64], weight: f64, gradient: &mut [f64], work: &mut [f64]);
    }
    // A draw is counted when its noise is drawn. Its log density is not counted, as in `Family::sample_into`.
    Pushforward {
        fn noise_dim() -> usize;
        fn sample_noise_into(lanes: &mut [Stream], noise: MatMut<'_, f64>) [Sample: noise.ncols()];
        fn push(
            params: &[f64], noise: MatRef<'_, f64>, z: MatMut<'_, f64>, log_q: &mut [f64], work: &mut [f64]
        );
        fn add_push_gradients(
            params: &[f64],
            noise: MatRef<'_, f64>,
            cotangents: MatRef<'_, f64>,
            weights: &[f64],
            gradient: &mut [f64],
            work: &mut [f64]
        ) [Score: noise.ncols()];
        fn sample_reverse_into(
            params: &[f64],
            z: MatRef<'_, f64>,
            lanes: &mut [Stream],
            noise: MatMut<'_, f64>,
            log_q: &mut [f64],
            work: &mut [f64]
        ) -> bool [if Sample: z.ncols()];
        fn push_and_add_gradients(
            params: &[f64],
            noise: MatRef<'_, f64>,
            z: MatMut<'_, f64>,
            log_q: &mut [f64],
            cotangents: MatMut<'_, f64>,
            pull: &mut Backprop<'_>,
            gradient: &mut [f64],
            work: &mut [f64]
        ) [through pull, Score: noise.ncols()];
        fn step_sizes(params: &[f64], work: &mut [f64]) -> StepSizes;
    }
}

by_reference! {
    ExactDraws {
        fn draw_into(stream: &mut Stream, z: &mut [f64]);
    }
}
