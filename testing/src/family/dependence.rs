//! Laws of the scale of draws and of the dependence between their coordinates, by identities that hold for every density.

use faer::Mat;
use mcsa_core::{Family, Reparameterised};

use super::normaliser::Mean;
use super::{Case, Failure, case};
use crate::law::{ACCEPTED, DETECTED, NINE_IN_TEN, Power, near};

const BATCH: usize = 1024;
/// Largest number of coordinates that are moved.
const MOVED: usize = 32;
/// Largest number of draws, enough for a correlation of 0.06.
const DRAWS: usize = 16_384;
/// Least mean share of a shifted density at which a shift is accepted.
const SHARE: f64 = 0.3;
/// Functions of a coordinate with which those of another are compared.
const FUNCTIONS: usize = 2;

/// Coordinates of draws depend on each other as the density says. For a shift `h` of coordinate `i`, write `z+` and `z-` for the
/// shifted points and `a(z') = q(z') / (q(z) + q(z'))`. A change of variables gives, for all functions `f` of coordinate `i` and
/// `g` of the others,
///
/// ```text
/// E_q[ (a(z+) f(z_i + h/2) - a(z-) f(z_i - h/2)) g(z_others) ] = 0.
/// ```
///
/// `f` is 1 or an odd function; `g` is 1, an odd or an even function of each other coordinate, or the product of the signs of all
/// others. All terms are bounded, so heavy tails do not matter. For a product density the terms are moments between coordinates.
/// Where coordinates depend on each other, the factors `a` correct for the dependence. At most 32 coordinates are moved, each
/// compared with all others that are moved. The law takes 16384 draws, or fewer if two densities per draw and moved coordinate
/// would be more than [`Case::draws`].
///
/// Each statistic is compared with its standard error; the bound is wide enough that all together have a false alarm of 6e-7.
/// The power is stated as the correlation of the two factors that is detected with probability 0.9. One dimension has no
/// dependence, and the law holds without a test.
pub fn draws_depend_as_the_density(case: &Case<dyn Family + '_>) -> Result<Option<Power>, Failure> {
    dependence("draws_depend_as_the_density", case, draws(case, "dependence"))
}

/// Coordinates of transported noise depend on each other as in [`draws_depend_as_the_density`].
pub fn transport_depends_as_the_density(
    case: &Case<dyn Reparameterised + '_>,
) -> Result<Option<Power>, Failure> {
    dependence("transport_depends_as_the_density", case, transported(case, "dependence of transport"))
}

/// A function that returns a batch of draws and their log densities.
fn draws(case: &Case<dyn Family + '_>, stream: &str) -> impl FnMut() -> (Mat<f64>, Vec<f64>) {
    let mut stream = case.stream(stream);
    move || case.draw(BATCH, &mut stream)
}

/// A function that returns a batch of transported noise and its log densities.
fn transported(case: &Case<dyn Reparameterised + '_>, stream: &str) -> impl FnMut() -> (Mat<f64>, Vec<f64>) {
    let mut stream = case.stream(stream);
    move || {
        let (_, z) = case::transported(case, BATCH, &mut stream);
        let log_q = case.log_probs(&case.params, z.as_ref());
        (z, log_q)
    }
}

fn dependence(
    law: &'static str,
    case: &Case<dyn Family + '_>,
    mut draw: impl FnMut() -> (Mat<f64>, Vec<f64>),
) -> Result<Option<Power>, Failure> {
    let dim = case.family.dim();
    if dim < 2 {
        return Ok(None);
    }
    let moved: Vec<usize> = (0..dim).step_by(dim.div_ceil(MOVED)).collect();
    let spreads = case.spreads();
    let draws = (case.draws / (2 * moved.len())).clamp(BATCH, DRAWS).div_ceil(BATCH) * BATCH;
    let (mut z, mut log_q) = draw();
    // The largest of the width, its half, .. at which the mean share of the shifted density is not small.
    let mut fitting = |i: usize| {
        let mut sizes = (0..=20).map(|k| spreads[i].1 * 0.5_f64.powi(k));
        let mut mean = |h: f64| shares(case, i, h, &mut z, &log_q).iter().sum::<f64>() / BATCH as f64;
        sizes.find(|&h| mean(h) >= SHARE).unwrap_or(spreads[i].1 * 0.5_f64.powi(20))
    };
    let shifts: Vec<f64> = moved.iter().map(|&i| fitting(i)).collect();
    let mut sums = vec![Moments::default(); moved.len() * Moments::of_coordinate(moved.len())];
    for batch in 0..draws / BATCH {
        if batch > 0 {
            (z, log_q) = draw();
        }
        let standard = |i: usize, j: usize| (z[(i, j)] - spreads[i].0) / spreads[i].1;
        // Functions of every moved coordinate, and the product of all signs.
        let functions: Vec<[f64; FUNCTIONS]> = (0..BATCH * moved.len())
            .map(|at| {
                let odd = standard(moved[at % moved.len()], at / moved.len()).tanh();
                [odd, 4.0 * odd * odd - 1.0]
            })
            .collect();
        let signs: Vec<f64> = functions
            .chunks(moved.len())
            .map(|of_draw| of_draw.iter().map(|[odd, _]| odd.signum()).product())
            .collect();
        let units: Vec<Vec<f64>> =
            moved.iter().map(|&i| (0..BATCH).map(|j| standard(i, j)).collect()).collect();
        for (m, (&i, &h)) in moved.iter().zip(&shifts).enumerate() {
            let half = 0.5 * h / spreads[i].1;
            let up = shares(case, i, h, &mut z, &log_q);
            let down = shares(case, i, -h, &mut z, &log_q);
            for j in 0..BATCH {
                let unit = units[m][j];
                let of_draw = &functions[j * moved.len()..(j + 1) * moved.len()];
                let own = [up[j] - down[j], up[j] * (unit + half).tanh() - down[j] * (unit - half).tanh()];
                let others = of_draw.iter().enumerate().filter(|&(k, _)| k != m).flat_map(|(_, g)| *g);
                let all_signs = signs[j] * of_draw[m][0].signum();
                let per = Moments::of_coordinate(moved.len());
                let mut sum = sums[m * per..(m + 1) * per].iter_mut();
                for g in [1.0, all_signs].into_iter().chain(others) {
                    for own in own {
                        sum.next().expect("one for each product").add(own, g);
                    }
                }
            }
        }
    }
    let accepted = (ACCEPTED * ACCEPTED + 2.0 * (sums.len() as f64).ln()).sqrt();
    let per = Moments::of_coordinate(moved.len());
    let mut size = 0.0_f64;
    for (at, sum) in sums.iter().enumerate() {
        let (m, of) = (at / per, at % per / 2);
        let (mean, error) = (sum.products.mean(), sum.error());
        let place = || {
            let own = if at % 2 == 0 { "slope" } else { "scaled slope" };
            let other = match of {
                0 => "one".into(),
                1 => "the signs of all others".into(),
                of => {
                    let k = (of - 2) / FUNCTIONS;
                    let kind = if of % FUNCTIONS == 0 { "position" } else { "distance" };
                    format!("the {kind} of coordinate {}", moved[if k < m { k } else { k + 1 }])
                }
            };
            format!("{own} of coordinate {} against {other}, {draws} draws", moved[m])
        };
        near(law, place, mean, 0.0, accepted * error + 1e-12)?;
        if of > 1 {
            size = size.max((accepted + NINE_IN_TEN) * sum.correlation());
        }
    }
    let effort = format!("{draws} draws, {} coordinates", moved.len());
    Ok(Some(Power::new("the correlation of two coordinates of draws", size, effort)))
}

/// `q(z + h e_i) / (q(z) + q(z + h e_i))` at each column.
fn shares(case: &Case<dyn Family + '_>, i: usize, h: f64, z: &mut Mat<f64>, log_q: &[f64]) -> Vec<f64> {
    let row: Vec<f64> = (0..z.ncols()).map(|j| z[(i, j)]).collect();
    row.iter().enumerate().for_each(|(j, at)| z[(i, j)] = at + h);
    let moved = case.log_probs(&case.params, z.as_ref());
    row.iter().enumerate().for_each(|(j, at)| z[(i, j)] = *at);
    log_q.iter().zip(&moved).map(|(here, there)| 1.0 / (1.0 + (here - there).exp())).collect()
}

/// Sums of products of two factors.
#[derive(Clone, Default)]
struct Moments {
    products: Mean,
    of_own: f64,
    of_other: f64,
}

impl Moments {
    /// Number of products of one coordinate, when `moved` are moved.
    const fn of_coordinate(moved: usize) -> usize {
        2 * (2 + FUNCTIONS * (moved - 1))
    }

    fn add(&mut self, own: f64, other: f64) {
        self.products.add(own * other);
        self.of_own += own * own;
        self.of_other += other * other;
    }

    fn error(&self) -> f64 {
        self.products.variance().max(0.0).sqrt() / self.products.count.sqrt()
    }

    /// The correlation of the factors that equals one standard error.
    fn correlation(&self) -> f64 {
        self.error() * self.products.count / (self.of_own * self.of_other).sqrt()
    }
}

/// Relative error of the scale that the law tries to detect with probability 0.9; it then detects 0.01 with probability 0.998.
const SOUGHT: f64 = 0.008;
const PILOT: usize = 4096;

/// Draws have the scale of the density, in any dimension. With `m` the median of some draws and `s` slightly above one,
///
/// ```text
/// E_q[ s^d q(m + s (z - m)) / q(z) ] = 1,
/// ```
///
/// and if draws are wider than `q` by a factor `1 + e` about `m`, the mean is `1 + (s - 1) e I` with `I` the Fisher information of
/// a draw about a scale (`2 d` for Gaussians). The number of draws is chosen so that `e` = 0.008 is detected with probability 0.9,
/// as far as [`Case::draws`] allows; the false alarm is 6e-7. An error in one of `d` coordinates alone is detected if it is `d`
/// times as large.
pub fn draws_have_their_scale(case: &Case<dyn Family + '_>) -> Result<Option<Power>, Failure> {
    scale("draws_have_their_scale", case, draws(case, "scale"))
}

/// Transported noise has the scale of the density, as in [`draws_have_their_scale`].
pub fn transport_has_its_scale(case: &Case<dyn Reparameterised + '_>) -> Result<Option<Power>, Failure> {
    scale("transport_has_its_scale", case, transported(case, "scale of transport"))
}

fn scale(
    law: &'static str,
    case: &Case<dyn Family + '_>,
    mut draw: impl FnMut() -> (Mat<f64>, Vec<f64>),
) -> Result<Option<Power>, Failure> {
    let dim = case.family.dim();
    if dim == 0 {
        return Ok(None);
    }
    let centre: Vec<f64> = case.spreads().iter().map(|spread| spread.0).collect();
    // Mean and variance of (ratio - 1) / ln s, which approximates the derivative in ln s.
    let mut pass = |log_s: f64, draws: usize| {
        let mut slopes = Mean::default();
        for _ in 0..draws / BATCH {
            let (mut z, log_q) = draw();
            for j in 0..BATCH {
                let moves = z.col_as_slice_mut(j).iter_mut().zip(&centre);
                moves.for_each(|(z, centre)| *z = centre + log_s.exp() * (*z - centre));
            }
            for (log_q, moved) in log_q.iter().zip(case.log_probs(&case.params, z.as_ref())) {
                slopes.add((moved - log_q + dim as f64 * log_s).exp_m1() / log_s);
            }
        }
        (slopes.mean(), slopes.variance())
    };
    let (_, pilot) = pass(1e-4, PILOT);
    let needed = (DETECTED / SOUGHT).powi(2) / pilot;
    let draws = (needed.clamp(PILOT as f64, case.draws.max(PILOT) as f64) as usize).div_ceil(BATCH) * BATCH;
    let (mean, information) = pass((0.02 / pilot.sqrt()).clamp(1e-5, 0.1), draws);
    let error = 1.0 / (draws as f64 * information).sqrt();
    let place = || format!("relative error of the scale, {draws} draws");
    near(law, place, mean / information, 0.0, ACCEPTED * error + 1e-9)?;
    Ok(Some(Power::new("the relative scale of draws", DETECTED * error, format!("{draws} draws"))))
}
