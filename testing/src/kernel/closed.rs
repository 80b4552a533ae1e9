//! Transition matrices of common kernels on finitely many atoms in closed form, for comparison with enumerated code.
//!
//! Arguments are weights of the target and of the proposal on common atoms; they need not be normalised.
//! `w = p / q` is the importance weight, 0 where `p` is 0 and `+inf` where only `q` is 0. A function panics if the lengths differ, or
//! if there is no candidate.

use faer::Mat;

fn weights(p: &[f64], q: &[f64]) -> (Vec<f64>, Vec<f64>) {
    assert_eq!(p.len(), q.len(), "target and proposal have the same atoms");
    let normalise = |x: &[f64]| -> Vec<f64> {
        let total: f64 = x.iter().sum();
        x.iter().map(|x| x / total).collect()
    };
    let (p, q) = (normalise(p), normalise(q));
    let w = p.iter().zip(&q).map(|(&p, &q)| if p == 0.0 { 0.0 } else { p / q }).collect();
    (w, q)
}

/// Transition matrix from its off-diagonal entries; the remaining probability of a row is on the diagonal.
fn staying(n: usize, moves: impl Fn(usize, usize) -> f64) -> Mat<f64> {
    let mut matrix = Mat::from_fn(n, n, |z, y| if z == y { 0.0 } else { moves(z, y) });
    for z in 0..n {
        matrix[(z, z)] = 1.0 - (0..n).map(|y| matrix[(z, y)]).sum::<f64>();
    }
    matrix
}

/// Acceptance probability of Metropolis's rule for a move between these weights.
fn metropolis(from: f64, to: f64) -> f64 {
    if to >= from && to > 0.0 {
        1.0
    } else if from.is_finite() && from > 0.0 {
        to / from
    } else {
        0.0
    }
}

/// Independent Metropolis-Hastings: `K(z, y) = q(y) min(1, w(y) / w(z))` for `y != z` (pMCSA, Alg. 3).
pub fn imh(p: &[f64], q: &[f64]) -> Mat<f64> {
    let (w, q) = weights(p, q);
    staying(q.len(), |z, y| q[y] * metropolis(w[z], w[y]))
}

/// Barker's rule, which is [`cis`] with two candidates: `K(z, y) = q(y) w(y) / (w(z) + w(y))` for `y != z`.
pub fn barker(p: &[f64], q: &[f64]) -> Mat<f64> {
    cis(p, q, 2)
}

/// Rejection probability of independent Metropolis-Hastings from each atom, `E_q[1 - min(1, w(z') / w(z))]`. A proposal
/// equal to the current atom counts as accepted, so this is less than `K(z, z)`.
///
/// Unlike the paper, the integral is over q: pMCSA, eq. 6 prints the target, a misprint.
pub fn imh_rejection(p: &[f64], q: &[f64]) -> Vec<f64> {
    let (w, q) = weights(p, q);
    w.iter().map(|&from| w.iter().zip(&q).map(|(&to, q)| q * (1.0 - metropolis(from, to))).sum()).collect()
}

/// Rejection probability of Barker's rule, from each atom.
pub fn barker_rejection(p: &[f64], q: &[f64]) -> Vec<f64> {
    cis_rejection(p, q, 2)
}

/// Conditional importance sampling with `candidates` points in all, the retained one included (MSC, Alg. 2):
///
/// ```text
/// K(z, y) = E[(c_y w_y + [y = z] w_z) / (w_z + sum_j c_j w_j)],   c ~ Multinomial(candidates - 1, q)
/// ```
pub fn cis(p: &[f64], q: &[f64], candidates: usize) -> Mat<f64> {
    let (w, q) = weights(p, q);
    let mut matrix = Mat::zeros(q.len(), q.len());
    for_counts(&q, candidates - 1, &mut |counts, probability| {
        for z in 0..q.len() {
            for y in 0..q.len() {
                matrix[(z, y)] += probability * chosen(&w, counts, z, y, true);
            }
        }
    });
    matrix
}

/// Probability that [`cis`] selects the retained point, from each atom.
pub fn cis_rejection(p: &[f64], q: &[f64], candidates: usize) -> Vec<f64> {
    let (w, q) = weights(p, q);
    let mut rejection = vec![0.0; q.len()];
    for_counts(&q, candidates - 1, &mut |counts, probability| {
        for (z, rejection) in rejection.iter_mut().enumerate() {
            let fresh: f64 = (0..q.len()).map(|y| chosen(&w, counts, z, y, false)).sum();
            *rejection += probability * (1.0 - fresh);
        }
    });
    rejection
}

/// Probability that atom `y` is selected among fresh candidates with these `counts` and the retained point `z`.
fn chosen(w: &[f64], counts: &[usize], z: usize, y: usize, with_retained: bool) -> f64 {
    let retained = f64::from(u8::from(with_retained && y == z));
    if w[z] == f64::INFINITY {
        return retained;
    }
    let fresh = |k: usize| if counts[k] == 0 { 0.0 } else { counts[k] as f64 * w[k] };
    let total = w[z] + (0..w.len()).map(fresh).sum::<f64>();
    if total == 0.0 { retained } else { (fresh(y) + retained * w[z]) / total }
}

/// Calls `visit` with every vector of counts that sums to `draws`, and its multinomial probability.
fn for_counts(q: &[f64], draws: usize, visit: &mut impl FnMut(&[usize], f64)) {
    fn go(
        q: &[f64],
        k: usize,
        left: usize,
        counts: &mut [usize],
        p: f64,
        visit: &mut impl FnMut(&[usize], f64),
    ) {
        if k + 1 == q.len() {
            counts[k] = left;
            let probability = p * q[k].powi(left as i32);
            if probability > 0.0 {
                visit(counts, probability);
            }
            return;
        }
        let mut choose = 1.0;
        for count in 0..=left {
            counts[k] = count;
            go(q, k + 1, left - count, counts, p * choose * q[k].powi(count as i32), visit);
            choose *= (left - count) as f64 / (count + 1) as f64;
        }
    }
    go(q, 0, draws, &mut vec![0; q.len()], 1.0, visit);
}

/// Matrix power `K^n`: `n` steps of the kernel.
pub fn power(matrix: &Mat<f64>, n: usize) -> Mat<f64> {
    (0..n).fold(Mat::identity(matrix.nrows(), matrix.nrows()), |power, _| power * matrix)
}

/// Transition matrix of independent chains with one kernel; joint states are numbered as in [`Transition`](crate::Transition).
pub fn product(matrix: &Mat<f64>, chains: usize) -> Mat<f64> {
    (0..chains).fold(Mat::identity(1, 1), |joint: Mat<f64>, _| {
        let low = joint.nrows();
        let states = low * matrix.nrows();
        Mat::from_fn(states, states, |z, y| joint[(z % low, y % low)] * matrix[(z / low, y / low)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: &Mat<f64>, b: &Mat<f64>) -> bool {
        (0..a.nrows()).all(|z| (0..a.ncols()).all(|y| (a[(z, y)] - b[(z, y)]).abs() < 1e-14))
    }

    /// p = (1/2, 1/2), q = (1/4, 3/4): w = (2, 2/3), so that the chain leaves atom 0 with probability 1/4.
    #[test]
    fn a_small_case_by_hand() {
        let (p, q) = ([1.0, 1.0], [1.0, 3.0]);
        let (found, by_barker) = (imh(&p, &q), barker(&p, &q));
        assert!((found[(0, 1)] - 0.25).abs() < 1e-15 && (found[(1, 0)] - 0.25).abs() < 1e-15);
        // Barker's rule leaves atom 0 with probability 3/4 (2/3) / (2 + 2/3).
        assert!((by_barker[(0, 1)] - 0.1875).abs() < 1e-15 && (by_barker[(1, 0)] - 0.1875).abs() < 1e-15);
        assert!((barker_rejection(&p, &q)[0] - 0.6875).abs() < 1e-15);
        assert!((imh_rejection(&p, &q)[0] - 0.5).abs() < 1e-15);
    }

    #[test]
    fn with_one_candidate_nothing_moves_and_rejections_are_certain() {
        let (p, q) = ([0.2, 0.8], [0.5, 0.5]);
        assert!(near(&cis(&p, &q, 1), &Mat::identity(2, 2)));
        assert_eq!(cis_rejection(&p, &q, 1), [1.0, 1.0]);
    }
}
