//! Forwarding: a reference to a target or a family is one too, and so is a counted one.

use faer::{MatMut, MatRef};

use crate::counted::{Counted, Evaluation};
use crate::{
    Backprop, Curvature, Error, ExactDraws, Family, Gradient, LogDensity, Named, Parametric, Pushforward,
    Reparameterised, Separable, StepSizes, Stream, Subsampled,
};

/// A call, and the number of evaluations that it makes: `[Kind: points]`, or `[if Kind: points]` if it returns true.
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
    ($self:ident, $call:expr, $kind:ident: $points:expr) => {{
        $self.add(Evaluation::$kind, $points);
        $call
    }};
}

/// Implements traits for references, by the methods of what they refer to.
macro_rules! by_reference {
    ($($trait:ident { $(fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? $([$($count:tt)*])?;)* })+) => {$(
        impl<T: $trait + ?Sized> $trait for &T {
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
        fn constrain(z: &[f64], out: &mut Named);
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
        fn add_gradient_at(rows: &[usize], scale: f64, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64
            [Term: rows.len()];
        fn prior_hessian_vector_into(z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]);
        fn add_hessian_vector_at(
            rows: &[usize], scale: f64, z: &[f64], v: &[f64], out: &mut [f64], work: &mut [f64]
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
        fn sample_members_into(
            members: &[f64],
            pick: &mut dyn FnMut(&mut Stream) -> usize,
            lanes: &mut [Stream],
            z: MatMut<'_, f64>,
            work: &mut [f64]
        ) -> bool [if Sample: z.ncols()];
        fn add_scores(
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
}

by_reference! {
    ExactDraws {
        fn draw_into(stream: &mut Stream, z: &mut [f64]);
    }
    Pushforward {
        fn noise_dim() -> usize;
        fn sample_noise_into(lanes: &mut [Stream], noise: MatMut<'_, f64>);
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
        );
        fn sample_reverse_into(
            params: &[f64],
            z: MatRef<'_, f64>,
            lanes: &mut [Stream],
            noise: MatMut<'_, f64>,
            log_q: &mut [f64],
            work: &mut [f64]
        ) -> bool;
        fn push_and_add_gradients(
            params: &[f64],
            noise: MatRef<'_, f64>,
            z: MatMut<'_, f64>,
            log_q: &mut [f64],
            cotangents: MatMut<'_, f64>,
            pull: &mut Backprop<'_>,
            gradient: &mut [f64],
            work: &mut [f64]
        );
        fn step_sizes(params: &[f64], work: &mut [f64]) -> StepSizes;
    }
}

/// A draw is counted when its noise is drawn. Its log density is not counted, as in [`Family::sample_into`].
impl<F: Pushforward> Pushforward for Counted<F> {
    fn noise_dim(&self) -> usize {
        self.inner().noise_dim()
    }
    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        self.add(Evaluation::Sample, noise.ncols());
        self.inner().sample_noise_into(lanes, noise);
    }
    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        self.inner().push(params, noise, z, log_q, work);
    }
    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        self.add(Evaluation::Score, noise.ncols());
        self.inner().add_push_gradients(params, noise, cotangents, weights, gradient, work);
    }
    fn sample_reverse_into(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        lanes: &mut [Stream],
        noise: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) -> bool {
        let is_drawn = self.inner().sample_reverse_into(params, z, lanes, noise, log_q, work);
        self.add(Evaluation::Sample, if is_drawn { z.ncols() } else { 0 });
        is_drawn
    }
    fn push_and_add_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        cotangents: MatMut<'_, f64>,
        pull: &mut Backprop<'_>,
        gradient: &mut [f64],
        work: &mut [f64],
    ) {
        let mut pulled = false;
        let mut noting = |z: MatRef<'_, f64>, log_q: &mut [f64], cotangents: MatMut<'_, f64>| {
            pulled = pull(z, log_q, cotangents);
            pulled
        };
        self.inner().push_and_add_gradients(params, noise, z, log_q, cotangents, &mut noting, gradient, work);
        self.add(Evaluation::Score, if pulled { noise.ncols() } else { 0 });
    }
    fn step_sizes(&self, params: &[f64], work: &mut [f64]) -> StepSizes {
        self.inner().step_sizes(params, work)
    }
}
