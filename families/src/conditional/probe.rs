//! Which coordinates are drivers: nonlinearity of the own score, dependence of other curvatures, and hubs of the Hessian, without a graph of the
//! model.

use faer::{Mat, MatRef};
use mcsa_core::{Columns, Error, Gradient, bits, finite_matrix, same_length, square_fits_in_memory};
use serde::{Deserialize, Serialize};

/// Draws at which the score is probed, and steps up and down in one batch of gradients.
const PROBED: usize = 4;
const BATCH: usize = 64;
/// Nonlinearity above which a coordinate is a driver, rounds in its median, and the greatest share of drivers.
const NONLINEAR: f64 = 0.08;
/// Nonlinearity above which a coordinate is a driver if there is none of twice as much.
const FAINT: f64 = 0.02;
const ROUNDS: usize = 3;
const MOST: f64 = 2.0 / 3.0;
/// Most drivers by nonlinearity. Of more candidates those count on which other curvatures depend: the least strength of such a driver, and the
/// largest square of one change.
const MANY: usize = 16;
const SCALING: f64 = 0.5;
const MOST_CHANGE: f64 = 4.0;
/// Second differences below this multiple of the scores are rounding.
const ROUNDING: f64 = 1e-10;
/// Largest dimension without hubs; strength of a hub, its least spread, and that as a share of the dimension.
const SMALL: usize = 60;
const STRENGTH: f64 = 0.2;
const SPREAD: f64 = 5.0;
const SHARE: f64 = 0.04;
/// Standard deviation of a Gaussian in units of the median distance from the median.
const ROBUST: f64 = 1.482_602_218_505_602;

/// Result of [`probe`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probes {
    /// Nonlinearity of the own score of each coordinate: 0 where log p is quadratic along it, as for a child that is Gaussian given
    /// the others; infinite where the score is not finite half a standard deviation away.
    #[serde(with = "bits::vector")]
    pub nonlinearity: Vec<f64>,
    /// Coordinates coupled to many others, in more than 60 dimensions.
    pub hubs: Vec<usize>,
    /// Coordinates on which the curvatures along others depend.
    pub scaling: Vec<usize>,
}

/// Probes the score of each coordinate at four of the draws (columns), by `2 d` gradients at each.
///
/// ```text
/// nl_i = median over draws of |g_i(z + delta e_i) + g_i(z - delta e_i) - 2 g_i(z)| / |g_i(z + delta e_i) - g_i(z - delta e_i)|
/// H_ij = (g_i(z + delta e_j) - g_i(z - delta e_j)) / (2 delta),   R_ij = mean over draws of H_ij^2 / |H_ii H_jj|,   i != j
/// D_ij = 2 delta_j (g_j(z + delta_i e_i) + g_j(z - delta_i e_i) - 2 g_j(z)) / (delta_i^2 H_ii)
/// ```
/// `delta` is half a robust standard deviation s of the coordinate. `D_ij` is the change of `log H_ii`, the curvature along i, if `z_j` moves by
/// `s_j`, a third derivative. The strength of j is the sum of `max(D_ij^2, D_ji^2)` over the i that are not taken yet, with squares of at most
/// 4 and their mean over the draws. Coordinates with a nonlinearity above 0.02 are taken one by one as `scaling`, the strongest first, while its
/// strength is above 0.5. A log variance has a strength of about `n s^2` from n children that follow its prior; a child has `4 / n`.
///
/// Coordinate j is a hub if `sum_i R_ij > 0.2` and
/// `(sum_i R_ij)^2 / sum_i R_ij^2 > max(5, 0.04 d)`. A log scale has a nonlinearity of 0.1 to 0.5, also where its children lie near
/// their mode; its children have 0.
///
/// # Errors
/// If there is no draw, a draw is not finite, or the dimensions differ.
pub fn probe<P: Gradient + ?Sized>(target: &P, draws: MatRef<'_, f64>) -> Result<Probes, Error> {
    let refuse = |error: Error| error.within("probe");
    let (dim, count) = (draws.nrows(), draws.ncols());
    same_length("rows of the draws", target.dim(), dim).map_err(refuse)?;
    finite_matrix("draws", draws).map_err(refuse)?;
    square_fits_in_memory("dim", dim).map_err(refuse)?;
    if count == 0 {
        return Err(refuse(Error::invalid("no draw to probe at")));
    }
    let steps: Vec<f64> =
        (0..dim).map(|i| 0.5 * robust_sd(&draws.row(i).iter().copied().collect::<Vec<_>>())).collect();
    let probed: Vec<usize> =
        (0..PROBED.min(count)).map(|k| (2 * k + 1) * count / (2 * PROBED.min(count))).collect();
    let mut ratios = vec![vec![]; dim];
    // Differences of the scores (rows) by the steps (columns), and sums of R.
    let mut differences = Mat::zeros(dim, dim);
    let mut couplings =
        Mat::<f64>::zeros(if dim > SMALL { dim } else { 0 }, if dim > SMALL { dim } else { 0 });
    // Means of D^2.
    let mut changes = Mat::<f64>::zeros(dim, dim);
    let (mut log_p, mut work) = (vec![0.0; 2 * BATCH], vec![0.0; target.work_len(2 * BATCH)]);
    let (mut middle, mut z) = (vec![0.0; dim], vec![0.0; dim]);
    for &at in &probed {
        z.iter_mut().zip(draws.col(at).iter()).for_each(|(z, draw)| *z = *draw);
        target.gradient_into(&z, &mut middle, &mut work);
        for first in (0..dim).step_by(BATCH) {
            let width = BATCH.min(dim - first);
            let moved = Mat::from_fn(dim, 2 * width, |i, c| {
                let step = if i == first + c / 2 { steps[i] } else { 0.0 };
                if c % 2 == 0 { z[i] + step } else { z[i] - step }
            });
            let mut scores = Mat::zeros(dim, 2 * width);
            target.gradients_into(moved.as_ref(), &mut log_p[..2 * width], scores.as_mut(), &mut work);
            for c in 0..width {
                let (up, down, j) =
                    (scores.as_ref().column(2 * c), scores.as_ref().column(2 * c + 1), first + c);
                let column = differences.col_as_slice_mut(j).iter_mut();
                column.zip(up.iter().zip(down)).for_each(|(entry, (up, down))| *entry = up - down);
                ratios[j].push(nonlinearity(up[j], middle[j], down[j]));
                for i in (0..dim).filter(|&i| i != j) {
                    let bend = second_difference(up[i], middle[i], down[i]);
                    let change = 4.0 * steps[i] * bend / (steps[j] * (up[j] - down[j]));
                    if change.is_finite() {
                        changes[(j, i)] += (change * change).min(MOST_CHANGE) / probed.len() as f64;
                    }
                }
            }
        }
        for j in 0..couplings.ncols() {
            for i in (0..dim).filter(|&i| i != j) {
                let coupling = differences[(i, j)] * differences[(i, j)] * steps[i]
                    / (differences[(i, i)] * differences[(j, j)] * steps[j]).abs();
                couplings[(i, j)] += if coupling.is_finite() { coupling / probed.len() as f64 } else { 0.0 };
            }
        }
    }
    let is_hub = |j: &usize| {
        let column = couplings.col_as_slice(*j);
        let (sum, squares) = (column.iter().sum::<f64>(), column.iter().map(|r| r * r).sum::<f64>());
        sum > STRENGTH && sum * sum / squares > SPREAD.max(SHARE * dim as f64)
    };
    let hubs = (0..couplings.ncols()).filter(is_hub).collect();
    let nonlinearity: Vec<f64> = ratios.into_iter().map(median).collect();
    let pairs = Mat::from_fn(dim, dim, |i, j| changes[(i, j)].max(changes[(j, i)]));
    let scaling = strongest(&pairs, |j| nonlinearity[j] > FAINT);
    Ok(Probes { nonlinearity, hubs, scaling })
}

/// The candidates with the largest sums over the coordinates that are not taken yet, one by one, in order of their number.
fn strongest(pairs: &Mat<f64>, is_candidate: impl Fn(usize) -> bool) -> Vec<usize> {
    let (mut open, mut taken): (Vec<usize>, _) = ((0..pairs.nrows()).collect(), vec![]);
    loop {
        let strength = |j: usize| open.iter().filter(|&&i| i != j).map(|&i| pairs[(i, j)]).sum::<f64>();
        let candidates = open.iter().filter(|&&j| is_candidate(j)).map(|&j| (j, strength(j)));
        match candidates.max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((j, strength)) if strength > SCALING => {
                taken.push(j);
                open.retain(|&i| i != j);
            }
            _ => break,
        }
    }
    taken.sort_unstable();
    taken
}

/// Drivers by the probes of the rounds so far. A coordinate is a driver if the median of its nonlinearity over the last three
/// rounds exceeds a limit. The limit is half the largest such median, but at least 0.02 and at most 0.08. If more than 16
/// coordinates exceed it, those in `scaling` take their place: log rates of counts and children of a Student t are nonlinear by
/// themselves. The hubs of the last round are drivers too. The result is empty if, without the hubs, more than two thirds of the
/// coordinates are drivers.
pub fn choose_drivers(rounds: &[Probes]) -> Vec<usize> {
    let recent = &rounds[rounds.len().saturating_sub(ROUNDS)..];
    let Some(last) = recent.last() else { return vec![] };
    let dim = last.nonlinearity.len();
    let of = |i: usize| median(recent.iter().map(|round| round.nonlinearity[i]).collect());
    let most = (0..dim).map(of).fold(0.0, f64::max);
    let limit = NONLINEAR.min(0.5 * most).max(FAINT);
    let mut drivers: Vec<usize> = (0..dim).filter(|&i| of(i) > limit).collect();
    if drivers.len() > MANY {
        drivers.clone_from(&last.scaling);
    }
    if drivers.len() as f64 > MOST * dim as f64 {
        return vec![];
    }
    (0..dim).filter(|i| drivers.contains(i) || last.hubs.contains(i)).collect()
}

/// Ratio of the second difference to the first: 0 if the second is rounding, infinite if a score is not finite.
fn nonlinearity(up: f64, middle: f64, down: f64) -> f64 {
    let bend = second_difference(up, middle, down).abs();
    let ratio = if bend == 0.0 { 0.0 } else { bend / (up - down).abs() };
    if ratio.is_nan() { f64::INFINITY } else { ratio }
}

/// The second difference, 0 if it is rounding.
fn second_difference(up: f64, middle: f64, down: f64) -> f64 {
    let (bend, size) = (up + down - 2.0 * middle, up.abs() + down.abs() + 2.0 * middle.abs());
    if bend.abs() <= ROUNDING * size && size.is_finite() { 0.0 } else { bend }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { 0.5 * (values[middle - 1] + values[middle]) }
}

fn robust_sd(values: &[f64]) -> f64 {
    let centre = median(values.to_vec());
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    // Where more than half of the draws are equal, the median distance is 0.
    let widest = distances.iter().copied().fold(0.0, f64::max);
    let distance = ROBUST * median(distances);
    if distance > 0.0 { distance } else { widest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::{Seed, from_fn};
    use mcsa_models::EightSchools;

    fn cloud(dim: usize, scale: impl Fn(usize) -> f64) -> Mat<f64> {
        let mut stream = Seed::new(4).stream(0, 0);
        let mut normals = Mat::zeros(dim, 40);
        (0..40).for_each(|j| stream.normals_into(normals.col_as_slice_mut(j)));
        Mat::from_fn(dim, 40, |i, j| scale(i) * normals[(i, j)])
    }

    #[test]
    fn log_tau_alone_drives_the_schools() {
        // (mu, log tau, theta_1, ..): scales of the posterior.
        let draws = cloud(10, |i| if i == 1 { 0.8 } else { 4.0 });
        let found = probe(&EightSchools::centred(), draws.as_ref()).unwrap();
        let others = found.nonlinearity.iter().enumerate().filter(|(i, _)| *i != 1);
        assert!(others.fold(0.0, |most: f64, (_, nl)| most.max(*nl)) < 1e-6, "{:?}", found.nonlinearity);
        assert_eq!(choose_drivers(&[found.clone(), found]), [1]);
        // Counterexample: of two thirds and more nonlinear coordinates none is a driver.
        let quartic = from_fn(3, |z| -z.iter().map(|z| z.powi(4)).sum::<f64>());
        let quartic = quartic.with_gradient(|z, g| (0..3).for_each(|i| g[i] = -4.0 * z[i].powi(3)));
        let found = probe(&quartic, cloud(3, |_| 0.5).as_ref()).unwrap();
        assert!(found.nonlinearity.iter().all(|nl| *nl > 0.08) && choose_drivers(&[found]).is_empty());
    }

    /// Log rates `N(0, exp(z_0))` of counts of 3: each bends its own score. Of many of them only the log variance sets the curvature along others.
    #[test]
    fn one_log_variance_drives_many_log_rates() {
        let counts = |n: usize| {
            let density = move |z: &[f64]| {
                let rates = z[1..].iter().map(|x| 3.0 * x - x.exp() - 0.5 * (x * x * (-z[0]).exp() + z[0]));
                rates.sum::<f64>() - 0.5 * z[0] * z[0]
            };
            from_fn(1 + n, density).with_gradient(|z, g| {
                g[0] = -z[0];
                for i in 1..z.len() {
                    g[i] = 3.0 - z[i].exp() - z[i] * (-z[0]).exp();
                    g[0] += 0.5 * (z[i] * z[i] * (-z[0]).exp() - 1.0);
                }
            })
        };
        let found = |n: usize| probe(&counts(n), cloud(1 + n, |_| 1.2).as_ref()).unwrap();
        let many = found(40);
        assert!(many.nonlinearity.iter().filter(|nl| **nl > NONLINEAR).count() > MANY);
        assert_eq!(choose_drivers(&[many]), [0]);
        // Counterexample: of nine coordinates more than two thirds are nonlinear, and none is a driver.
        let few = found(8);
        assert_eq!(few.scaling, [0]);
        assert!(choose_drivers(&[few]).is_empty());
    }

    /// A mean with 80 children, `z_i ~ N(z_0, 1)`: its column of the Hessian is full.
    #[test]
    fn the_mean_of_many_children_is_a_hub() {
        let hierarchy = |pull: f64| {
            let density =
                move |z: &[f64]| -0.5 * z[1..].iter().map(|x| (x - pull * z[0]).powi(2)).sum::<f64>();
            from_fn(81, move |z| density(z) - 0.5 * z[0] * z[0]).with_gradient(move |z, g| {
                g[0] = -z[0];
                for i in 1..81 {
                    g[i] = pull * z[0] - z[i];
                    g[0] -= pull * g[i];
                }
            })
        };
        let drivers = |pull| choose_drivers(&[probe(&hierarchy(pull), cloud(81, |_| 1.0).as_ref()).unwrap()]);
        assert_eq!(drivers(1.0), [0]);
        // Counterexample: children that hardly depend on it.
        assert_eq!(drivers(0.04), Vec::<usize>::new());
    }
}
