//! Gaps of annealed paths below and above a known log evidence, and their parts, along a fit.

use faer::Mat;
use mcsa_core::{Error, ExactDraws, Gradient, LogDensity, Stream, batch, batch_mut};
use mcsa_estimators::{Ascent, Draws, FlowElbo, Minibatched};
use mcsa_models::surrogate::PosteriorSurrogate;
use mcsa_theory::dais::Gap;
use serde::{Serialize, Serializer};

use super::ascend::{Climbed, Log, Saved, Seen, Stretch, Trail};
use super::checkpoints::Checkpoints;
use super::lattice::Lattice;
use super::path::mean_and_error;
use super::spent::{Meter, Spent};
use super::{Done, Running, Tally};
use crate::catalog::{FamilyConfig, Guide, Guided, Known, Method};
use crate::store::{Ended, Row};
use crate::task::{Fit, Job};

/// Nodes or points that are evaluated at once.
const BATCH: usize = 1_000;

impl Fit {
    /// Runs a fit whose metrics are those of the gap.
    pub(super) fn run_gap(
        &self,
        draws: usize,
        job: &Job,
        running: &Running<'_>,
    ) -> Result<Option<Done>, Error> {
        let FamilyConfig::Annealed(annealed) = &self.family else {
            return Err(Error::invalid("metrics of the gap are those of annealed paths"));
        };
        let checkpoints = Checkpoints::new(job, running);
        let known = Known::of(&self.target, running.catalogue, job.seed)?;
        let place = self.start.place().unwrap_or((0.0, 1.0));
        let guided = annealed.guided(&known, place, job.seed.named("surrogate"))?;
        let (state, found, before) = match checkpoints.last()? {
            Some(Saved { state, log, spent, .. }) => (state, log, spent),
            None => (None, Vec::new(), Spent::default()),
        };
        let truth = Truth::of(&known)?;
        let log = Recorder { truth, guided: &guided, draws, job, found };
        let mut run = Trail { checkpoints, meter: Meter::after(before), log, is_told: false };
        let (work, counts) = (|steps| self.work_of(steps, 0), Tally::new);
        let (to, rows) = (self.steps, self.trace.steps(self.steps));
        let stretch = Stretch {
            number: 0,
            from: 0,
            to,
            after: 0,
            work: &work,
            rows: &rows,
            auxiliary: None,
            counts: &counts,
        };
        let (optimizer, seed) = (self.optimizer.clone(), job.seed.named("fit"));
        let (family, params) = (&*guided.family, guided.params.clone());
        macro_rules! climb {
            ($model:expr, $estimator:expr) => {{
                let (target, estimator) = ($model, $estimator);
                let ascent = Ascent { target, family, estimator, optimizer, seed };
                let climbed = run.climb(&ascent, &stretch, params, state)?;
                climbed.map(|Climbed { fit, outcome, failure }| (fit.params().to_vec(), outcome, failure))
            }};
        }
        let climbed = match (&known, &self.method) {
            (Known::Linear(rows), Method::Elbo { samples }) => climb!(&rows.model, FlowElbo::new(*samples)),
            (Known::Logistic(rows), Method::Elbo { samples }) => {
                climb!(&rows.model, FlowElbo::new(*samples))
            }
            (Known::Linear(rows), Method::Minibatched { samples, batch }) => {
                climb!(&rows.model, Minibatched::new(*batch, FlowElbo::new(*samples)))
            }
            (Known::Logistic(rows), Method::Minibatched { samples, batch }) => {
                climb!(&rows.model, Minibatched::new(*batch, FlowElbo::new(*samples)))
            }
            (_, other) => return Err(Error::invalid(format!("{} is not fitted to the bound", other.kind()))),
        };
        let Some((params, outcome, failure)) = climbed else { return Ok(None) };
        (running.last)(&params);
        let ended = Ended { failure, outcome, ..run.spent(&counts).ended() };
        Ok(Some((run.log.found, ended)))
    }
}

/// A regression with its log evidence, and its posterior on a lattice if there is no closed form.
struct Truth<'k> {
    known: &'k Known,
    lattice: Option<Lattice>,
    log_evidence: f64,
}

impl<'k> Truth<'k> {
    fn of(known: &'k Known) -> Result<Self, Error> {
        match known {
            Known::Linear(rows) => Ok(Self { known, lattice: None, log_evidence: rows.model.log_evidence() }),
            Known::Logistic(rows) => {
                let mut work = vec![0.0; rows.model.work_len(BATCH)];
                let lattice = Lattice::of(&PosteriorSurrogate(&rows.model), &[], |z, out| {
                    rows.model.log_densities(z, out, &mut work);
                })?;
                Ok(Self { known, log_evidence: lattice.log_normaliser, lattice: Some(lattice) })
            }
        }
    }

    /// The gap and its parts at lambda, and the standard error of the gap: exact on a linear regression; else with means over
    /// `draws` paths, common to all parts.
    fn gap(
        &self,
        guided: &Guided<'_>,
        params: &[f64],
        draws: usize,
        lane: Stream,
    ) -> Result<(Gap, f64), Error> {
        let rows = match self.known {
            Known::Linear(rows) => {
                let chain = guided.linear(rows, params)?;
                let (posterior, _) = rows.prior.posterior(&rows.likelihood)?;
                // A surrogate posterior need not be proper; the gap exists without it.
                let lost = Gap {
                    whole: chain.gap(&posterior),
                    divergence: f64::NAN,
                    own: f64::NAN,
                    error: f64::NAN,
                };
                return Ok((Gap::of(&chain, &rows.likelihood).unwrap_or(lost), 0.0));
            }
            Known::Logistic(rows) => rows,
        };
        let drawn = Draws::pushed(&rows.model, &*guided.family, params, lane, draws)?;
        let (bound, error) = mean_and_error(&drawn.log_ratios());
        let whole = self.log_evidence - bound;
        let Guide::Points(surrogate) = &guided.guide else {
            return Ok((Gap { whole, divergence: 0.0, own: whole, error: 0.0 }, error));
        };
        let psi = guided.psi(params);
        let lattice = Lattice::of(surrogate, psi, |z, out| rows.log_surrogate(surrogate, psi, z, out))?;
        // log l - log l_S at the nodes of the surrogate posterior, and at the ends of paths.
        let error_at = |points: &Mat<f64>| {
            let (mut exact, mut replaced) = (vec![0.0; points.ncols()], vec![0.0; points.ncols()]);
            let mut work = vec![0.0; rows.model.work_len(BATCH)];
            for (k, exact) in exact.chunks_mut(BATCH).enumerate() {
                rows.model.log_densities(
                    points.get(.., k * BATCH..k * BATCH + exact.len()),
                    exact,
                    &mut work,
                );
            }
            rows.log_surrogate(surrogate, psi, points.as_ref(), &mut replaced);
            exact.iter().zip(&replaced).map(|(exact, replaced)| exact - replaced).collect::<Vec<f64>>()
        };
        let of_surrogate = lattice.mean(&error_at(&lattice.points));
        let at_ends = error_at(&drawn.points);
        let of_ends = at_ends.iter().sum::<f64>() / draws as f64;
        let parts = Gap {
            whole,
            divergence: self.log_evidence - lattice.log_normaliser - of_surrogate,
            own: lattice.log_normaliser - (bound - of_ends),
            error: of_surrogate - of_ends,
        };
        Ok((parts, error))
    }

    /// Log ratios of paths drawn backward from draws of the posterior.
    fn backward(
        &self,
        guided: &Guided<'_>,
        params: &[f64],
        draws: usize,
        mut lane: Stream,
    ) -> Result<Vec<f64>, Error> {
        let (target, ends): (&dyn Gradient, Mat<f64>) = match (self.known, &self.lattice) {
            (Known::Linear(rows), _) => {
                let (posterior, mut ends) = (rows.model.posterior()?, Mat::zeros(rows.model.dim(), draws));
                (0..draws).for_each(|j| posterior.draw_into(&mut lane, ends.col_as_slice_mut(j)));
                (&rows.model, ends)
            }
            (Known::Logistic(rows), Some(lattice)) => (&rows.model, lattice.draws(draws, &mut lane)),
            (Known::Logistic(_), None) => return Err(Error::invalid("there is no lattice")),
        };
        let (family, dim) = (&*guided.family, ends.nrows());
        let points: Vec<f64> = (0..draws).flat_map(|j| ends.col_as_slice(j).to_vec()).collect();
        let mut noise = vec![0.0; family.noise_dim() * draws];
        let mut work = vec![0.0; family.work_len(draws).max(target.work_len(draws))];
        let (mut log_p, mut log_q) = (vec![0.0; draws], vec![0.0; draws]);
        let (z, noise) = (batch(&points, dim, draws), batch_mut(&mut noise, family.noise_dim(), draws));
        if !family.retrace_into(params, z, &mut [lane], noise, &mut log_q, &mut work) {
            return Err(Error::invalid("this family does not know the backward law of its draws"));
        }
        target.log_densities(z, &mut log_p, &mut work);
        Ok(log_p.iter().zip(&log_q).map(|(p, q)| p - q).collect())
    }
}

/// Rows of a fit, and their measurement.
struct Recorder<'s> {
    truth: Truth<'s>,
    guided: &'s Guided<'s>,
    draws: usize,
    job: &'s Job,
    found: Vec<Row>,
}

impl Serialize for Recorder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.found.serialize(serializer)
    }
}

impl Log for Recorder<'_> {
    fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    fn record(&mut self, seen: Seen<'_>, spent: &Spent) -> Result<(), Error> {
        let Self { truth, guided, draws, job, .. } = self;
        let lane = |name: &str| job.seed.named(name).stream(0, seen.step);
        let (gap, gap_error) = truth.gap(guided, seen.params, *draws, lane("measure"))?;
        let above = truth.backward(guided, seen.params, *draws, lane("backward"))?;
        let (above, above_error) = mean_and_error(&above);
        let sizes = guided.family.step_sizes(seen.params, &mut vec![0.0; guided.family.work_len(1)]);
        let values = [
            ("elbo", truth.log_evidence - gap.whole),
            ("log_z", truth.log_evidence),
            ("gap", gap.whole),
            ("gap_error", gap_error),
            ("surrogate_kl", gap.divergence),
            ("path_gap", gap.own),
            ("mismatch", gap.error),
            ("remainder", (gap.whole - gap.sum()).abs()),
            ("upper_gap", above - truth.log_evidence),
            ("upper_gap_error", above_error),
            ("zero_steps", sizes.zero as f64),
            ("longest_steps", sizes.longest as f64),
            ("seconds", spent.seconds),
        ];
        // A part that does not exist is not recorded.
        self.found.push(Row::new(seen.step, values.into_iter().filter(|(_, value)| !value.is_nan())));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{AnnealedConfig, Target};
    use mcsa_core::Seed;
    use mcsa_data::Catalogue;
    use mcsa_theory::dais::Normal;

    fn known(text: &str) -> Known {
        let target: Target = toml::from_str(text).unwrap();
        Known::of(&target, &Catalogue::new(None), Seed::new(1)).unwrap()
    }

    const LINEAR: &str = "kind = 'synthetic-linear'\nname = 'synthetic'\nrows = 30\ndim = 3\ncorrelation = 0.6\nnoise = 0.8\n\
                          prior_scale = 1.0\nseed = 2";
    const LOGISTIC: &str = "kind = 'synthetic-logistic'\nname = 'synthetic'\nrows = 30\nheld_out = 5\ndim = 2\nrate = 0.3\n\
                            correlation = 0.6\nprior_scale = 1.0\nseed = 2";

    /// Paths along random rows, at a lambda away from the start.
    fn guided<'k>(known: &'k Known, full_rank: bool, steps: usize) -> Guided<'k> {
        let settings = "steps = 3\nlongest = 0.5\nstep_size = 0.1\nsurrogate = 'rand'\npoints = 8";
        let mut config: AnnealedConfig = toml::from_str(settings).unwrap();
        (config.full_rank, config.steps) = (full_rank, steps);
        let mut guided = config.guided(known, (0.1, 0.4), Seed::new(5)).unwrap();
        for (k, param) in guided.params.iter_mut().enumerate() {
            *param += 0.1 * (1.7 * k as f64).sin();
        }
        guided
    }

    /// The parts add up to the gap, which the paths of the production code have, within five standard errors; without the last part
    /// they do not.
    #[test]
    fn parts_add_up_to_the_gap_of_the_paths() {
        for (text, shapes) in [(LINEAR, [false, true]), (LOGISTIC, [false, true])] {
            for full_rank in shapes {
                let known = known(text);
                let (truth, guided) = (Truth::of(&known).unwrap(), guided(&known, full_rank, 3));
                let lane = |k| Seed::new(7).stream(0, k);
                let (gap, _) = truth.gap(&guided, &guided.params, 4_000, lane(0)).unwrap();
                assert!((gap.whole - gap.sum()).abs() < 1e-10, "{gap:?}");
                assert!((gap.whole - gap.divergence - gap.own).abs() > 1e-3, "{gap:?}");
                assert!(gap.divergence > 1e-3 && gap.own > 0.0, "{gap:?}");
                let (bound, error) = match &known {
                    Known::Linear(rows) => {
                        let drawn =
                            Draws::pushed(&rows.model, &*guided.family, &guided.params, lane(1), 4_000);
                        mean_and_error(&drawn.unwrap().log_ratios())
                    }
                    Known::Logistic(rows) => {
                        let drawn =
                            Draws::pushed(&rows.model, &*guided.family, &guided.params, lane(1), 4_000);
                        mean_and_error(&drawn.unwrap().log_ratios())
                    }
                };
                assert!(
                    (truth.log_evidence - bound - gap.whole).abs() < 5.0 * 1.5 * error,
                    "{bound} {gap:?}"
                );
            }
        }
    }

    /// Backward paths bound log Z from above by more than the error, where forward paths are below it.
    #[test]
    fn backward_paths_bound_from_above() {
        for text in [LINEAR, LOGISTIC] {
            let known = known(text);
            let (truth, guided) = (Truth::of(&known).unwrap(), guided(&known, true, 3));
            let ratios = truth.backward(&guided, &guided.params, 4_000, Seed::new(3).stream(0, 0)).unwrap();
            let (above, error) = mean_and_error(&ratios);
            assert!(above - truth.log_evidence > 5.0 * error);
            let lane = Seed::new(4).stream(0, 0);
            let (gap, error) = truth.gap(&guided, &guided.params, 4_000, lane).unwrap();
            assert!(gap.whole > 5.0 * error);
        }
    }

    /// Without steps the gaps are the two divergences between base and posterior, in closed form; the upper one is not the lower.
    #[test]
    fn gaps_without_steps_are_divergences() {
        let known = known(LINEAR);
        let Known::Linear(rows) = &known else { panic!("a linear regression") };
        let (truth, guided) = (Truth::of(&known).unwrap(), guided(&known, true, 0));
        let (posterior, _) = rows.prior.posterior(&rows.likelihood).unwrap();
        let chain = guided.linear(rows, &guided.params).unwrap();
        let base = Normal::new(chain.base.mean().to_vec(), chain.base.covariance().clone()).unwrap();
        let (gap, _) = truth.gap(&guided, &guided.params, 2, Seed::new(1).stream(0, 0)).unwrap();
        assert!((gap.whole - base.divergence(&posterior)).abs() < 1e-10);
        let ratios = truth.backward(&guided, &guided.params, 4_000, Seed::new(3).stream(0, 0)).unwrap();
        let (above, error) = mean_and_error(&ratios);
        let upper = above - truth.log_evidence;
        assert!((upper - posterior.divergence(&base)).abs() < 5.0 * error, "{upper}");
        assert!((upper - gap.whole).abs() > 5.0 * error);
    }
}
