//! Annealed paths for local latent points, and a mean-field Gaussian for global ones.

use crate::{Along, PathPoint, Sizes, Surrogate};
use faer::reborrow::ReborrowMut;
use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Error, Parametric, Pushforward, Reparameterised, StepSizes, all_finite, batch,
    batch_mut, borrow, one, positive, same_length,
};

use super::annealed::Annealed;
use super::base::Shape;
use super::chain::{Mass, Slope};
use mcsa_families::{Drawn, Link, MeanField};
use mcsa_models::LocalRobustRegression;

/// Semi-DAIS: a mean-field Gaussian for the global latents theta, and for each datum an annealed path towards its local posterior
/// given theta.
///
/// ```text
/// theta ~ N(m, diag sigma^2);   w_n ~ path of K steps from N(m_n, diag r_n^2), guided by l_n(w; theta)
/// bound: log p(theta) - log q(theta) + N/B sum_{n in batch} [l_n(w_n; theta) - log q_n]
/// ```
/// No surrogate is needed, because a local chain touches one datum (SL-DAIS, App. A). The pathwise gradient of theta includes its effect
/// on every chain. In each step of a fit only the parameters of the data in the minibatch have a gradient.
///
/// Deliberately absent: a path for theta as well, along a surrogate with learned points. The paper describes it (App. A.1) and reports
/// no run of it.
///
/// ```text
/// lambda = [theta: m, rho; block_1 .. block_N],   block = [m_n; rho_n; chain]         with a chain per datum
/// lambda = [theta: m, rho; chain; m_1, rho_1; ..; m_N, rho_N]                          with one shared chain
/// chain  = [u; kappa; w; log M; b]                                                     as in Annealed
/// ```
#[derive(Debug, Clone)]
pub struct SemiAnnealed {
    /// The model.
    pub model: LocalRobustRegression,
    /// Number K of steps of a local path.
    pub steps: usize,
    /// `eta_max`, the largest step size.
    pub longest: f64,
    /// Law of the momentum.
    pub law: Mass,
    /// Parametrisation of kappa.
    pub slope: Slope,
    /// True if all data share step sizes, gamma, mass and temperatures.
    pub shared: bool,
}

/// Local log density of one datum as the guide of its path; psi is theta.
struct Local<'a> {
    model: &'a LocalRobustRegression,
    row: usize,
}

impl Surrogate for Local<'_> {
    fn sizes(&self) -> Sizes {
        Sizes { dim: 1, params: self.model.num_globals(), ..Sizes::default() }
    }

    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], _: &mut [f64], _: &mut [f64]) {
        gradient[0] = self.model.term(self.row, at.psi).slope(at.z[0]);
    }

    fn add_second(&self, along: Along<'_>, product: &mut [f64], psi_bar: &mut [f64], _: &mut [f64]) {
        let Along { at: PathPoint { psi, z, .. }, u, scale, .. } = along;
        let term = self.model.term(self.row, psi);
        product[0] += scale * term.curvature(z[0]) * u[0];
        self.model.add_theta_gradient(self.row, psi, scale * u[0] * term.of_square(z[0]), 0.0, psi_bar);
    }
}

impl SemiAnnealed {
    /// Family with paths of `steps` steps, a chain per datum and `eta_max = 0.25`.
    pub const fn new(model: LocalRobustRegression, steps: usize) -> Self {
        Self { model, steps, longest: 0.25, law: Mass::Variance, slope: Slope::Plain, shared: false }
    }

    /// Parameters at the start of a fit, from mean and scales of theta, local bases `N(0, scale^2)` and the step size `eta_0`.
    /// The other parameters are `kappa = 0`, `gamma = 0.9`, unit mass and `beta_k = k / K`.
    ///
    /// # Errors
    /// If a length differs, a scale is not positive, or the step size is not between 0 and `eta_max`.
    pub fn at(&self, mean: &[f64], scales: &[f64], scale: f64, step_size: f64) -> Result<Vec<f64>, Error> {
        let local = self.local(0);
        let mut params = self.globals().at(mean, scales)?;
        let base = MeanField::new(1).with_link(Link::Exp).at(&[0.0], &[scale])?;
        let block = local.at(&base, step_size, &vec![0.0; self.model.num_globals()])?;
        let block = &block[..self.block_len()];
        if self.shared {
            params.extend_from_slice(&block[2..]);
        }
        let each = if self.shared { &block[..2] } else { block };
        (0..self.model.num_data()).for_each(|_| params.extend_from_slice(each));
        self.check(&params)?;
        Ok(params)
    }

    /// The family of theta and the local points of a minibatch, with the whole lambda: its `log q` is
    /// `log q(theta) + N/B sum_n log q_n(w_n)`.
    pub const fn on<'a>(&'a self, rows: &'a [usize]) -> SemiPart<'a> {
        SemiPart { family: self, rows }
    }

    fn globals(&self) -> MeanField {
        MeanField::new(self.model.num_globals()).with_link(Link::Exp)
    }

    fn local(&self, row: usize) -> Annealed<Local<'_>> {
        let &Self { ref model, steps, longest, law, slope, .. } = self;
        let surrogate = Local { model, row };
        Annealed { surrogate, shape: Shape::Diagonal, steps, longest, law, slope }
    }

    /// Length of base and chain of one datum.
    fn block_len(&self) -> usize {
        6 + self.steps
    }

    /// Ranges of base and chain of one datum in lambda.
    fn ranges(&self, row: usize) -> [std::ops::Range<usize>; 2] {
        let (first, base) = (2 * self.model.num_globals(), 2);
        let chain = self.block_len() - base;
        if self.shared {
            let at = first + chain + row * base;
            [at..at + base, first..first + chain]
        } else {
            let at = first + row * (base + chain);
            [at..at + base, at + base..at + base + chain]
        }
    }
}

impl Parametric for SemiAnnealed {
    fn config(&self) -> String {
        let Self { model, steps, longest, law, slope, shared } = self;
        let (globals, data) = (model.num_globals(), model.num_data());
        format!(
            "SemiAnnealed {{ {globals} globals, {data} data, {steps} steps up to {longest:?}, {law:?}, {slope:?}, shared {shared} }}"
        )
    }

    /// The dimension of theta and all local points.
    fn dim(&self) -> usize {
        self.model.num_globals() + self.model.num_data()
    }

    fn num_params(&self) -> usize {
        let (globals, block) = (2 * self.model.num_globals(), self.block_len());
        let (together, each) = if self.shared { (block - 2, 2) } else { (0, block) };
        globals + together + each * self.model.num_data()
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)?;
        positive("largest step size", self.longest)?;
        let globals = 2 * self.model.num_globals();
        self.globals().check(&params[..globals])?;
        for row in 0..self.model.num_data() {
            let [base, chain] = self.ranges(row);
            let positive = [&params[base][1..], &params[chain][3..]];
            let checked = positive.into_iter().try_for_each(|logarithms| Link::Exp.check(logarithms));
            checked.map_err(|error| error.within(format!("datum {row}")))?;
        }
        Ok(())
    }
}

/// Semi-DAIS on a minibatch: theta, and the local points of the rows.
#[derive(Debug)]
pub struct SemiPart<'a> {
    family: &'a SemiAnnealed,
    rows: &'a [usize],
}

impl SemiPart<'_> {
    fn share(&self) -> f64 {
        self.family.model.num_data() as f64 / self.rows.len() as f64
    }

    fn local_noise(&self) -> usize {
        1 + self.family.steps
    }

    /// Length of lambda of one local path, theta included.
    fn local_len(&self) -> usize {
        self.family.block_len() + self.family.model.num_globals()
    }

    /// Writes lambda of the path of `row`, with theta as psi.
    fn gather(&self, row: usize, params: &[f64], theta: &[f64], local: &mut [f64]) {
        let [base, chain] = self.family.ranges(row);
        let (to_base, rest) = local.split_at_mut(base.len());
        let (to_chain, psi) = rest.split_at_mut(chain.len());
        to_base.copy_from_slice(&params[base]);
        to_chain.copy_from_slice(&params[chain]);
        psi.copy_from_slice(theta);
    }
}

impl Parametric for SemiPart<'_> {
    fn dim(&self) -> usize {
        self.family.model.num_globals() + self.rows.len()
    }

    fn num_params(&self) -> usize {
        self.family.num_params()
    }

    fn work_len(&self, columns: usize) -> usize {
        let (globals, locals) = (self.family.model.num_globals(), self.family.local(0).work_len(1));
        let of_theta = Drawn(self.family.globals()).work_len(columns);
        2 * self.local_len() + 1 + 2 * globals * columns.max(1) + locals.max(of_theta)
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        self.family.check(params)
    }

    fn config(&self) -> String {
        self.family.config()
    }
}

impl Pushforward for SemiPart<'_> {
    fn noise_dim(&self) -> usize {
        self.family.model.num_globals() + self.rows.len() * self.local_noise()
    }

    fn push(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        mut z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (globals, share) = (self.family.model.num_globals(), self.share());
        assert_eq!((noise.nrows(), noise.ncols()), (self.noise_dim(), log_q.len()), "a density per column");
        let of_theta = Drawn(self.family.globals());
        let eps = noise.subrows(0, globals);
        of_theta.push(&params[..2 * globals], eps, z.rb_mut().subrows_mut(0, globals), log_q, work);
        let local = borrow(&mut work, self.local_len());
        for (j, log_q) in log_q.iter_mut().enumerate() {
            let (theta, points) = z.column_mut(j).split_at_mut(globals);
            let fresh = noise.column(j)[globals..].chunks_exact(self.local_noise());
            for ((&row, point), fresh) in self.rows.iter().zip(points.chunks_exact_mut(1)).zip(fresh) {
                self.gather(row, params, theta, local);
                let mut of_path = [0.0];
                let path = self.family.local(row);
                path.push(local, one(fresh), batch_mut(point, 1, 1), &mut of_path, work);
                *log_q += share * of_path[0];
            }
        }
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
        let (globals, share) = (self.family.model.num_globals(), self.share());
        let n = weights.len();
        assert_eq!((cotangents.nrows(), cotangents.ncols()), (self.dim(), n), "a cotangent per column");
        let of_theta = Drawn(self.family.globals());
        let (eps, lambda) = (noise.subrows(0, globals), 2 * globals);
        let (thetas, bars) = (borrow(&mut work, globals * n), borrow(&mut work, globals * n));
        let (local, of_local) = (borrow(&mut work, self.local_len()), borrow(&mut work, self.local_len()));
        self.family.globals().transport(&params[..lambda], eps, batch_mut(thetas, globals, n), work);
        for (j, &weight) in weights.iter().enumerate() {
            let range = j * globals..(j + 1) * globals;
            let (theta, bar) = (&thetas[range.clone()], &mut bars[range]);
            let (of_globals, of_points) = cotangents.column(j).split_at(globals);
            bar.copy_from_slice(of_globals);
            let fresh = noise.column(j)[globals..].chunks_exact(self.local_noise());
            for ((&row, cotangent), fresh) in self.rows.iter().zip(of_points.chunks_exact(1)).zip(fresh) {
                self.gather(row, params, theta, local);
                of_local.fill(0.0);
                let (path, weight) = (self.family.local(row), [weight * share]);
                path.add_push_gradients(local, one(fresh), one(cotangent), &weight, of_local, work);
                let [base, chain] = self.family.ranges(row);
                let (from_base, rest) = of_local.split_at(base.len());
                let (from_chain, psi_bar) = rest.split_at(chain.len());
                gradient[base].iter_mut().zip(from_base).for_each(|(to, from)| *to += from);
                gradient[chain].iter_mut().zip(from_chain).for_each(|(to, from)| *to += from);
                bar.iter_mut().zip(psi_bar).for_each(|(to, from)| *to += from);
            }
        }
        let bars = batch(bars, globals, n);
        of_theta.add_push_gradients(&params[..lambda], eps, bars, weights, &mut gradient[..lambda], work);
    }

    /// Those of the paths of all rows, or of the one chain that they share; step sizes do not depend on theta.
    fn step_sizes(&self, params: &[f64], mut work: &mut [f64]) -> StepSizes {
        let globals = self.family.model.num_globals();
        let local = borrow(&mut work, self.local_len());
        let paths = if self.family.shared { 1 } else { self.rows.len() };
        let mut all = StepSizes::default();
        for &row in &self.rows[..paths] {
            self.gather(row, params, &params[..globals], local);
            let StepSizes { zero, longest, steps } = self.family.local(row).step_sizes(local, work);
            (all.zero, all.longest, all.steps) = (all.zero + zero, all.longest + longest, all.steps + steps);
        }
        all
    }
}
