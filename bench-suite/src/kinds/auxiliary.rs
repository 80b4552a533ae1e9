//! Auxiliary sets of chains beside a fit, from which the variance of its direction is estimated.

use mcsa_core::{Address, Counted, Error, Estimator, Seed};
use mcsa_families::GaussianFamily;
use serde::{Deserialize, Serialize};

use crate::catalog::{Beginning, CountedFamily, CountedTarget, Posterior};

/// States of one estimator in `R` independent copies that use the lambda of a fit and do not affect the fit.
///
/// ```text
/// V = 1/(R - 1) sum_r || g_r - mean g ||^2,   over all of lambda
/// ```
/// Each copy begins at `N(0, I)`, not at `q`, and makes one transition each time `V` is computed (pMCSA, gradient variance
/// figure): its chains lag behind those of the fit. Each copy has its own streams and its own counts of evaluations.
#[derive(Serialize, Deserialize)]
pub(super) struct Auxiliary<S> {
    seed: Seed,
    sets: Vec<S>,
}

impl<S> Auxiliary<S> {
    /// Starts `sets` copies at step 0, each with its own lanes.
    pub(super) fn start<'a, E>(
        sets: u64,
        estimator: &E,
        target: &'a dyn Posterior,
        family: &'a dyn GaussianFamily,
        seed: Seed,
    ) -> Result<Self, Error>
    where
        E: Estimator<CountedTarget<'a>, CountedFamily<'a>, State = S>,
    {
        let standard = Beginning::Standard.draw(family, &mut seed.named("standard").stream(0, 0))?;
        let (target, family) = (Counted::new(target), Counted::new(family));
        let mut lanes = seed.streams(estimator.lanes(), 0);
        let mut first = |set| {
            move_to(&mut lanes, set, 0);
            estimator.init(&target, &family, &standard, &mut lanes)
        };
        let sets = (0..sets).map(&mut first).collect::<Result<_, _>>()?;
        Ok(Self { seed, sets })
    }

    /// Variance of the direction at `params`, after one transition of each copy; `step` is the step of the fit.
    pub(super) fn variance<'a, E>(
        &mut self,
        estimator: &E,
        target: &'a dyn Posterior,
        family: &'a dyn GaussianFamily,
        params: &[f64],
        step: u64,
    ) -> Result<f64, Error>
    where
        E: Estimator<CountedTarget<'a>, CountedFamily<'a>, State = S>,
    {
        let (target, family) = (Counted::new(target), Counted::new(family));
        let mut lanes = self.seed.streams(estimator.lanes(), 0);
        let mut work = vec![0.0; estimator.work_len(&target, &family)];
        let (mut direction, mut mean) = (vec![0.0; params.len()], vec![0.0; params.len()]);
        let mut square = 0.0;
        for (set, count) in self.sets.iter_mut().zip(1_u64..) {
            move_to(&mut lanes, count - 1, step + 1);
            estimator.ascent_direction(
                &target,
                &family,
                params,
                set,
                &mut lanes,
                &mut direction,
                &mut work,
            )?;
            for (mean, g) in mean.iter_mut().zip(&direction) {
                let off = g - *mean;
                *mean += off / count as f64;
                square += off * (g - *mean);
            }
        }
        Ok(square / (self.sets.len().max(2) - 1) as f64)
    }
}

/// Moves the lanes to one copy and step: no two copies share a lane.
fn move_to(lanes: &mut [mcsa_core::Stream], set: u64, step: u64) {
    let first = set * lanes.len() as u64;
    lanes.iter_mut().zip(first..).for_each(|(lane, k)| lane.go_to(Address::of(k, step)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Target;
    use mcsa_data::Catalogue;
    use mcsa_families::MeanField;

    /// With `q = p = N(0, I)` every proposal is accepted, so `g` averages `N` independent scores: `V = 3 d / N` in `(mean,
    /// log scale)`. `Var ||s||^2 = 74 d`, so at `N = 1` the standard error of `V` is 3.2 %, and 20 % is six standard errors:
    /// a false alarm has probability below 1e-4.
    #[test]
    fn it_is_the_variance_of_independent_scores_where_all_is_accepted() {
        let problem = Target::StandardGaussian { dim: 2 }.build(&Catalogue::new(None), Seed::new(1)).unwrap();
        let family = MeanField::new(2).with_link(mcsa_families::Link::Exp);
        let variance = |chains: usize, params: &[f64]| {
            let estimator = mcsa_estimators::pmcsa(chains);
            let mut all =
                Auxiliary::start(4000, &estimator, &*problem.posterior, &family, Seed::new(3)).unwrap();
            all.variance(&estimator, &*problem.posterior, &family, params, 0).unwrap()
        };
        let params = family.at(&[0.0; 2], &[1.0; 2]).unwrap();
        for chains in [1, 10] {
            let expected = 6.0 / chains as f64;
            let found = variance(chains, &params);
            assert!((found / expected - 1.0).abs() < 0.2, "{chains} chains: {found} for {expected}");
        }
        // For `q` different from `p` the variance differs.
        let wide = family.at(&[0.0; 2], &[3.0; 2]).unwrap();
        assert!((variance(10, &wide) / 0.6 - 1.0).abs() > 0.5);
    }
}
