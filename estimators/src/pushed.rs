//! Draws, health and evidence of fits of distributions with `log q` at their own draws alone: flows without an inverse, annealed paths.

use faer::MatRef;
use mcsa_core::{
    Error, Estimator, LogDensity, Optimizer, Pushforward, Stream, batch, batch_mut, same_length,
};
use mcsa_diagnostics::LogEvidence;

use crate::fresh_weights::{BATCH, DRAWS, Pieces};
use crate::log_weights::add_log_weights;
use crate::{Ascent, Draws, Fit, Health};

impl<P, F, E, O> Ascent<'_, P, F, E, O>
where
    P: LogDensity + ?Sized,
    F: Pushforward + ?Sized,
    E: Estimator<P, F>,
    O: Optimizer,
{
    /// Weighted draws at the lambda that a fit [recommends](Self::recommended), of a family with `log q` at its own draws alone:
    /// [`draws`](Self::draws) for flows without an inverse and for annealed paths.
    ///
    /// # Errors
    /// As [`draws`](Self::draws).
    pub fn pushed_draws(&self, fit: &Fit<E::State, O::State>, count: usize) -> Result<Draws, Error> {
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        let (judged, params) = self.recommended(fit);
        let lane = self.seed.named("draws").stream(0, fit.step());
        let params = &params[..self.family.num_params()];
        let draws = Draws::pushed(self.target, self.family, params, lane, count);
        Ok(Draws { judged, ..draws.map_err(|error| error.within("Ascent"))? })
    }

    /// Log evidence from both sides: from below by `draws` paths of the family at the lambda that a fit
    /// [recommends](Self::recommended), from above by paths drawn backward from `points`, draws of the target such as those of NUTS.
    ///
    /// ```text
    /// E_q[log p - log q]  <=  log Z  <=  E_p[E_backward[log p - log q]]
    /// ```
    /// The upper bound is as good as the points: chains that miss a mode miss it here too.
    ///
    /// # Errors
    /// As [`draws`](Self::draws); if the points have another dimension, or the family does not know its backward law.
    pub fn pushed_evidence(
        &self,
        fit: &Fit<E::State, O::State>,
        draws: usize,
        points: MatRef<'_, f64>,
    ) -> Result<LogEvidence, Error> {
        let (dim, count, rows) = (self.family.dim(), points.ncols(), self.family.noise_dim());
        same_length("points", dim, points.nrows())?;
        let below = self.pushed_draws(fit, draws)?;
        let (_, params) = self.recommended(fit);
        let params = &params[..self.family.num_params()];
        let mut work = vec![0.0; self.family.work_len(count).max(self.target.work_len(count))];
        let (mut noise, mut log_q, mut log_p) = (vec![0.0; rows * count], vec![0.0; count], vec![0.0; count]);
        let points: Vec<f64> = (0..count).flat_map(|j| points.col(j).iter().copied()).collect();
        let (z, noise) = (batch(&points, dim, count), batch_mut(&mut noise, rows, count));
        let mut lane = [self.seed.named("backward").stream(0, fit.step())];
        if !self.family.retrace_into(params, z, &mut lane, noise, &mut log_q, &mut work) {
            return Err(Error::invalid("this family does not know the backward law of its draws"));
        }
        self.target.log_densities(z, &mut log_p, &mut work);
        let mut above = Vec::with_capacity(count);
        add_log_weights(&log_p, &log_q, &mut above);
        Ok(LogEvidence::of(&below.log_ratios(), draws, &above))
    }

    /// As [`health`](Self::health), for a family with `log q` at its own draws alone, such as an annealed path; with the numbers of
    /// clipped step sizes of the path.
    ///
    /// # Errors
    /// As [`health`](Self::health).
    pub fn pushed_health(&self, fit: &Fit<E::State, O::State>) -> Result<Health, Error> {
        self.check(fit).map_err(|error| error.within("Ascent"))?;
        let (judged, params) = self.recommended(fit);
        let (params, rows) = (&params[..self.family.num_params()], self.family.noise_dim());
        let mut lane = [self.seed.named("health").stream(0, fit.step())];
        let mut noise = vec![0.0; rows * BATCH];
        let health = self.judge_by(fit, judged, &DRAWS, &[], Pieces::default(), |z, log_q, work| {
            let (columns, noise) = (log_q.len(), &mut noise[..rows * log_q.len()]);
            self.family.sample_noise_into(&mut lane, batch_mut(noise, rows, columns));
            self.family.push(params, batch(noise, rows, columns), z, log_q, work);
        });
        let health = health.expect("a report in one piece is not stopped");
        let step_sizes = self.family.step_sizes(params, &mut vec![0.0; self.family.work_len(1)]);
        Ok(Health { step_sizes: Some(step_sizes).filter(|sizes| sizes.steps > 0), ..health })
    }
}

impl Draws {
    /// As [`of`](Self::of), for a distribution with `log q` at its own draws alone, such as an annealed path: points `z_i` and the log
    /// weights of the extended space on which q is a density.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn pushed<P, F>(
        target: &P,
        family: &F,
        params: &[f64],
        lane: Stream,
        count: usize,
    ) -> Result<Self, Error>
    where
        P: LogDensity + ?Sized,
        F: Pushforward + ?Sized,
    {
        let (mut lane, rows) = ([lane], family.noise_dim());
        let mut noise = vec![0.0; rows * BATCH.min(count)];
        Self::by(target, family, params, count, |z, log_q, work| {
            let (columns, noise) = (log_q.len(), &mut noise[..rows * log_q.len()]);
            family.sample_noise_into(&mut lane, batch_mut(noise, rows, columns));
            family.push(params, batch(noise, rows, columns), z, log_q, work);
        })
    }
}
