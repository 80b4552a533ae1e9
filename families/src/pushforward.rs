//! Pushforwards made of others: a reparameterised family, and a family with parameters of the model.

use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use mcsa_core::{
    Backprop, Columns, ColumnsMut, Error, Parametric, Pushforward, Reparameterised, StepSizes, Stream,
    all_finite, batch, batch_mut, borrow, one, same_length,
};

/// A [`Reparameterised`] family as a [`Pushforward`], so that it can be fitted to the exclusive divergence by the same code as a
/// flow.
///
/// ```text
/// d/dlambda [log q_lambda(t(lambda, eps))] = (dt/dlambda)^T d/dz log q_lambda(z) + d/dlambda log q_lambda(z),   z = t(lambda, eps)
/// ```
/// The gradient has a path term and a score term; their sum is `-d/dlambda log |dt/deps|`. Each draw costs one slope and one score.
///
/// ```
/// use mcsa_core::Parametric;
/// use mcsa_families::{Drawn, MeanField};
/// let q = Drawn(MeanField::new(2));
/// assert_eq!((q.dim(), q.num_params()), (2, 4));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn<F>(
    /// The family.
    pub F,
);

impl<F: Reparameterised> Parametric for Drawn<F> {
    fn config(&self) -> String {
        format!("Drawn({})", self.0.config())
    }

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn num_params(&self) -> usize {
        self.0.num_params()
    }

    fn work_len(&self, columns: usize) -> usize {
        2 * self.0.dim() * columns + self.0.work_len(columns)
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        self.0.check(params)
    }
}

impl<F: Reparameterised> Pushforward for Drawn<F> {
    fn noise_dim(&self) -> usize {
        self.0.noise_dim()
    }

    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        self.0.sample_noise_into(lanes, noise);
    }

    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        self.0.transport(params, noise, z.rb_mut(), work);
        self.0.log_probs(params, z.as_ref(), log_q, work);
    }

    fn add_push_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (dim, n) = (self.0.dim(), weights.len());
        assert_eq!((cotangents.nrows(), cotangents.ncols()), (dim, n), "a cotangent and a weight per draw");
        let points = borrow(&mut work, dim * n);
        let slopes = borrow(&mut work, dim * n);
        self.0.transport(params, noise, batch_mut(points, dim, n), work);
        slopes.fill(0.0);
        self.0.add_slopes(params, batch(points, dim, n), 1.0, batch_mut(slopes, dim, n), work);
        // One draw at a time, so that each draw adds the same bits to the gradient whatever the batch.
        for (j, &weight) in weights.iter().enumerate() {
            let slope = &mut slopes[j * dim..(j + 1) * dim];
            for (slope, cotangent) in slope.iter_mut().zip(cotangents.column(j)) {
                *slope = cotangent + weight * *slope;
            }
            self.0.add_pullbacks(params, noise.subcols(j, 1), one(slope), gradient, work);
            self.0.add_scores(params, one(&points[j * dim..(j + 1) * dim]), &[weight], gradient, work);
        }
    }
}

/// Pushforward for a model with parameters theta: points `(theta, z)` with theta at a point of lambda, and z from a family.
///
/// ```text
/// (theta, z),   theta = lambda[first .. first + count],   z ~ q_lambda,   log q(theta, z) = log q_lambda(z)
/// ```
/// A bound of the density `p(y, z; theta)` is then maximised jointly in theta and in the family's lambda (type II maximum likelihood).
/// Theta either follows the family's lambda, or is a part of it: the surrogate of an annealed path has the theta of its target
/// (SL-DAIS, Sec. 7.4), and the derivative in theta is the sum of both.
///
/// ```
/// use mcsa_core::Parametric;
/// use mcsa_families::{Drawn, MeanField, WithTheta};
/// let q = WithTheta::after(Drawn(MeanField::new(2)), 3);
/// assert_eq!((q.dim(), q.num_params(), q.theta()), (5, 7, 4..7));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WithTheta<F> {
    family: F,
    first: usize,
    count: usize,
}

impl<F: Parametric> WithTheta<F> {
    /// The family with `count` parameters theta after its lambda.
    pub fn after(family: F, count: usize) -> Self {
        Self { first: family.num_params(), family, count }
    }

    /// The family with `count` parameters theta that are a part of its lambda, from `first` on.
    ///
    /// # Errors
    /// If lambda is shorter.
    pub fn within(family: F, first: usize, count: usize) -> Result<Self, Error> {
        match first.checked_add(count).filter(|&end| end <= family.num_params()) {
            Some(_) => Ok(Self { family, first, count }),
            None => Err(Error::invalid(format!(
                "WithTheta: theta from {first} of length {count}, in a lambda of length {}",
                family.num_params()
            ))),
        }
    }

    /// Indices of theta in the parameters.
    pub fn theta(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }

    /// The family of z alone, whose lambda is the first part of the parameters.
    pub fn family(&self) -> &F {
        &self.family
    }

    /// The family's part of the parameters.
    pub fn lambda<'a>(&self, params: &'a [f64]) -> &'a [f64] {
        &params[..self.family.num_params()]
    }

    fn write_theta(&self, params: &[f64], mut z: MatMut<'_, f64>) {
        for j in 0..z.ncols() {
            z.column_mut(j)[..self.count].copy_from_slice(&params[self.theta()]);
        }
    }

    fn add_theta(&self, cotangent: &[f64], gradient: &mut [f64]) {
        gradient[self.theta()].iter_mut().zip(cotangent).for_each(|(bar, cotangent)| *bar += cotangent);
    }
}

impl<F: Parametric> Parametric for WithTheta<F> {
    fn dim(&self) -> usize {
        self.count + self.family.dim()
    }

    fn num_params(&self) -> usize {
        self.family.num_params().max(self.theta().end)
    }

    fn work_len(&self, columns: usize) -> usize {
        2 * self.family.dim() + self.family.work_len(columns)
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)?;
        self.family.check(self.lambda(params))
    }

    fn config(&self) -> String {
        format!("WithTheta {{ {}, theta {:?} }}", self.family.config(), self.theta())
    }
}

impl<F: Pushforward> Pushforward for WithTheta<F> {
    fn noise_dim(&self) -> usize {
        self.family.noise_dim()
    }

    fn sample_noise_into(&self, lanes: &mut [Stream], noise: MatMut<'_, f64>) {
        self.family.sample_noise_into(lanes, noise);
    }

    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        work: &mut [f64],
    ) {
        self.write_theta(params, z.rb_mut());
        let of_family = z.subrows_mut(self.count, self.family.dim());
        self.family.push(self.lambda(params), noise, of_family, log_q, work);
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
        let (lambda, of_z) = (self.lambda(params), cotangents.subrows(self.count, self.family.dim()));
        // One draw at a time, so that each draw adds the same bits to the gradient whatever the batch.
        for (j, weight) in weights.iter().enumerate() {
            let (of_lambda, weight) = (&mut gradient[..lambda.len()], std::slice::from_ref(weight));
            let (noise, of_z) = (noise.subcols(j, 1), of_z.subcols(j, 1));
            self.family.add_push_gradients(lambda, noise, of_z, weight, of_lambda, work);
            self.add_theta(cotangents.column(j), gradient);
        }
    }

    fn push_and_add_gradients(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut cotangents: MatMut<'_, f64>,
        pull: &mut Backprop<'_>,
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (lambda, dim) = (self.lambda(params), self.family.dim());
        if log_q.len() != 1 {
            self.push(params, noise, z.rb_mut(), log_q, work);
            if pull(z.as_ref(), log_q, cotangents.rb_mut()) {
                self.add_push_gradients(params, noise, cotangents.as_ref(), log_q, gradient, work);
            }
            return;
        }
        let (point, bar) = (borrow(&mut work, dim), borrow(&mut work, dim));
        self.write_theta(params, z.rb_mut());
        let mut is_pulled = false;
        let mut whole = |of_family: MatRef<'_, f64>, log_q: &mut [f64], mut bar: MatMut<'_, f64>| {
            z.column_mut(0)[self.count..].copy_from_slice(of_family.column(0));
            is_pulled = pull(z.as_ref(), log_q, cotangents.rb_mut());
            bar.column_mut(0).copy_from_slice(&cotangents.as_ref().column(0)[self.count..]);
            is_pulled
        };
        let (point, bar) = (batch_mut(point, dim, 1), batch_mut(bar, dim, 1));
        let of_lambda = &mut gradient[..lambda.len()];
        self.family.push_and_add_gradients(lambda, noise, point, log_q, bar, &mut whole, of_lambda, work);
        if is_pulled {
            self.add_theta(cotangents.as_ref().column(0), gradient);
        }
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
        let of_family = z.subrows(self.count, self.family.dim());
        self.family.sample_reverse_into(self.lambda(params), of_family, lanes, noise, log_q, work)
    }

    fn step_sizes(&self, params: &[f64], work: &mut [f64]) -> StepSizes {
        self.family.step_sizes(self.lambda(params), work)
    }
}
