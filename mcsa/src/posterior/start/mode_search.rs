//! Ascents to the modes of a target from spread points.

use faer::Mat;
use mcsa_core::{AffineMap, Error, Gradient, LogDensity, Seed, Stream, Whitened, bits};
use mcsa_optim::deterministic::{Gaussian, Laplace, Lbfgs, Maximum, Pathfinder};
use serde::{Deserialize, Serialize};

use super::ascent::{End, Evaluated, FINE, Passed, TOLERANCE, Within, ascent, distance, slide};
use crate::posterior::density::differences::Differences;
use crate::posterior::density::side_by_side::Shared;

/// Local maximum of the target, with the Gaussian approximation there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// The maximiser, or the mean of a Pathfinder approximation if the target has no maximum there.
    #[serde(with = "bits::vector")]
    pub point: Vec<f64>,
    /// Covariance of the Gaussian approximation.
    #[serde(with = "bits::matrix")]
    pub covariance: Mat<f64>,
    /// Approximation of the log evidence around the mode: Laplace's, or Pathfinder's bound.
    #[serde(with = "bits::scalar")]
    pub log_evidence: f64,
    /// Number of ascents that ended here.
    pub reached: usize,
}

/// Ascents from spread points, and the modes that they reached.
///
/// The first ascent begins at the origin. Two thirds of the others begin at draws of `N(0, s^2)` with s = 2, 5 or 15, in
/// coordinates in which the approximation at the first mode is standard normal. The rest begin uniformly in `(-2, 2)^d`. Once
/// there are several modes a, b and c, half of the rest begin at `a + b - c` instead, which leads to other orders of exchanged
/// labels.
///
/// Without a gradient the first mode is the Gaussian of tempering, and the others come from ascents by differences of the log
/// density. One start in six then also makes some steps in the coordinates of the target.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModeSearch {
    /// Number of ascents made.
    pub made: usize,
    /// Distinct modes, in the order in which they were found.
    pub modes: Vec<Mode>,
    /// Number of ascents that gave no mode, for example because they reached no maximum within their iterations.
    pub unfinished: usize,
    /// Number of starts without a finite density nearby.
    pub outside: usize,
    /// Points that the later ascents passed, where the mass may be that does not lie around the end: all ascents on ridges that cross end in one
    /// place, those to a narrow mode within a wide mass at the mode, those in a funnel in its neck.
    pub(crate) entries: Vec<Passed>,
    /// Points around which an answer was seen to lack mass.
    pub(crate) seen: Vec<Evaluated>,
    /// Where later ascents end before a mode.
    pub(crate) within: Option<Within>,
}

/// Spreads of starting points in standard deviations of the first approximation.
const SPREADS: [f64; 3] = [2.0, 5.0, 15.0];
/// Trials for a starting point with a finite density.
const TRIALS: usize = 100;
/// Distance of two ends, in standard deviations, below which they are one mode.
const NEAR: f64 = 0.5;
/// Ascents of which one is a slide as well, from a start in the cube.
const SLIDES: usize = 6;
/// Ascents side by side.
const ROUND: usize = 10;
/// Largest number of distinct modes.
const MOST: usize = 20;
/// Steps of the path on which the best Gaussian is looked for where the first ascent has no end: each has twenty draws.
const PATH: u64 = 100;

/// The best Gaussian on the way of an ascent without an end.
fn on_the_way() -> Pathfinder {
    let default = Pathfinder::default();
    let lbfgs = Lbfgs::with(1e-6, PATH, 10).unwrap_or_else(|_| default.lbfgs.clone());
    Pathfinder { lbfgs, ..default }
}

impl ModeSearch {
    /// Makes one more ascent, or, beyond the first mode, some side by side: as many as a round has, up to `most` in all.
    ///
    /// # Errors
    /// If the first finds no point with a finite density.
    pub(crate) fn advance(&mut self, target: Shared<'_>, most: usize, seed: Seed) -> Result<(), Error> {
        let lane = |number: usize| seed.named("ascent").stream(0, number as u64);
        let Some(map) = self.modes.first().map(Mode::map).transpose()? else {
            let mut stream = lane(self.made);
            let start = starting_point(target.gradient, &[], None, self.made, &mut stream);
            self.made += 1;
            match start {
                Some(start) => self.first(target.gradient, &start, &mut stream),
                None if self.made < TRIALS => self.outside += 1,
                None => {
                    let origin = vec![0.0; target.gradient.dim()];
                    let mut work = vec![0.0; target.gradient.work_len(1)];
                    let value = target.gradient.log_density(&origin, &mut work);
                    let reason = format!(
                        "no point with a finite log density in {TRIALS} trials near the origin; at the origin it is {value}"
                    );
                    return Err(Error::invalid(reason));
                }
            }
            return Ok(());
        };
        let (begun, modes) = (self.made, self.modes.clone());
        self.made = (begun + ROUND).min(most.max(begun + 1));
        let start = |k: usize, gradient: &dyn Gradient| {
            starting_point(gradient, &modes, Some(&map), begun + k, &mut lane(begun + k))
        };
        self.ascend(target, &map, self.made - begun, start);
        Ok(())
    }

    /// Makes ascents from these points side by side.
    ///
    /// # Errors
    /// If there is no first mode, or it has no factor.
    pub(crate) fn advance_from(&mut self, target: Shared<'_>, starts: &[Vec<f64>]) -> Result<(), Error> {
        let map = self.modes.first().ok_or_else(|| Error::invalid("no first mode"))?.map()?;
        self.made += starts.len();
        self.ascend(target, &map, starts.len(), |k, _| Some(starts[k].clone()));
        Ok(())
    }

    /// Makes ascents from these points, which are not counted among those that are made from spread points. The first gives the first mode
    /// if there is none.
    ///
    /// # Errors
    /// As [`advance_from`](Self::advance_from).
    pub(crate) fn begin_from(
        &mut self,
        target: Shared<'_>,
        starts: &[Vec<f64>],
        stream: &mut Stream,
    ) -> Result<(), Error> {
        let made = self.made;
        let Some((first, others)) = starts.split_first() else { return Ok(()) };
        self.first(target.gradient, first, stream);
        if !self.modes.is_empty() {
            self.advance_from(target, others)?;
        }
        self.made = made;
        Ok(())
    }

    /// Ascents side by side, in coordinates of the first mode.
    fn ascend(
        &mut self,
        target: Shared<'_>,
        map: &AffineMap,
        count: usize,
        start: impl Fn(usize, &dyn Gradient) -> Option<Vec<f64>> + Sync,
    ) {
        let within = self.within;
        // Draws give the coordinates their scale.
        let climbed = |gradient: &dyn Gradient, start: &[f64], tolerance: f64, within: Option<Within>| {
            let white = Whitened::new(gradient, map.clone()).ok()?;
            Some(ascent(&white, map, start, tolerance, within, within.is_none()))
        };
        // Ascents may climb what rounding decides, which is then no place.
        let guard = target.gate.guard();
        let ends = guard.paused(|| {
            target.each(count, |k, gradient| climbed(gradient, &start(k, gradient)?, TOLERANCE, within))
        });
        let is_sound = |z: &[f64], log_p: f64| guard.is_sound(target.gradient, z, log_p);
        for found in ends {
            let Some((end, entries)) = found else {
                self.outside += 1;
                continue;
            };
            self.entries
                .extend(entries.into_iter().filter(|Passed { at, .. }| is_sound(&at.point, at.log_p)));
            match end {
                End::Nowhere => self.unfinished += 1,
                End::Within => self.modes[0].reached += 1,
                End::Peak { z, .. } if self.returns_to(&z) => {}
                End::Peak { z, log_p, .. } if !is_sound(&z, log_p) => self.unfinished += 1,
                End::Peak { z, .. } => {
                    let laplace =
                        Laplace::by_differences(target.gradient, &z).or_else(|error| {
                            match climbed(target.gradient, &z, FINE, None) {
                                Some((End::Peak { z, .. }, _)) => {
                                    Laplace::by_differences(target.gradient, &z)
                                }
                                _ => Err(error),
                            }
                        });
                    match laplace {
                        Ok(found) if self.returns_to(&found.gaussian.mean) => {}
                        found => self.discover(found),
                    }
                }
            }
        }
    }

    /// The first ascent, in the coordinates of the target.
    fn first(&mut self, target: &dyn Gradient, start: &[f64], stream: &mut Stream) {
        let peak = Lbfgs::default().mode(target, start).and_then(Maximum::converged);
        let laplace = peak.ok().and_then(|peak| Laplace::by_differences(target, &peak.point).ok());
        match laplace {
            Some(Laplace { gaussian, log_evidence }) => self.keep(gaussian, log_evidence),
            None => match on_the_way().run(target, start, stream) {
                Ok(found) => self.keep(found.gaussian, found.elbo),
                Err(_) => self.unfinished += 1,
            },
        }
    }

    /// A mode with this Gaussian approximation, which one ascent reached.
    pub(crate) fn keep(&mut self, gaussian: Gaussian, log_evidence: f64) {
        let Gaussian { mean, covariance } = gaussian;
        self.modes.push(Mode { point: mean, covariance, log_evidence, reached: 1 });
    }

    /// Makes one more ascent by differences of the log density; the end, if it is a new mode. The first mode gives the coordinates.
    ///
    /// # Errors
    /// If there is no first mode, or it has no factor.
    pub(crate) fn advance_by_density<P: LogDensity>(
        &mut self,
        target: &P,
        seed: Seed,
    ) -> Result<Option<&Mode>, Error> {
        let first = self.modes.first().ok_or_else(|| Error::invalid("no first mode"))?;
        let mut stream = seed.named("ascent").stream(0, self.made as u64);
        let Some(start) = starting_point(target, &self.modes, Some(&first.map()?), self.made, &mut stream)
        else {
            self.made += 1;
            self.outside += 1;
            return Ok(None);
        };
        if self.made % SLIDES == SLIDES / 2 {
            self.entries.extend(slide(target, &start, &first.map()?));
        }
        self.advance_from_by_density(target, &start)
    }

    /// As [`advance_by_density`](Self::advance_by_density), from this point.
    ///
    /// # Errors
    /// If there is no first mode, or it has no factor.
    pub(crate) fn advance_from_by_density<P: LogDensity>(
        &mut self,
        target: &P,
        start: &[f64],
    ) -> Result<Option<&Mode>, Error> {
        let first = self.modes.first().ok_or_else(|| Error::invalid("no first mode"))?;
        let (factor, white) = (first.factor()?, Whitened::new(target, first.map()?)?);
        let slopes = Differences::new(&white);
        self.made += 1;
        // Not scaled on the way, which would take `2 d (d + 1)` evaluations each time.
        let (end, entries) = ascent(&slopes, white.map(), start, FINE, self.within, false);
        self.entries.extend(entries);
        let known = self.modes.len();
        match end {
            End::Nowhere => self.unfinished += 1,
            End::Within => self.modes[0].reached += 1,
            End::Peak { z, .. } if self.returns_to(&z) => {}
            End::Peak { y, z, .. } => {
                self.discover(Laplace::at(&slopes, &y).map(|Laplace { gaussian, log_evidence }| {
                    let covariance = &factor * &gaussian.covariance * factor.transpose();
                    Laplace { gaussian: Gaussian { mean: z, covariance }, log_evidence }
                }));
            }
        }
        Ok(self.modes.get(known))
    }

    /// True if an ascent ended at a known mode.
    fn returns_to(&mut self, end: &[f64]) -> bool {
        let known = self.modes.iter_mut().find(|mode| mode.distance(end) < NEAR);
        known.map(|mode| mode.reached += 1).is_some()
    }

    /// Keeps the approximation at an end that is no known mode.
    fn discover(&mut self, found: Result<Laplace, Error>) {
        match found {
            Ok(Laplace { gaussian, log_evidence }) if self.modes.len() < MOST => {
                self.keep(gaussian, log_evidence);
            }
            _ => self.unfinished += 1,
        }
    }

    /// Normalised weights of the modes by their evidence.
    pub(crate) fn weights(&self) -> Vec<f64> {
        let top = self.modes.iter().map(|mode| mode.log_evidence).fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = self.modes.iter().map(|mode| (mode.log_evidence - top).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|weight| weight / sum).collect()
    }
}

/// Start of the ascent with this number, at a point with a finite density; `first` is the map of the first mode.
fn starting_point<P: LogDensity + ?Sized>(
    target: &P,
    modes: &[Mode],
    first: Option<&AffineMap>,
    number: usize,
    stream: &mut Stream,
) -> Option<Vec<f64>> {
    let dim = target.dim();
    let (mut z, mut work) = (vec![0.0; dim], vec![0.0; target.work_len(1)]);
    for trial in 0..10 {
        match first {
            None if number == 0 && trial == 0 => {}
            Some(map) if !number.is_multiple_of(3) => {
                let mut y = vec![0.0; dim];
                stream.normals_into(&mut y);
                let spread = SPREADS[number / 3 % SPREADS.len()];
                y.iter_mut().for_each(|y| *y *= spread);
                map.forward_into(&y, &mut z);
            }
            Some(_) if modes.len() > 1 && number.is_multiple_of(6) => {
                let c = stream.index(modes.len())?;
                let mut other = || Some((c + 1 + stream.index(modes.len() - 1)?) % modes.len());
                let [a, b, c] = [other()?, other()?, c].map(|k| &modes[k].point);
                (0..dim).for_each(|i| z[i] = a[i] + b[i] - c[i]);
            }
            _ => z.iter_mut().for_each(|z| *z = 4.0 * stream.uniform() - 2.0),
        }
        if target.log_density(&z, &mut work).is_finite() {
            return Some(z);
        }
    }
    None
}

impl Mode {
    /// The standard normal, in place of a mode that no ascent came to within the limits.
    pub(crate) fn unknown(dim: usize) -> Self {
        Self { point: vec![0.0; dim], covariance: Mat::identity(dim, dim), log_evidence: 0.0, reached: 0 }
    }

    /// Map from standard normal coordinates to those of the target.
    pub(crate) fn map(&self) -> Result<AffineMap, Error> {
        self.gaussian().map()
    }

    pub(crate) fn factor(&self) -> Result<Mat<f64>, Error> {
        self.gaussian().factor()
    }

    fn gaussian(&self) -> Gaussian {
        Gaussian { mean: self.point.clone(), covariance: self.covariance.clone() }
    }

    /// Mahalanobis distance of `z` from the mode; infinite if the covariance is not positive definite.
    fn distance(&self, z: &[f64]) -> f64 {
        self.map().map_or(f64::INFINITY, |map| distance(&map, z))
    }
}

#[cfg(test)]
mod tests {
    use mcsa_models::Mixture;

    use super::*;
    use crate::posterior::Target;

    /// Modes that ascents find beside the normal at -8, and the gradients that they take.
    fn found_beside_the_first(within: Option<Within>) -> (usize, u64) {
        let model = Mixture::modes(4, 16.0, 0.3).expect("two modes");
        let (target, mut search) = (Target::with_gradient(&model), ModeSearch::default());
        target.gate().open(100_000, 0);
        let mean = vec![-8.0, 0.0, 0.0, 0.0];
        search.keep(Gaussian { mean, covariance: Mat::identity(4, 4) }, f64::NAN);
        search.within = within;
        let gradient = target.gradient().expect("a gradient");
        while search.made < 60 {
            search.advance(target.shared(gradient), 60, Seed::new(1)).expect("ascents");
        }
        (search.modes.len(), target.evaluations().gradient)
    }

    #[test]
    fn ascents_end_in_the_middle_of_draws_and_find_what_lies_beside() {
        let distance = 1.83;
        let log_p = 0.7_f64.ln() - 2.0 * std::f64::consts::TAU.ln() - 0.5 * distance * distance;
        let (modes, all) = found_beside_the_first(None);
        let (beside, fewer) = found_beside_the_first(Some(Within { distance, log_p }));
        assert_eq!((modes, beside), (2, 2));
        assert!(fewer < all, "{fewer} {all}");
        // By the height alone the other mode is taken for the first.
        assert_eq!(found_beside_the_first(Some(Within { distance: f64::INFINITY, log_p })).0, 1);
    }

    /// Normal densities at the six places of three labels, 200 standard deviations apart, the first at the origin: four lead to a fifth, and one to
    /// no other.
    #[test]
    fn differences_of_modes_lead_to_exchanged_labels() {
        const LABELS: [[f64; 3]; 6] =
            [[0., 1., 2.], [0., 2., 1.], [1., 0., 2.], [1., 2., 0.], [2., 0., 1.], [2., 1., 0.]];
        let places = LABELS.map(|labels| [0, 1, 2].map(|i| 200.0 * (labels[i] - LABELS[0][i])));
        let terms = move |z: &[f64]| {
            places.map(|place| -0.5 * z.iter().zip(&place).map(|(z, place)| (z - place).powi(2)).sum::<f64>())
        };
        let model = mcsa_core::from_fn(3, move |z| mcsa_core::numeric::log_sum_exp(&terms(z)));
        let model = model.with_gradient(move |z, slopes| {
            let terms = terms(z);
            let total = mcsa_core::numeric::log_sum_exp(&terms);
            slopes.fill(0.0);
            for (term, place) in terms.iter().zip(&places) {
                (0..3).for_each(|i| slopes[i] += (term - total).exp() * (place[i] - z[i]));
            }
        });
        let found = |known: usize| {
            let (target, mut search) = (Target::with_gradient(&model), ModeSearch::default());
            target.gate().open(1_000_000, 0);
            for place in &places[..known] {
                search.keep(Gaussian { mean: place.to_vec(), covariance: Mat::identity(3, 3) }, f64::NAN);
            }
            let gradient = target.gradient().expect("a gradient");
            while search.made < 100 {
                search.advance(target.shared(gradient), 100, Seed::new(1)).expect("ascents");
            }
            search.modes.len()
        };
        // Counterexample: starts around the first alone.
        assert_eq!((found(4), found(1)), (5, 1));
    }

    /// Two ridges of width 0.02 cross at the origin: one along the first mode, and one along the sum of the others. Half of the starts in the cube are
    /// nearer to the second.
    #[test]
    fn slides_pass_thin_mass_which_ascents_leave() {
        let dim = 10;
        let ridge = |along: f64, z: &[f64]| {
            let across = z.iter().map(|z| z * z).sum::<f64>() - along * along;
            -0.5 * (along * along / 16.0 + across / 4e-4)
        };
        let of_other = |z: &[f64]| z[1..].iter().sum::<f64>() / 3.0;
        let target = mcsa_core::from_fn(dim, |z| {
            mcsa_core::numeric::log_sum_exp(&[ridge(z[0], z), ridge(of_other(z), z) - 3.0])
        });
        let sds = |i: usize| if i == 0 { 4.0 } else { 0.02 };
        let factor = Mat::from_fn(dim, dim, |i, j| if i == j { sds(i) } else { 0.0 });
        let map = AffineMap::new(vec![0.0; dim], factor).expect("a map");
        let white = Whitened::new(&target, map.clone()).expect("a map");
        let is_on_it = |passed: &Passed| of_other(&passed.at.point).abs() > 0.2 && passed.at.log_p > -15.0;
        let (mut slid, mut passed) = (0, 0);
        for k in 0..40 {
            let mut stream = Seed::new(3).stream(0, k);
            let start: Vec<f64> = (0..dim).map(|_| 4.0 * stream.uniform() - 2.0).collect();
            slid += usize::from(slide(&target, &start, &map).is_some_and(|passed| is_on_it(&passed)));
            let (_, entries) = ascent(&Differences::new(&white), &map, &start, FINE, None, false);
            passed += usize::from(entries.iter().any(is_on_it));
        }
        assert!(slid > 2 * passed, "{slid} {passed}");
    }
}
