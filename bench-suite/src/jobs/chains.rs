//! Markov chains on the posterior of a logistic regression, measured by their draws.

use faer::Mat;
use mcsa_annealed::surrogate::Coreset;
use mcsa_core::{Counted, Error, Kernel, LogDensity, Seed};
use mcsa_diagnostics::{bulk_sample_size, r_hat};
use mcsa_kernels::{Hmcecs, Nuts, Sampling, TaylorExpansion, Tunable};
use mcsa_models::{Logistic, WeightedRows, accuracy, log_odds_from_draws, log_predictive_density};
use mcsa_optim::deterministic::Lbfgs;
use serde::{Deserialize, Serialize};

use super::bound::PREDICTING;
use super::running::JobRun;
use super::{JobEnd, Running, terms};
use crate::catalog::{LogisticRows, Method};
use crate::store::Row;
use crate::task::{Chains, Job};

/// Most draws of a chain that are kept, at equal distances, as in SL-DAIS.
const KEPT: u64 = 1_000;

/// Step size at the start of a warm-up, which searches a better one first.
const FIRST_STEP: f64 = 0.1;

/// Standard deviation of starting points around the mode.
const AROUND: f64 = 0.1;

/// Contents of a checkpoint: chains that are complete.
#[derive(Default, Serialize, Deserialize)]
struct Drawn {
    chains: Vec<Vec<f64>>,
    divergences: u64,
}

impl Chains {
    pub(super) fn run(&self, job: &Job, running: &Running<'_>) -> Result<Option<JobEnd>, Error> {
        let rows = self.target.logistic_rows(running.catalogue, job.seed)?;
        let model = &Counted::new(&rows.model);
        let counts = || terms(model, 0);
        let mut run = JobRun::resume(job, running, Drawn::default(), &counts)?;
        let is_over = match self.method {
            Method::NutsCs { points, .. } => {
                let mut stream = job.seed.named("coreset").stream(0, 0);
                let coreset = Coreset::logistic(rows.train.x.as_ref(), &rows.train.y, points, &mut stream)?;
                let target = WeightedRows::new(model, coreset.rows, coreset.weights)?;
                self.draw(job.seed, &mut run, (&Nuts::new(FIRST_STEP)?, &target), None)?
            }
            Method::Hmcecs { rows: count, blocks, .. } => {
                let expand = || -> Result<_, Error> {
                    let mode = Lbfgs::default().mode(model, &vec![0.0; model.dim()])?.converged()?;
                    TaylorExpansion::new(model, mode.point)
                };
                // What all chains share costs once, in the first run.
                let expansion = match run.records.chains.is_empty() {
                    true => expand()?,
                    false => run.meter.aside(expand)?,
                };
                let mode = expansion.point().to_vec();
                let kernel = Hmcecs::new(Nuts::new(FIRST_STEP)?, expansion, count, blocks)?;
                self.draw(job.seed, &mut run, (&kernel, model), Some(&mode))?
            }
            ref other => return Err(Error::invalid(format!("{} draws no chains", other.kind()))),
        };
        if !is_over {
            return Ok(None);
        }
        let JobRun { mut meter, records: Drawn { chains, divergences }, .. } = run;
        let cost = meter.cost();
        let mut values = meter.aside(|| measures(&chains, &rows));
        values.extend([
            ("divergences", divergences as f64),
            ("terms", cost.counts.values().sum::<u64>() as f64),
            ("seconds", cost.seconds),
        ]);
        Ok(Some((vec![Row::new(self.draws, values)], meter.cost())))
    }

    /// Draws the chains that are missing, from points around `centre`, or in (-2, 2)^d. Far from the mode the control variates of
    /// HMCECS are useless, and its energy is dominated by their variance. Returns false if the run is to stop.
    fn draw<P: LogDensity, K: Kernel<P> + Tunable>(
        &self,
        seed: Seed,
        run: &mut JobRun<'_, Drawn>,
        (kernel, target): (&K, &P),
        centre: Option<&[f64]>,
    ) -> Result<bool, Error> {
        let sampling = Sampling::new(1, self.draws as usize).warm_up(self.warm_up());
        let every = self.draws.div_ceil(KEPT) as usize;
        let seed = seed.named("chains");
        run.make(run.records.chains.len() as u64, |_, drawn, number| {
            let seed = seed.child(number);
            let sample = match centre {
                None => sampling.run(kernel, target, seed)?,
                Some(centre) => {
                    let mut stream = seed.named("start").stream(0, 0);
                    let start = Mat::from_fn(centre.len(), 1, |i, _| centre[i] + AROUND * stream.normal());
                    sampling.run_from(kernel, target, start, seed)?
                }
            };
            let kept = (every - 1..sample.draws.ncols()).step_by(every);
            drawn.chains.push(kept.flat_map(|t| sample.draws.col_as_slice(t)).copied().collect());
            drawn.divergences += sample.divergences;
            Ok(())
        })
    }
}

/// Predictions of held-out labels by at most [`PREDICTING`] draws at equal distances, and diagnostics of all.
fn measures(chains: &[Vec<f64>], rows: &LogisticRows) -> Vec<(&'static str, f64)> {
    let dim = rows.model.dim();
    let draws: Vec<&[f64]> = chains.iter().flat_map(|chain| chain.chunks_exact(dim)).collect();
    let chosen = draws.len().min(PREDICTING);
    let points = Mat::from_fn(dim, chosen, |i, k| draws[k * draws.len() / chosen][i]);
    let mut odds = vec![0.0; rows.test.rows()];
    log_odds_from_draws::<Logistic>(rows.test.x.as_ref(), points.as_ref(), &mut odds);
    let coordinate = |i: usize| -> Vec<Vec<f64>> {
        chains.iter().map(|chain| chain.iter().skip(i).step_by(dim).copied().collect()).collect()
    };
    let coordinates = (0..dim).map(coordinate).map(|chains| (r_hat(&chains), bulk_sample_size(&chains)));
    let (r_hat, bulk) = coordinates.fold((f64::NAN, f64::NAN), |(r, b), (x, y)| (r.max(x), b.min(y)));
    vec![
        ("accuracy", accuracy(&odds, &rows.test.y)),
        ("lpd", log_predictive_density(&odds, &rows.test.y)),
        ("r_hat", r_hat),
        ("bulk_ess", bulk),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Target;
    use crate::store::{Ended, Store};
    use crate::task::Task;
    use mcsa_data::Catalogue;

    const TARGET: &str = "kind = 'synthetic-logistic'\nname = 'synthetic-few'\nrows = 60\nheld_out = 40\ndim = 2\nrate = 0.3\ncorrelation = 0.5\n\
                          prior_scale = 1.0\nseed = 1";

    fn end(target: &str, method: &str) -> (Row, Ended) {
        let (target, method) = (toml::from_str(target).unwrap(), toml::from_str(method).unwrap());
        let task = Task::Chains(Chains { target, method, draws: 500 });
        let job = Job {
            experiment: "chains".into(),
            seeded_as: None,
            task,
            data: None,
            replicate: 0,
            seed: Seed::new(1),
        };
        let store = Store::new(std::env::temp_dir().join(format!("mcsa-chains-{}", std::process::id())));
        let (mut rows, ended) = job.rows(&Running::new(&store, &Catalogue::new(None))).unwrap().unwrap();
        (rows.remove(0), ended)
    }

    /// Log predictive density of the held-out labels under the posterior, by the trapezoidal rule.
    fn exact() -> f64 {
        let target: Target = toml::from_str(TARGET).unwrap();
        let rows = target.logistic_rows(&Catalogue::new(None), Seed::new(1)).unwrap();
        let mut work = vec![0.0; rows.model.work_len(1)];
        let (mut mass, mut ones) = (0.0, vec![0.0; rows.test.rows()]);
        let places =
            (-120..=120).flat_map(|i| (-120..=120).map(move |j| [i, j].map(|k| 0.05 * f64::from(k))));
        for z in places {
            let weight = (rows.model.log_density(&z, &mut work) + 40.0).exp();
            mass += weight;
            for (n, one) in ones.iter_mut().enumerate() {
                let margin: f64 = (0..2).map(|i| rows.test.x[(n, i)] * z[i]).sum();
                *one += weight / (1.0 + (-margin).exp());
            }
        }
        let of = |(one, y): (&f64, &f64)| if *y > 0.5 { (one / mass).ln() } else { (1.0 - one / mass).ln() };
        ones.iter().zip(&rows.test.y).map(of).sum::<f64>() / rows.test.rows() as f64
    }

    /// Chains of HMCECS predict as the posterior does, those on a narrower prior do not. Over twelve seeds and twice as many draws the
    /// density had a standard deviation of 0.0006: the border is six of those that follow.
    #[test]
    fn draws_predict_as_their_target_does() {
        let (few, exact) = (end(TARGET, "kind = 'nuts-cs'\npoints = 6\nchains = 4"), exact());
        let kind = "kind = 'hmcecs'\nrows = 30\nblocks = 5\nchains = 4";
        let all = end(TARGET, kind);
        let twin = end(&TARGET.replace("prior_scale = 1.0", "prior_scale = 0.1"), kind);
        let value = |end: &(Row, Ended), name: &str| end.0.values[name];
        let off = |end: &(Row, Ended)| (value(end, "lpd") - exact).abs();
        assert!(off(&all) < 0.005 && off(&twin) > 0.02, "{} {} {exact}", off(&all), off(&twin));
        for end in [&few, &all] {
            assert!(value(end, "r_hat") < 1.02 && value(end, "bulk_ess") > 400.0, "{end:?}");
            assert!((0.0..=1.0).contains(&value(end, "accuracy")));
            assert_eq!(value(end, "terms"), end.1.counts["terms"] as f64);
        }
        // A trajectory has at least one leapfrog step; a gradient of HMCECS has three terms for each row.
        assert!(
            value(&all, "terms") > 4.0 * 750.0 * 30.0 * 3.0 && value(&few, "terms") < value(&all, "terms")
        );
    }
}
