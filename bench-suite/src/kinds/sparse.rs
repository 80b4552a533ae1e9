//! Fits of sparse Gaussian processes to the evidence lower bound, hyperparameters included.

use mcsa_annealed::{JointBound, Minibatched, SparseGaussianProcess, SparsePosterior, SparseSurrogate};
use mcsa_core::{Columns, Curvature, Error, LogDensity, Pushforward, Seed};
use mcsa_estimators::{Draws, FlowElbo};
use mcsa_families::{Drawn, FullRank, Link, WithTheta};

use super::bounded::Bounded;
use super::path::mean_and_error;
use super::{Done, Running};
use crate::catalog::{AnnealedConfig, Ansatz, FamilyConfig, Method, SparseRows, Target, full_rank_at};
use crate::task::{Fit, Job};

/// Most draws behind a prediction; later ones change it by less than the error of the bound.
const PREDICTING: usize = 200;

impl Fit {
    /// Runs a fit of a sparse process: first that of a full-rank Gaussian jointly with theta, and from its end the family of the fit.
    pub(super) fn run_sparse(
        &self,
        draws: usize,
        job: &Job,
        running: &Running<'_>,
    ) -> Result<Option<Done>, Error> {
        let rows = self.target.sparse_rows(running.catalogue, job.seed)?;
        let (Method::Minibatched { samples, batch }, Target::SparseProcess(settings)) =
            (&self.method, &self.target)
        else {
            return Err(Error::invalid(format!("{} does not learn hyperparameters", self.method.kind())));
        };
        let bound = || Minibatched::new(*batch, FlowElbo::new(*samples));
        let joint = || JointBound { bound: bound() };
        let (process, dim) = (&rows.process, rows.process.num_inducing());
        let (mean, scale) = self.start.place().unwrap_or((0.0, 1.0));
        let gaussian = Drawn(FullRank::new(dim).with_link(Link::Exp));
        let plain = WithTheta::after(gaussian, rows.theta.len());
        let mut start = full_rank_at(dim, scale)?;
        start[..dim].fill(mean);
        start.extend_from_slice(&rows.theta);
        let mut run = Bounded::new(self, job, running)?;
        let found = run.first((process, &plain, joint()), settings.first_steps(self.steps), start)?;
        let Some(params) = found else { return Ok(None) };
        let (base, theta) = (plain.lambda(&params), &params[plain.theta()]);
        let measured = Measured { rows: &rows, draws, seed: job.seed.named("measure") };
        let surrogate = match &self.family {
            FamilyConfig::Annealed(config) => {
                Some((config, surrogate(config, process, job.seed.named("surrogate"))?))
            }
            _ => None,
        };
        let (all, memory) = prepared(process, theta)?;
        let posterior = process.posterior(theta, &all, &memory);
        let start = |config: &AnnealedConfig, mut params: Vec<f64>| {
            if config.curved {
                // The logarithms of the mass follow base, step size, kappa and gamma.
                let mass = params[base.len() + 3..].iter_mut().zip(curvatures(&posterior, &base[..dim]));
                mass.for_each(|(mass, curvature)| *mass = curvature.ln());
            }
            params
        };
        if settings.joint {
            let Some((config, surrogate)) = surrogate else {
                let measure =
                    |params: &[f64]| measured.of(&gaussian, plain.lambda(params), &params[plain.theta()]);
                return run.finish((process, &plain, joint()), params.clone(), &measure);
            };
            let psi = surrogate.initial(theta);
            let annealed = config.family(surrogate);
            let params = start(config, annealed.at(base, config.step_size, &psi)?);
            let family = WithTheta::within(annealed, params.len() - psi.len(), theta.len())?;
            let measure = |params: &[f64]| measured.of(family.family(), params, &params[family.theta()]);
            return run.finish((process, &family, joint()), params, &measure);
        }
        let Some((config, surrogate)) = surrogate else {
            let measure = |params: &[f64]| measured.of(&gaussian, params, theta);
            return run.finish((&posterior, &gaussian, bound()), base.to_vec(), &measure);
        };
        let psi = surrogate.clone().at(theta)?.initial(theta);
        let family = config.family(surrogate.at(theta)?);
        let measure = |params: &[f64]| measured.of(&family, params, theta);
        let params = start(config, family.at(base, config.step_size, &psi)?);
        run.finish((&posterior, &family, bound()), params, &measure)
    }
}

/// Second derivatives of the negative log posterior at a point along each coordinate; at least 1, their value under a whitened prior.
fn curvatures(posterior: &SparsePosterior<'_>, z: &[f64]) -> Vec<f64> {
    let (mut unit, mut product) = (vec![0.0; z.len()], vec![0.0; z.len()]);
    let mut work = vec![0.0; posterior.work_len(1)];
    let along = |i: usize| {
        unit[i] = 1.0;
        posterior.hessian_vector_into(z, &unit, &mut product, &mut work);
        unit[i] = 0.0;
        (-product[i]).max(1.0)
    };
    (0..z.len()).map(along).collect()
}

/// All rows of a process, and its memory at theta.
fn prepared(process: &SparseGaussianProcess, theta: &[f64]) -> Result<(Vec<usize>, Vec<f64>), Error> {
    let all: Vec<usize> = (0..process.num_data()).collect();
    let mut memory = vec![0.0; process.memory_len(all.len())];
    process.prepare_into(theta, &all, &mut memory)?;
    Ok((all, memory))
}

/// Surrogate of some rows with learned weights, or of all rows.
fn surrogate(
    config: &AnnealedConfig,
    process: &SparseGaussianProcess,
    seed: Seed,
) -> Result<SparseSurrogate, Error> {
    let data = process.num_data();
    match config.surrogate {
        Ansatz::Posterior => {
            Ok(SparseSurrogate::new(process.clone(), (0..data).collect())?.with_fixed_weights())
        }
        Ansatz::Rand if config.points <= data => {
            let (mut rows, mut seen) =
                (vec![0; config.points], vec![0; mcsa_annealed::seen_len(config.points)]);
            let mut stream = seed.stream(0, 0);
            mcsa_annealed::draw_subset(data, &mut rows, &mut seen, |count| stream.index(count).unwrap_or(0));
            SparseSurrogate::new(process.clone(), rows)
        }
        Ansatz::Rand => {
            Err(Error::invalid(format!("{} points of a surrogate, of {data} rows", config.points)))
        }
        other => Err(Error::invalid(format!("{} is no surrogate of a sparse process", other.name()))),
    }
}

/// Draws behind the mean error of the quadrature.
const QUADRATURE: usize = 16;

/// Measurement of the end of a fit.
struct Measured<'r> {
    rows: &'r SparseRows,
    draws: usize,
    seed: Seed,
}

impl Measured<'_> {
    /// Bound on all training rows, and predictions of the held-out rows.
    fn of<F: Pushforward>(
        &self,
        family: &F,
        lambda: &[f64],
        theta: &[f64],
    ) -> Result<Vec<(&'static str, f64)>, Error> {
        let &Self { rows, draws, seed } = self;
        let (all, memory) = prepared(&rows.process, theta)?;
        let posterior = rows.process.posterior(theta, &all, &memory);
        let draws = Draws::pushed(&posterior, family, lambda, seed.stream(0, 0), draws)?;
        let (bound, error) = mean_and_error(&draws.log_ratios());
        let quadrature = (0..QUADRATURE.min(draws.len()))
            .map(|s| posterior.quadrature_error(draws.points.as_ref().column(s)))
            .sum::<f64>()
            / QUADRATURE.min(draws.len()) as f64;
        let (held_out, memory) = prepared(&rows.test, theta)?;
        let mut log_p = vec![0.0; held_out.len()];
        let points = draws.points.get(.., ..PREDICTING.min(draws.len()));
        rows.test.posterior(theta, &held_out, &memory).log_predictive_into(points, &mut log_p);
        let mean = |of: &dyn Fn(f64) -> f64| log_p.iter().map(|p| of(*p)).sum::<f64>() / log_p.len() as f64;
        let sizes = family.step_sizes(lambda, &mut vec![0.0; family.work_len(1)]);
        let mut values = vec![
            ("elbo", bound),
            ("elbo_error", error),
            ("log_z", draws.log_evidence()),
            ("k_hat", draws.shape),
            ("quadrature_error", quadrature),
            ("zero_steps", sizes.zero as f64),
            ("longest_steps", sizes.longest as f64),
            ("still", f64::from(u8::from(sizes.is_still()))),
        ];
        match rows.scaling {
            // A label is predicted if its probability is above one half.
            None => values.extend([
                ("lpd", mean(&|log_p| log_p)),
                ("accuracy", mean(&|log_p| f64::from(u8::from(log_p > -std::f64::consts::LN_2)))),
            ]),
            Some(scaling) => values.extend([
                ("lpd", mean(&|log_p| log_p - scaling.log_deviation())),
                ("freedom", 2.0 + theta[rows.process.first_inducing() - 1].exp()),
            ]),
        }
        Ok(values)
    }
}
