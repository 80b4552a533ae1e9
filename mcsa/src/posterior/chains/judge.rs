//! The verdict on chains: their diagnostics, tails, and mass that they do not visit.

use faer::Mat;
use mcsa_core::{AffineMap, Error};
use mcsa_optim::deterministic::Gaussian;

use super::attempt::Attempt;
use super::bridge::bridge;
use super::sampler::CHAINS;
use crate::posterior::climb::moments::of_points;
use crate::posterior::climb::shape::DENSE;
use crate::posterior::rule::RULE;
use crate::posterior::start::ascent::{Passed, distance};
use crate::posterior::verdict::outside::{Beyond, Outside};
use crate::posterior::verdict::tails::tail_objection;
use crate::posterior::{Check, Evidence, FitState, Objection, Stage, Target};

/// Share of the evaluations left that draws for the evidence may use, of either of two bridges.
const BRIDGED: f64 = 0.1;
/// Steps of a chain that begins at a place which the others do not visit, and most such chains.
const PROBE: usize = 100;
const PROBES: usize = 20;

impl FitState {
    /// The verdict on the chains, and the way back if it is no.
    pub(crate) fn judge_chains(&mut self, target: &Target<'_>) -> Result<(), Error> {
        let seed = self.seed();
        let mut attempt = self.take_attempt()?;
        let (mixing, suffices) = (attempt.mixing, attempt.suffices());
        let (after, seen) = (attempt.after, attempt.sampler.latest());
        let map = seen.as_ref().and_then(|points| spread(points).map().ok());
        let tails = map.as_ref().zip(seen.as_ref()).and_then(|(map, points)| {
            let weights = vec![1.0; points.ncols()];
            tail_objection(target, map, seed, points, &weights)
        });
        let (Some(mixing), Some(points), Some(map)) = (mixing, seen, map) else {
            self.objections.extend(tails);
            self.stage = after;
            self.attempt = Some(attempt);
            return Ok(());
        };
        let mut found: Vec<Objection> = mixing.objections(&|i| target.name(i));
        found.extend(tails);
        let (mut evidence, mut is_partial, mut check) = (Evidence::NONE, false, Check::Tails);
        if suffices && !target.gate().is_closed() {
            check = Check::Modes;
            let constant = map.log_volume();
            let mut y = vec![0.0; target.dim()];
            self.look_from_prior(target, &mut attempt.search, &mut |z| {
                map.inverse_into(z, &mut y);
                -0.5 * y.iter().map(|y| y * y).sum::<f64>() - constant
            })?;
            let (log_p, most) = (attempt.sampler.log_p(), (BRIDGED * self.left() as f64) as usize);
            let rough = bridge(target.density(), &points, &log_p, CHAINS, most, seed);
            let rough = rough.filter(|_| !target.gate().is_closed()).unwrap_or(Evidence::NONE);
            // An evidence that is too rough to be shown still separates modes with mass from those without.
            is_partial = self.misses_a_mode(&attempt, target, &map, &points, rough.log);
            if rough.error <= RULE.evidence_error {
                evidence = rough;
            }
        }
        let (made, of) = (attempt.search.made, self.options.starts);
        if suffices && made < of {
            found.push(Objection::Starts { made, of });
        }
        if target.gate().is_closed() {
            // What a limit cut off speaks neither for the chains nor against them.
            is_partial = false;
            found.push(Objection::unverified(check, &self.limit(target)));
        }
        // Chains that agree are the answer, if not a good one. Mixtures follow where they do not, where a mode was found beside them, and where a
        // part of the posterior is too narrow for them.
        let agree = mixing.r_hat <= RULE.near_r_hat && !is_partial;
        if agree {
            // Where q would have begun, and a climb that a limit ended, have no bearing on chains.
            let is_of_q =
                |found: &&Objection| matches!(found, Objection::Tempering { .. } | Objection::Budget);
            let before = self.objections.iter().filter(|found| !is_of_q(found));
            found = before.cloned().chain(found).collect();
        }
        match agree && !mixing.diverges() {
            true => {
                (self.stage, self.objections) = (Stage::Done, found);
                attempt.evidence = Some(evidence);
            }
            false => {
                self.stage = after;
                attempt.unless = agree.then_some(found);
            }
        }
        self.attempt = Some(attempt);
        Ok(())
    }

    /// True if p has mass beyond the draws, or at a mode or a point that an ascent passed which no chain visits, and a chain that begins there
    /// does not come to the others.
    fn misses_a_mode(
        &self,
        Attempt { sampler, search, .. }: &Attempt,
        target: &Target<'_>,
        map: &AffineMap,
        points: &Mat<f64>,
        log_evidence: f64,
    ) -> bool {
        let distance = |z: &[f64]| distance(map, z);
        let over = |z: &[f64], log_p: f64| log_p + 0.5 * distance(z).powi(2);
        let (mut farthest, mut highest) = (0.0_f64, f64::NEG_INFINITY);
        for (c, log_p) in sampler.log_p().into_iter().enumerate() {
            let z = points.col_as_slice(c);
            (farthest, highest) = (farthest.max(distance(z)), highest.max(over(z, log_p)));
        }
        // Draws reach a point if some are as far, and some as high over their Gaussian.
        let reach =
            |z: &[f64], log_p: f64| distance(z) <= farthest && over(z, log_p) <= highest + RULE.outside;
        let Gaussian { mean, covariance } = spread(points);
        let square = |z: &[f64], i: usize| (z[i] - mean[i]).powi(2) / covariance[(i, i)];
        let log_square = |z: &[f64], axes: &mut dyn Iterator<Item = usize>| {
            axes.map(|i| square(z, i)).fold(1.0, f64::max).ln()
        };
        let lack_along = |z: &[f64], log_p: f64, axes: &mut dyn Iterator<Item = usize>| match reach(z, log_p)
        {
            true => f64::NEG_INFINITY,
            false => log_square(z, axes),
        };
        let lack = |z: &[f64], log_p: f64| lack_along(z, log_p, &mut (0..mean.len()));
        let seed = self.seed();
        let drivers = sampler.drivers();
        let outside = Outside {
            target,
            gradient: self.trusted_gradient(target).map(|gradient| gradient as _),
            map,
            // Draws in conditional coordinates reach the far ends less.
            least: log_evidence + if drivers.is_some() { RULE.driven } else { RULE.moment }.ln(),
            lack: &lack,
            seed,
        };
        if target.dim() <= DENSE {
            // The far ends of the children are those of the drivers.
            let of_drivers = |z: &[f64], log_p: f64| match drivers {
                Some(drivers) => lack_along(z, log_p, &mut drivers.iter().copied()),
                None => lack(z, log_p),
            };
            if (Outside { lack: &of_drivers, ..outside }).has_mass_around(map) {
                return true;
            }
        }
        let modes = self.ascents.modes.iter().chain(search.modes.iter().skip(1));
        let modes = modes.filter(|mode| outside.has_mass(mode)).map(|mode| &mode.point);
        let entries: Vec<&Passed> = self.ascents.entries.iter().chain(&search.entries).collect();
        let passed = outside.points(&entries, &self.ascents.seen);
        let begins = modes.chain(passed.iter().map(|at| &at.point)).take(PROBES);
        let goes_on = || !target.gate().is_closed();
        let returns = |k: usize, point: &[f64], is_back: &dyn Fn(&[f64]) -> bool| {
            let probe = Mat::from_fn(point.len(), 1, |i, _| point[i]);
            let seed = seed.named("probe").child(k as u64);
            let probed =
                self.with_slopes(target, |slopes| sampler.probe(slopes, probe, PROBE, seed, &goes_on));
            matches!(probed, Ok(Some(end)) if is_back(end.col_as_slice(0)))
        };
        let mut begins = begins.enumerate();
        if begins.any(|(k, point)| !returns(k, point, &|z| reach(z, outside.log_density(z)))) {
            return true;
        }
        let square_of_all = |z: &[f64]| log_square(z, &mut (0..mean.len()));
        let beyond = outside.beyond(points, &entries, &square_of_all);
        let mut beyond = beyond.iter().enumerate();
        beyond.any(|(k, Beyond { point, holds })| !returns(PROBES + k, point, &|z| !holds(z)))
    }
}

/// Gaussian with the moments of the points; beyond some hundred dimensions, of independent coordinates.
pub(crate) fn spread(points: &Mat<f64>) -> Gaussian {
    let mut gaussian = of_points(points.as_ref());
    let dim = points.nrows();
    if dim > DENSE {
        let covariance = &gaussian.covariance;
        gaussian.covariance = Mat::from_fn(dim, dim, |i, j| if i == j { covariance[(i, i)] } else { 0.0 });
    }
    gaussian
}
