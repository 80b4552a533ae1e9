//! Long chains, by which a flow is confirmed or mended.

use faer::Mat;
use mcsa_core::{Error, Gradient, Seed, Whitened};
use mcsa_estimators::Draws;
use mcsa_kernels::{Nuts, Sampling};

use super::differences::Differences;
use super::enlargement::{flow_start, learnt};
use super::moments::of_points;
use super::refinement::Refinement;
use super::shape::DENSE;
use super::state::Earlier;
use super::verdict::{Evidence, FEWEST};
use super::witness::{self, Chains, FrozenProposal, LONG_CHAINS};
use super::{FitState, Objection, Shape, Target};

/// Steps of the warm-up.
const WARM_UP: u64 = 100;
/// Steps after it.
const LENGTH: usize = 200;
/// Acceptance at which the warm-up aims: small steps, for the narrow ends of a bent ridge.
const ACCEPTANCE: f64 = 0.95;
/// Largest depth of a tree.
const DEPTH: usize = 7;
/// Gradients per step for which there must be evaluations left.
const LEAPFROGS: u64 = 20;

/// Number of times that a flow learns from long chains.
const MOST: usize = 2;

impl FitState {
    /// Long chains for a flow, or for a mixture to which a witness objects: they take the place of `chains`, and their objections join those
    /// `found`. True if a flow that learnt from their points is judged next.
    ///
    /// A posterior that mixtures do not follow often has narrow and bent ends: q and its weighted draws stop short of them, short chains do
    /// not come there, and stretched copies of q miss them. So no flow is trusted without long chains.
    pub(super) fn learns(
        &mut self,
        target: &Target<'_>,
        q: &FrozenProposal<'_>,
        draws: &Draws,
        found: &mut Vec<Objection>,
        chains: &mut Chains,
    ) -> Result<bool, Error> {
        let is_mixing = |found: &[Objection]| found.iter().any(|o| matches!(o, Objection::Mixing { .. }));
        let is_flow = self.current()?.shape == Shape::Flow;
        // Other objections stay, whatever the flow.
        let is_open = self.objections.is_empty() && found.iter().all(Objection::is_to_q) && !is_mixing(found);
        let is_enough = draws.len() as f64 >= FEWEST && (2..=DENSE).contains(&target.dim());
        if !is_enough || !is_open || (!is_flow && found.is_empty()) {
            return Ok(false);
        }
        let (seed, round) = (self.seed().named("confirmation"), self.learnt as u64);
        let starts = witness::starts(target, &self.ascents.modes, LONG_CHAINS, seed, round)?;
        let is_over = self.is_late || target.gate().is_closed();
        let (before, most) = (target.evaluations().total(), if is_over { 0 } else { self.left() });
        let Some((long, points)) = long_chains(q, target, &starts, seed.child(round), most)? else {
            if is_flow && found.is_empty() {
                found.push(Objection::Unconfirmed);
            }
            return Ok(false);
        };
        *chains = long;
        let heard = Evidence { target, q, draws, ascents: &self.ascents, chains };
        found.extend(heard.objections_of_long_chains());
        // These chains, those that are to judge the flow, and its draws.
        let cost = 2 * (target.evaluations().total() - before) + self.options.draws as u64;
        let is_done = found.is_empty() && self.learnt > 0;
        if is_done || is_mixing(found) || self.learnt == MOST || cost > self.left() {
            return Ok(false);
        }
        if !found.is_empty() && self.before.is_none() {
            self.before = Some(self.judged(self.climbs.len(), draws.clone(), chains.clone(), found));
        }
        // Learning is an attempt, without which the fit goes on.
        Ok(self.learn(target, &points).is_ok())
    }

    /// The fit before a flow learnt, if a witness objects to both and the flow has the smaller evidence: mass that q lacks is missing from it.
    pub(super) fn better(
        &mut self,
        target: &Target<'_>,
        draws: Draws,
        chains: Chains,
    ) -> Result<(Draws, Chains), Error> {
        let is_worse = |before: &Earlier| before.log_evidence > draws.log_evidence();
        match self.before.take().filter(|before| !self.objections.is_empty() && is_worse(before)) {
            None => Ok((draws, chains)),
            Some(before) => self.restore(before, target),
        }
    }

    /// A flow that learns from the points of long chains, in place of q.
    fn learn(&mut self, target: &Target<'_>, points: &Mat<f64>) -> Result<(), Error> {
        let mut stream = self.seed().named("learn").stream(0, self.learnt as u64 + 1);
        let last = self.current()?;
        let start = match last.shape {
            Shape::Flow => last.params().to_vec(),
            _ => flow_start(&of_points(points.as_ref()), &mut stream)?,
        };
        let params = learnt(&start, points, &mut stream)?;
        let mut climb = Refinement::new(last.number + 1, Shape::Flow, params);
        if !climb.look(target.density(), self.seed(), &|| !target.gate().is_closed())? {
            return Err(Error::invalid("a limit ended the look at a flow"));
        }
        self.climbs.push(climb);
        self.learnt += 1;
        Ok(())
    }
}

/// Chains of the No-U-Turn sampler from `starts`, without a gradient by differences of the log density; `None` if `most` evaluations do not
/// suffice. There is no proposal from q: it would take the chains back to where q has its mass.
fn long_chains(
    q: &FrozenProposal<'_>,
    target: &Target<'_>,
    starts: &Mat<f64>,
    seed: Seed,
    most: u64,
) -> Result<Option<(Chains, Mat<f64>)>, Error> {
    let gradients = starts.ncols() as u64 * (WARM_UP + LENGTH as u64) * LEAPFROGS;
    let each = if target.gradient().is_some() { 1 } else { target.dim() as u64 + 1 };
    if gradients * each > most {
        return Ok(None);
    }
    let before = target.evaluations().total();
    let goes_on = || target.evaluations().total() - before <= most && !target.gate().is_closed();
    match target.gradient() {
        Some(gradient) => follow(q, &Whitened::new(gradient, q.map.clone())?, starts, seed, &goes_on),
        None => {
            let white = Whitened::new(target.density(), q.map.clone())?;
            follow(q, &Differences(&white), starts, seed, &goes_on)
        }
    }
}

fn follow<P: Gradient>(
    q: &FrozenProposal<'_>,
    white: &P,
    starts: &Mat<f64>,
    seed: Seed,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<(Chains, Mat<f64>)>, Error> {
    let plan = Sampling::new(starts.ncols(), 0).warm_up(WARM_UP).acceptance(ACCEPTANCE);
    let kernel = Nuts::with(Nuts::new(0.5)?.leapfrog().clone(), DEPTH)?;
    let warm = plan.run_from(&kernel, white, q.map.inverse(starts.as_ref()), seed.named("warm"))?;
    q.observe(&warm.kernel, white, warm.positions, LENGTH, seed, goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::ModeSearch;
    use mcsa_core::AffineMap;
    use mcsa_families::FullRank;
    use mcsa_models::{Banana, Gaussian};

    /// Objections of long chains on the standard normal to a q with this standard deviation in the first coordinate, whose draws are
    /// weighted for itself, as where mass beyond them has no draw; `None` if `most` evaluations do not suffice.
    fn objections(width: f64, target: &Target<'_>, most: u64) -> Option<Vec<Objection>> {
        let factor = faer::mat![[width, 0.0], [0.0, 1.0]];
        let (family, map) = (FullRank::new(2), AffineMap::new(vec![0.0; 2], factor.clone()).expect("a map"));
        let params = family.at(&[0.0; 2], factor.as_ref()).expect("a factor");
        let narrow = mcsa_core::from_fn(2, move |z| -0.5 * ((z[0] / width).powi(2) + z[1] * z[1]));
        let draws = Draws::of(&narrow, &family, &params, Seed::new(1).stream(0, 0), 4_000).expect("draws");
        let q = FrozenProposal { family: &family, params: &params, map: &map };
        let starts = Mat::from_fn(2, LONG_CHAINS, |i, j| ((3 * i + j) % 5) as f64 - 2.0);
        let found = long_chains(&q, target, &starts, Seed::new(2), most).expect("chains");
        let (q, draws, ascents) = (&q, &draws, &ModeSearch::default());
        found.map(|(chains, _)| {
            Evidence { target, q, draws, ascents, chains: &chains }.objections_of_long_chains()
        })
    }

    /// A variance of 0.81 instead of 1, with a gradient and by differences: in units of q it is 1.23, which short chains would let pass.
    #[test]
    fn long_chains_object_to_a_narrow_answer() {
        let model = Gaussian::standard(2);
        for target in [Target::with_gradient(&model), Target::density_only(&model)] {
            let found = objections(0.9, &target, u64::MAX).expect("chains");
            let [Objection::Moments { difference, of_variance: true, .. }] = found[..] else {
                panic!("{found:?}")
            };
            assert!((difference + 0.23).abs() < 0.1, "{difference}");
            // Counterexample: the right answer.
            assert_eq!(objections(1.0, &target, u64::MAX), Some(Vec::new()));
        }
    }

    /// Chains are not begun where fewer evaluations are left than they are expected to take, which are more without a gradient.
    #[test]
    fn long_chains_keep_to_the_budget() {
        let model = Gaussian::standard(2);
        let (with, alone) = (Target::with_gradient(&model), Target::density_only(&model));
        assert_eq!(objections(1.0, &with, 100_000), None);
        assert_eq!(objections(1.0, &alone, 200_000), None);
        assert_eq!((with.evaluations().total(), alone.evaluations().total()), (0, 0));
        assert!(objections(1.0, &with, 200_000).is_some());
        // Chains that take more than expected are ended: the ends of this ridge are narrow, so that steps are small.
        let bent = Banana::new(2.0, 3.0).expect("a width");
        let target = Target::with_gradient(&bent);
        assert_eq!(objections(1.0, &target, 200_000), None);
        assert!(target.evaluations().total() > 200_000);
    }

    /// A flow with an objection, after a fit with another one whose log evidence was `log_evidence`, for a normal of log evidence
    /// `log 2 pi`: how many climbs are left, and the objections.
    fn after_learning(log_evidence: f64, objections: Vec<Objection>) -> (usize, Vec<Objection>) {
        let model = Gaussian::standard(2);
        let target = Target::with_gradient(&model);
        let (mut fitting, fitted) = super::super::mending::tests::fitted();
        let (climbs, chains) = (fitting.climbs.len(), fitted.chains.clone());
        let missed = Objection::Missed { log_weight: 9.0, chains: 2, of: 16, offset: 9.0 };
        let before = fitting.judged(climbs, fitted.draws.clone(), chains, &[missed]);
        fitting.before = Some(Earlier { log_evidence, ..before });
        fitting.climbs.push(fitting.climbs[0].clone());
        fitting.objections = objections;
        let (draws, _) = fitting.better(&target, fitted.draws.clone(), fitted.chains).expect("draws");
        assert_eq!(draws.points, fitted.draws.points);
        (fitting.climbs.len() - climbs, fitting.objections)
    }

    #[test]
    fn of_two_fits_with_objections_that_with_the_larger_evidence_stays() {
        let (lower, higher) = (f64::NEG_INFINITY, f64::INFINITY);
        assert!(
            matches!(after_learning(higher, vec![Objection::Unconfirmed]), (0, found) if found[0].is_to_q())
        );
        // Counterexamples: a flow with the larger evidence, and one without objections.
        assert_eq!(after_learning(lower, vec![Objection::Unconfirmed]), (1, vec![Objection::Unconfirmed]));
        assert_eq!(after_learning(higher, Vec::new()), (1, Vec::new()));
    }
}
