//! Mass of p outside an answer: beyond its draws, around modes, and around points that ascents passed.

use std::f64::consts::TAU;

use faer::{Mat, Side};
use mcsa_core::{AffineMap, Error, Gradient, LogDensity, Seed, Stream, Whitened, numeric};
use mcsa_optim::deterministic::Gaussian;

use crate::posterior::climb::shape::DENSE;
use crate::posterior::density::differences::{Differences, OFFSET};
use crate::posterior::start::ascent::{Evaluated, Passed};
use crate::posterior::{Mode, Target};

/// Factors by which a Gaussian is stretched to see low mass far around it, and those for the mass at a point.
const FAR: [f64; 6] = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
const NEAR: [f64; 3] = [1.0, 2.0, 4.0];
/// Draws of each Gaussian, and how many times as many are made again where these see mass.
const FEW: usize = 100;
const AGAIN: u64 = 20;
/// Most points of a kind whose mass is estimated.
const MOST: usize = 5;
/// Distance of two of them, in standard deviations of the answer, up to which they are one.
const APART: f64 = 0.5;
/// Most points to which the heaviest draws lead, one after the other.
const RISES: usize = 10;
/// Distance of second differences in coordinates in which the answer is white.
const AROUND: f64 = 1e-3;

/// Log of the square that a point counts, by its coordinates and log density: minus infinity where the answer has mass.
pub(crate) type Lack<'a> = &'a dyn Fn(&[f64], f64) -> f64;

/// An answer, and what it lacks.
pub(crate) struct Outside<'a> {
    pub(crate) target: &'a Target<'a>,
    pub(crate) gradient: Option<&'a dyn Gradient>,
    /// Coordinates in which the answer has mean 0 and covariance I.
    pub(crate) map: &'a AffineMap,
    /// Log of the second moment, in squares of standard deviations, from which on mass counts.
    pub(crate) least: f64,
    pub(crate) lack: Lack<'a>,
    pub(crate) seed: Seed,
}

/// What draws of Gaussians around a point see: the log of the moment that the answer lacks, the draw that counts most, and if the moment counts.
struct Around {
    log_mass: f64,
    heaviest: Evaluated,
    counts: bool,
}

/// A passed point with mass beyond all draws, and the half-space around it that they leave.
pub(crate) struct Beyond<'p, H> {
    pub(crate) point: &'p [f64],
    pub(crate) holds: H,
}

impl Outside<'_> {
    /// True if p has mass around a mode: by Laplace's approximation, or by draws of Gaussians at the mode, which also see tails and mass that
    /// is much wider than the curvature at the top.
    pub(crate) fn has_mass(&self, mode: &Mode) -> bool {
        let square = (self.lack)(&mode.point, self.log_density(&mode.point));
        if square == f64::NEG_INFINITY {
            return false;
        }
        !(mode.log_evidence + square <= self.least) || mode.map().is_ok_and(|map| self.sees(&map, &NEAR))
    }

    /// True if p has mass far around these coordinates.
    pub(crate) fn has_mass_around(&self, map: &AffineMap) -> bool {
        self.sees(map, &FAR)
    }

    /// Points with mass around them, of the points that ascents passed those with the largest guesses. The mass of a shell is a bound; that by
    /// the curvature on the way is none. Around points at which an earlier answer was seen to lack mass, the present one may have it at the point
    /// alone: the places are then those of draws that see what is still lacking. If none of the passed points has mass, draws lead on from the best.
    pub(crate) fn points<'p>(&self, passed: &[&'p Passed], seen: &[Evaluated]) -> Vec<Evaluated> {
        let mut around: Vec<(&Evaluated, Around)> = Vec::new();
        for is_of_shell in [true, false] {
            let square = |passed: &Passed| (self.lack)(&passed.at.point, passed.at.log_p);
            let least = if is_of_shell { self.least } else { f64::NEG_INFINITY };
            let of_kind = passed.iter().filter(|passed| passed.is_of_shell == is_of_shell);
            let guesses = of_kind.map(|passed| (passed.log_mass + square(passed), &passed.at));
            let mut guesses: Vec<_> = guesses.filter(|(guess, _)| *guess > least).collect();
            guesses.sort_by(|a, b| b.0.total_cmp(&a.0));
            let mut apart: Vec<&Evaluated> = Vec::new();
            for (_, at) in guesses {
                let is_apart = |other: &&Evaluated| self.distance(&at.point, &other.point) > APART;
                if apart.len() < MOST && apart.iter().all(is_apart) {
                    apart.push(at);
                }
            }
            let seen = |at: &'p Evaluated| self.around(&at.point).map(|around| (at, around));
            around.extend(apart.into_iter().filter_map(seen));
        }
        let with_mass = around.iter().filter(|(_, around)| around.counts);
        let mut found: Vec<Evaluated> = with_mass.map(|(at, _)| (*at).clone()).collect();
        if found.is_empty() {
            found.extend(self.rise(around.into_iter().map(|(_, around)| around)));
        }
        for at in seen {
            let is_known = |other: &Evaluated| self.distance(&at.point, &other.point) <= APART;
            if !found.iter().any(is_known) {
                let lacking = self.around(&at.point).filter(|around| around.counts);
                found.extend(lacking.map(|around| around.heaviest));
            }
        }
        found
    }

    /// Passed points with mass beyond all draws along the line to them, each with the half-space that the draws leave to it: in white coordinates,
    /// `u'x > max over draws of u'x + 1/2` with `u = y / |y|`, y the point. Far draws in one direction say nothing of the others. `log_square` is
    /// what a point there counts.
    pub(crate) fn beyond<'p>(
        &self,
        draws: &Mat<f64>,
        passed: &[&'p Passed],
        log_square: &dyn Fn(&[f64]) -> f64,
    ) -> Vec<Beyond<'p, impl Fn(&[f64]) -> bool>> {
        let white = |z: &[f64]| {
            let mut y = vec![0.0; z.len()];
            self.map.inverse_into(z, &mut y);
            y
        };
        let drawn = self.map.inverse(draws.as_ref());
        let is_of_shell = |passed: &&&Passed| passed.is_of_shell && self.target.dim() <= DENSE;
        let mut shells: Vec<&Passed> = passed.iter().filter(is_of_shell).copied().collect();
        shells.sort_by(|a, b| b.log_mass.total_cmp(&a.log_mass));
        let mut found: Vec<Beyond<'p, _>> = Vec::new();
        for Passed { at, .. } in shells {
            if found.len() == MOST {
                break;
            }
            let y = white(&at.point);
            let length = numeric::dot(&y, &y).sqrt();
            let along = move |x: &[f64]| numeric::dot(&y, x) / length;
            let farthest = (0..drawn.ncols()).map(|c| along(drawn.col_as_slice(c)));
            let ends = farthest.fold(f64::NEG_INFINITY, f64::max) + APART;
            let is_apart = |other: &Beyond<'p, _>| self.distance(&at.point, other.point) > 2.0 * APART;
            if length > ends && found.iter().all(is_apart) {
                found.push(Beyond { point: &at.point, holds: move |z: &[f64]| along(&white(z)) > ends });
            }
        }
        found.retain(|Beyond { point, holds }| {
            let lack = |z: &[f64], _: f64| if holds(z) { log_square(z) } else { f64::NEG_INFINITY };
            Outside { lack: &lack, ..*self }.has_mass_at(point)
        });
        found
    }

    /// Distance of two points in standard deviations of the answer.
    fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let mut y = [a, b].map(|z| vec![0.0; z.len()]);
        self.map.inverse_into(a, &mut y[0]);
        self.map.inverse_into(b, &mut y[1]);
        y[0].iter().zip(&y[1]).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    /// True if p has mass around a point, by draws of Gaussians of its curvature.
    pub(crate) fn has_mass_at(&self, point: &[f64]) -> bool {
        self.around(point).is_some_and(|around| around.counts)
    }

    /// Where mass counts to which draws lead: the heaviest draw of the Gaussians at a point is the next one, while their mass rises. They lead out of
    /// the neck of a funnel, in which ascents end.
    fn rise(&self, from: impl Iterator<Item = Around>) -> Option<Evaluated> {
        let mut at = from.max_by(|a, b| a.log_mass.total_cmp(&b.log_mass))?;
        for _ in 0..RISES {
            let next = self.around(&at.heaviest.point)?;
            if next.counts {
                return Some(at.heaviest);
            }
            at = (next.log_mass > at.log_mass + 1.0).then_some(next)?;
        }
        None
    }

    /// What draws of the Gaussians around a point see; up to some hundred dimensions.
    fn around(&self, point: &[f64]) -> Option<Around> {
        let mut most: Option<Around> = None;
        let mut counts = false;
        for map in self.maps_at(point) {
            for (k, s) in NEAR.iter().enumerate() {
                let (z, log_p, moments) =
                    self.drawn(&map, *s, self.seed.named("outside").stream(0, k as u64));
                let log_mass = numeric::log_sum_exp(&moments) - (FEW as f64).ln();
                counts = counts || log_mass > self.least && self.sees_again(&map, *s, k as u64);
                if most.as_ref().is_none_or(|most| log_mass > most.log_mass)
                    && let Some(j) = (0..FEW).max_by(|a, b| moments[*a].total_cmp(&moments[*b]))
                {
                    let heaviest = Evaluated { point: z.col_as_slice(j).to_vec(), log_p: log_p[j] };
                    most = Some(Around { log_mass, heaviest, counts });
                }
            }
        }
        most.map(|most| Around { counts, ..most })
    }

    /// Coordinates of the Gaussians around a point.
    fn maps_at(&self, point: &[f64]) -> impl Iterator<Item = AffineMap> {
        let gaussians = if point.len() <= DENSE { self.gaussians(point) } else { Ok(Vec::new()) };
        gaussians.unwrap_or_default().into_iter().filter_map(|gaussian| gaussian.map().ok())
    }

    /// Log density of the target.
    pub(crate) fn log_density(&self, z: &[f64]) -> f64 {
        let density = self.target.density();
        density.log_density(z, &mut vec![0.0; density.work_len(1)])
    }

    /// True if draws of a Gaussian with the centre m and the factor L of `map`, stretched by one of the scales, see a moment that counts, and more
    /// draws of it do again.
    fn sees(&self, map: &AffineMap, scales: &[f64]) -> bool {
        let first = |s: f64, k: u64| self.moment(map, s, self.seed.named("outside").stream(0, k));
        scales.iter().zip(0..).any(|(s, k)| first(*s, k) > self.least && self.sees_again(map, *s, k))
    }

    /// True if more draws see a moment that counts: few draws of uneven weights exceed a limit by chance.
    fn sees_again(&self, map: &AffineMap, s: f64, k: u64) -> bool {
        let moment = |batch: u64| self.moment(map, s, self.seed.named("outside").stream(batch, k));
        let again: Vec<f64> = (1..=AGAIN).map(moment).collect();
        numeric::log_sum_exp(&again) - (AGAIN as f64).ln() > self.least
    }

    /// Log of the second moment that the answer lacks, by draws of a Gaussian:
    ///
    /// ```text
    /// mean of p(z) / N(z; m, s^2 L L') exp(lack(z, log p(z)))
    /// ```
    fn moment(&self, map: &AffineMap, s: f64, stream: Stream) -> f64 {
        numeric::log_sum_exp(&self.drawn(map, s, stream).2) - (FEW as f64).ln()
    }

    /// Draws of the Gaussian, their log densities, and the log of what each counts.
    fn drawn(&self, map: &AffineMap, s: f64, mut stream: Stream) -> (Mat<f64>, Vec<f64>, Vec<f64>) {
        let (dim, density) = (self.target.dim(), self.target.density());
        let (mut z, mut work) = (Mat::zeros(dim, FEW), vec![0.0; density.work_len(FEW)]);
        let (mut y, mut log_q, mut log_p) = (vec![0.0; dim], vec![0.0; FEW], vec![0.0; FEW]);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            stream.normals_into(&mut y);
            *log_q = -0.5 * numeric::dot(&y, &y) - dim as f64 * (s.ln() + 0.5 * TAU.ln());
            y.iter_mut().for_each(|y| *y *= s);
            map.forward_into(&y, z.col_as_slice_mut(j));
        }
        density.log_densities(z.as_ref(), &mut log_p, &mut work);
        let moment = |j: usize| {
            let found = log_p[j] + map.log_volume() - log_q[j] + (self.lack)(z.col_as_slice(j), log_p[j]);
            if found < f64::INFINITY { found } else { f64::NEG_INFINITY }
        };
        let moments = (0..FEW).map(moment).collect();
        (z, log_p, moments)
    }

    /// Two Gaussians around a point, of its Newton step and curvature `A = -d^2 log p` in white coordinates y, R from the centre: the widths of
    /// the axes alone, which a ridge that bends or widens leaves as they are, and those of all directions, which a ridge across the axes needs.
    ///
    /// ```text
    /// C = diag(1 / |A_ii|)  and  C = U diag(1 / |l_i|) U',  A = U diag(l) U',    widths up to R,    m = y + C g
    /// ```
    fn gaussians(&self, point: &[f64]) -> Result<Vec<Gaussian>, Error> {
        let dim = point.len();
        let white = Whitened::new(self.target.density(), self.map.clone())?;
        let exact = self.gradient.map(|gradient| Whitened::new(gradient, self.map.clone())).transpose()?;
        let differences = Differences::new(&white);
        let slopes: &dyn Gradient = match &exact {
            Some(exact) => exact,
            None => &differences,
        };
        let mut work = vec![0.0; slopes.work_len(1)];
        let [mut y, mut gradient, mut ahead, mut behind] = [(); 4].map(|()| vec![0.0; dim]);
        self.map.inverse_into(point, &mut y);
        slopes.gradient_into(&y, &mut gradient, &mut work);
        let mut curvature = Mat::zeros(dim, dim);
        for k in 0..dim {
            let here = y[k];
            y[k] = here + AROUND;
            slopes.gradient_into(&y, &mut ahead, &mut work);
            y[k] = here - AROUND;
            slopes.gradient_into(&y, &mut behind, &mut work);
            y[k] = here;
            (0..dim).for_each(|i| curvature[(i, k)] = (behind[i] - ahead[i]) / (2.0 * AROUND));
        }
        if exact.is_none() {
            // The error of forward differences, in coordinates in which the curvature of thin mass is large.
            (0..dim).for_each(|i| gradient[i] += OFFSET * curvature[(i, i)]);
        }
        let square = numeric::dot(&y, &y);
        let variance = |curvature: f64| curvature.abs().recip().min(square);
        let symmetric = Mat::from_fn(dim, dim, |i, j| 0.5 * (curvature[(i, j)] + curvature[(j, i)]));
        let mut all =
            vec![Mat::from_fn(dim, dim, |i, j| if i == j { variance(curvature[(i, i)]) } else { 0.0 })];
        if symmetric.is_all_finite()
            && let Ok(eigen) = symmetric.self_adjoint_eigen(Side::Lower)
        {
            let (vectors, values) = (eigen.U(), eigen.S().column_vector());
            let scaled = Mat::from_fn(dim, dim, |i, j| vectors[(i, j)] * variance(values[j]));
            all.push(scaled * vectors.transpose());
        }
        // The factor of the map, column by column.
        let origin = self.map.forward(Mat::zeros(dim, 1).as_ref());
        let factor = self.map.forward(Mat::<f64>::identity(dim, dim).as_ref());
        let factor = Mat::from_fn(dim, dim, |i, j| factor[(i, j)] - origin[(i, 0)]);
        let gaussian = |covariance: Mat<f64>| {
            let centre = Mat::from_fn(dim, 1, |i, _| {
                y[i] + (0..dim).map(|j| covariance[(i, j)] * gradient[j]).sum::<f64>()
            });
            let mean = self.map.forward(centre.as_ref()).col_as_slice(0).to_vec();
            Gaussian { mean, covariance: &factor * covariance * factor.transpose() }
        };
        Ok(all.into_iter().map(gaussian).collect())
    }
}

#[cfg(test)]
mod tests {
    use mcsa_core::from_fn;
    use mcsa_models::Student;

    use super::*;
    use crate::posterior::ModeSearch;
    use crate::posterior::rule::RULE;

    fn standard(dim: usize) -> AffineMap {
        AffineMap::new(vec![0.0; dim], Mat::identity(dim, dim)).expect("a map")
    }

    /// A look at a normalised density, of which the standard normal within this distance is the answer.
    fn look<T>(target: &Target<'_>, within: f64, seed: u64, look: impl FnOnce(&Outside<'_>) -> T) -> T {
        let dim = target.dim();
        let lack = |z: &[f64], _: f64| match numeric::dot(z, z).sqrt() > within {
            true => 2.0 * z.iter().fold(1.0_f64, |a, z| a.max(z.abs())).ln(),
            false => f64::NEG_INFINITY,
        };
        let gradient = target.gradient().map(|gradient| gradient as _);
        let (map, seed) = (&standard(dim), Seed::new(seed));
        look(&Outside { target, gradient, map, least: RULE.moment.ln(), lack: &lack, seed })
    }

    fn normal(z: &[f64], s: f64) -> f64 {
        -0.5 * numeric::dot(z, z) / (s * s) - z.len() as f64 * (s.ln() + 0.5 * TAU.ln())
    }

    /// A tenth of the mass is twenty times as wide: `0.1 E max(y_1^2, y_2^2) = 0.1 400 (1 + 2/pi) = 65.5` in squares of the narrow scale.
    #[test]
    fn the_second_moment_beyond_the_draws_is_that_of_a_halo() {
        let largest = |outside: &Outside<'_>| {
            let of = |s: f64| outside.moment(&standard(2), s, outside.seed.stream(0, s as u64));
            FAR.into_iter().map(of).fold(f64::NEG_INFINITY, f64::max)
        };
        let halo = from_fn(2, |z| (0.9 * normal(z, 1.0).exp() + 0.1 * normal(z, 20.0).exp()).ln());
        for seed in 0..5 {
            let found = look(&Target::density_only(&halo), 5.0, seed, largest);
            assert!((found - 65.5_f64.ln()).abs() < 0.7, "{found}");
        }
        // Without the halo there is less than a hundredth.
        let narrow = from_fn(2, |z| normal(z, 1.0));
        let found = look(&Target::density_only(&narrow), 5.0, 1, largest);
        assert!(found < 0.01_f64.ln());
    }

    /// The mass of a Student t is 1, a third of what counts here. Its weights by draws of Gaussians are so uneven that 250 of them see three times the
    /// mass for some seeds, but do not again.
    #[test]
    fn a_moment_counts_if_more_draws_see_it_again() {
        let student = Student::new(vec![0.0; 10], vec![1.0; 10], 2.0).expect("a t");
        let target = Target::density_only(&student);
        let seen = |limit: f64| -> [usize; 2] {
            let mut seen = [0; 2];
            for seed in 0..100 {
                let (map, seed) = (&standard(10), Seed::new(seed));
                let outside = Outside {
                    target: &target,
                    gradient: None,
                    map,
                    least: limit.ln(),
                    lack: &|_, _| 0.0,
                    seed,
                };
                let first = |(k, s): (usize, &f64)| {
                    outside.moment(map, *s, seed.named("outside").stream(0, k as u64)) > outside.least
                };
                seen[0] += usize::from(NEAR.iter().enumerate().any(first));
                seen[1] += usize::from(outside.sees(map, &NEAR));
            }
            seen
        };
        let [once, again] = seen(3.0);
        assert!(once >= 3 && again == 0, "{once} {again}");
        // Counterexample: half of the mass.
        assert_eq!(seen(0.5), [100, 100]);
    }

    /// Laplace's approximation has `e^-11.8` of the mass of a Student t with four degrees of freedom in thirty dimensions, of which it sees the top.
    #[test]
    fn a_mode_with_long_tails_has_the_mass_of_its_tails() {
        let mut centre = vec![0.0; 30];
        centre[0] = 25.0;
        let student = Student::new(centre.clone(), vec![1.0; 30], 4.0).expect("a t");
        let has_mass = |share: f64| {
            let of = |z: &[f64]| student.log_density(z, &mut [0.0; 60]);
            let both = from_fn(30, |z| {
                numeric::log_sum_exp(&[(1.0 - share).ln() + normal(z, 1.0), share.ln() + of(z)])
            });
            let covariance = Mat::from_fn(30, 30, |i, j| if i == j { 4.0 / 34.0 } else { 0.0 });
            let log_evidence = share.ln() + of(&centre) + 15.0 * (TAU * 4.0 / 34.0).ln();
            assert!((log_evidence - share.ln() + 11.8).abs() < 0.1, "{log_evidence}");
            let mode = Mode { point: centre.clone(), covariance, log_evidence, reached: 1 };
            look(&Target::density_only(&both), 9.0, 1, |outside| outside.has_mass(&mode))
        };
        // Counterexample: a thousandth of what counts, `0.1 / 25^2`.
        assert!(has_mass(0.3) && !has_mass(1.6e-7));
    }

    /// Ascents from points far out pass a wide mass beside the normal, whose density has its maximum at the normal, and a ridge across the axes
    /// through its centre.
    #[test]
    fn mass_that_ascents_pass_is_seen() {
        let dim = 6;
        let wide = move |z: &[f64]| {
            let others: f64 = z[1..].iter().map(|z| z * z).sum();
            -0.5 * ((z[0] - 8.0).powi(2) + others / 144.0 + dim as f64 * TAU.ln()) - 5.0 * 12.0_f64.ln()
        };
        let ridge = move |z: &[f64]| {
            let along = z.iter().sum::<f64>() / (dim as f64).sqrt();
            let square = numeric::dot(z, z) - along * along;
            -0.5 * (along * along / 400.0 + square + dim as f64 * TAU.ln()) - 20.0_f64.ln()
        };
        type Part<'a> = &'a (dyn Fn(&[f64]) -> f64 + Sync);
        let parts: [Part<'_>; 2] = [&wide, &ridge];
        for part in parts {
            for (share, is_seen) in [(0.1, true), (1e-6, false)] {
                let density = from_fn(dim, move |z| {
                    numeric::log_sum_exp(&[(1.0_f64 - share).ln() + normal(z, 1.0), f64::ln(share) + part(z)])
                });
                let target = Target::density_only(&density);
                target.gate().open(1_000_000, 0);
                let mut search = ModeSearch::default();
                search.keep(Gaussian { mean: vec![0.0; dim], covariance: Mat::identity(dim, dim) }, 0.0);
                for _ in 0..40 {
                    search.advance_by_density(target.density(), Seed::new(3)).expect("an ascent");
                }
                let found = look(&target, 6.0, 1, |outside| {
                    outside.points(&search.entries.iter().collect::<Vec<_>>(), &[]).len()
                });
                assert_eq!(found > 0, is_seen, "{share}: {found}");
            }
        }
    }

    /// Chains have the normal at the origin and a few draws far out along the second axis; a third of the mass is at (12, 0). Counterexamples: draws
    /// there, too, and next to no mass there.
    #[test]
    fn far_draws_in_one_direction_say_nothing_of_another() {
        let beyond = |share: f64, has_draws_there: bool| {
            let density = from_fn(2, move |z| {
                let beside = [z[0] - 12.0, z[1]];
                numeric::log_sum_exp(&[
                    (1.0 - share).ln() + normal(z, 1.0),
                    share.ln() + normal(&beside, 1.0),
                ])
            });
            let mut draws = Mat::zeros(2, 9);
            draws[(1, 0)] = 30.0;
            draws[(0, 1)] = if has_draws_there { 12.0 } else { 4.0 };
            let at = Evaluated { point: vec![12.2, 0.3], log_p: -3.0 };
            let passed = Passed { at, log_mass: 0.0, is_of_shell: true };
            let target = Target::density_only(&density);
            look(&target, 30.0, 1, |outside| -> Vec<[bool; 2]> {
                let (passed, log_square) = ([&passed], |z: &[f64]| 2.0 * z[0].abs().ln());
                let found = outside.beyond(&draws, &passed, &log_square);
                found.iter().map(|beyond| [[12.0, 0.0], [4.2, 0.0]].map(|z| (beyond.holds)(&z))).collect()
            })
        };
        assert_eq!(beyond(0.3, false), [[true, false]]);
        assert_eq!((beyond(0.3, true).len(), beyond(1e-6, false).len()), (0, 0));
    }

    /// A third of the mass is a funnel beside the normal answer. Gaussians at a point in its neck, in which ascents end, do not see it; the heaviest
    /// draws lead out of the neck. Counterexample: next to no mass.
    #[test]
    fn heaviest_draws_lead_out_of_the_neck_of_a_funnel() {
        let dim = 20;
        let of_funnel = |z: &[f64]| {
            let (v, x) = (z[0] - 12.0, [&[z[1] - 12.0], &z[2..]].concat());
            -0.5 * (v * v + numeric::dot(&x, &x) * (-v).exp() + (dim - 1) as f64 * v + dim as f64 * TAU.ln())
        };
        let mut neck = vec![0.0087; dim];
        (neck[0], neck[1]) = (12.0 - 9.5, 12.0087);
        for (share, leads) in [(0.3, true), (1e-6, false)] {
            let density = from_fn(dim, move |z| {
                numeric::log_sum_exp(&[
                    (1.0_f64 - share).ln() + normal(z, 1.0),
                    f64::ln(share) + of_funnel(z),
                ])
            });
            let log_p = density.log_density(&neck, &mut []);
            let passed = Passed {
                at: Evaluated { point: neck.clone(), log_p },
                log_mass: f64::INFINITY,
                is_of_shell: true,
            };
            let (has_mass, found) = look(&Target::density_only(&density), 6.0, 1, |outside| {
                (outside.has_mass_at(&neck), outside.points(&[&passed], &[]).len())
            });
            assert_eq!((has_mass, found > 0), (false, leads));
        }
    }

    /// A tenth of the mass is on a thin ridge across the axes of the normal answer, and all around one point of it, from which the second answer has
    /// draws there. Its curvature of `10^5` across needs the correction of forward differences.
    #[test]
    fn mass_around_a_point_that_an_answer_covers_is_seen_again() {
        let (dim, thin, long) = (4_usize, 0.003_f64, 6.0_f64);
        let of_ridge = move |z: &[f64]| {
            let along = z.iter().sum::<f64>() / (dim as f64).sqrt();
            let across = numeric::dot(z, z) - along * along;
            let square = along * along / (long * long) + across / (thin * thin);
            -0.5 * (square + dim as f64 * TAU.ln()) - long.ln() - (dim - 1) as f64 * thin.ln()
        };
        let at = vec![3.0; dim];
        let found = |share: f64, seen: bool| {
            let density = from_fn(dim, move |z| {
                numeric::log_sum_exp(&[(1.0_f64 - share).ln() + normal(z, 1.0), f64::ln(share) + of_ridge(z)])
            });
            let target = Target::density_only(&density);
            let lack = |z: &[f64], _: f64| {
                let beside: Vec<f64> = z.iter().map(|z| z - 3.0).collect();
                let is_covered = [z, &beside].iter().any(|z| numeric::dot(z, z) < 4.0);
                if is_covered { f64::NEG_INFINITY } else { numeric::dot(z, z).ln() }
            };
            let (map, seed) = (&standard(dim), Seed::new(1));
            let least = RULE.moment.ln();
            let outside = Outside { target: &target, gradient: None, map, least, lack: &lack, seed };
            let log_p = outside.log_density(&at);
            let at = Evaluated { point: at.clone(), log_p };
            let entry = Passed { at: at.clone(), log_mass: log_p, is_of_shell: true };
            let seen = if seen { vec![at] } else { Vec::new() };
            outside.points(&[&entry], &seen)
        };
        let [lacking] = &found(0.1, true)[..] else { panic!("a point of the ridge") };
        assert!(lacking.point.iter().all(|z| (z - lacking.point[0]).abs() < 0.1), "{:?}", lacking.point);
        // Counterexamples: a point that was not seen before, and next to no mass.
        assert_eq!((found(0.1, false).len(), found(1e-6, true).len()), (0, 0));
    }
}
