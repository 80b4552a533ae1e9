//! Points and weights that surrogates start from: coresets, clusters and the ansaetze that use them, by enumeration and plain formulas.

use faer::{Mat, MatRef};
use mcsa_annealed::Surrogate;
use mcsa_annealed::surrogate::{Clusters, Coreset, LogisticSurrogate, seed_clusters, sensitivities};
use mcsa_core::{Gradient, LogDensity, Seed, Stream, enumerate};
use mcsa_models::LogisticRegression;

use crate::surrogates::{Lent, dot, labels, matrix, normals};

fn stream(number: u64) -> Stream {
    Seed::new(number).stream(0, 0)
}

/// Expected weight of each row, over all draws of a coreset.
fn expected_weights(
    sensitivities: &[f64],
    draws: usize,
    weight: impl Fn(&Coreset, usize) -> f64,
) -> Vec<f64> {
    let branches =
        enumerate(1, 10_000, |lanes| Coreset::draw(sensitivities, draws, &mut lanes[0]).unwrap()).unwrap();
    let mut sums = vec![0.0; sensitivities.len()];
    for branch in branches {
        let coreset = &branch.outcome;
        assert!(coreset.rows.is_sorted_by(|a, b| a < b) && coreset.rows.len() == coreset.weights.len());
        for (at, &row) in coreset.rows.iter().enumerate() {
            sums[row] += branch.probability * weight(coreset, at);
        }
    }
    sums
}

/// The expected weight of each row is 1, so that sums over a coreset are unbiased; with equal weights they are not.
#[test]
fn weights_of_a_coreset_are_unbiased() {
    let sensitivities = [0.3, 2.0, 1.0, 0.7];
    for draws in [1, 2, 5] {
        let expected = expected_weights(&sensitivities, draws, |coreset, at| coreset.weights[at]);
        assert!(expected.iter().all(|weight| (weight - 1.0).abs() < 1e-12), "{expected:?}");
        let equal = expected_weights(&sensitivities, draws, |coreset, _| 4.0 / coreset.rows.len() as f64);
        assert!((equal[0] - 1.0).abs() > 0.1, "{equal:?}");
    }
}

/// Sensitivities from clusters from which each row is taken in turn.
fn plain_sensitivities(z: MatRef<'_, f64>, clusters: &Clusters, radius: f64, leave_out: bool) -> Vec<f64> {
    let (n, d, k) = (z.nrows(), z.ncols(), clusters.sizes.len());
    let distance =
        |row: usize, centre: &[f64]| (0..d).map(|j| (z[(row, j)] - centre[j]).powi(2)).sum::<f64>().sqrt();
    let mean = |members: &[usize]| -> Vec<f64> {
        (0..d).map(|j| members.iter().map(|&m| z[(m, j)]).sum::<f64>() / members.len() as f64).collect()
    };
    let members = |c: usize, without: usize| -> Vec<usize> {
        (0..n).filter(|&m| clusters.assignment[m] == c && m != without).collect()
    };
    let centres: Vec<Vec<f64>> = (0..k).map(|c| mean(&members(c, n))).collect();
    let square = |row| centres.iter().map(|c| distance(row, c).powi(2)).fold(f64::INFINITY, f64::min);
    let steepness = radius / ((0..n).map(square).sum::<f64>() / n as f64).sqrt();
    let bound = |row: usize| {
        let of = |c: usize| {
            let others = members(c, if leave_out { row } else { n });
            let size = others.len() as f64;
            if others.is_empty() { 0.0 } else { size * (-steepness * distance(row, &mean(&others))).exp() }
        };
        n as f64 / (1.0 + (0..k).map(of).sum::<f64>())
    };
    (0..n).map(bound).collect()
}

#[test]
fn sensitivities_leave_their_row_out() {
    let z = matrix(23, 3, 5);
    for (count, passes) in [(1, 1), (6, 1), (15, 100)] {
        let clusters = Clusters::k_means(z.as_ref(), count, passes, &mut stream(3)).unwrap();
        let found = sensitivities(z.as_ref(), &clusters, 0.8).unwrap();
        let differ = |leave_out| {
            let expected = plain_sensitivities(z.as_ref(), &clusters, 0.8, leave_out);
            found.iter().zip(expected).any(|(found, expected)| (found / expected - 1.0).abs() > 1e-11)
        };
        assert!(!differ(true), "{count} clusters");
        assert!(differ(false), "{count} clusters");
    }
    let single = Clusters::k_means(z.as_ref(), 23, 1, &mut stream(3)).unwrap();
    assert!(sensitivities(z.as_ref(), &single, 0.8).unwrap().iter().all(|m| m.is_finite()));
}

/// Law of the second centre of k-means++ on four rows, exactly; a probability proportional to the distance itself is another law.
#[test]
fn second_centres_follow_squared_distances() {
    let x = faer::mat![[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [2.0, 2.0]];
    let branches = enumerate(1, 100, |lanes| seed_clusters(x.as_ref(), 2, &mut lanes[0]).unwrap()).unwrap();
    let distance = |a: usize, b: usize| (0..2).map(|k| (x[(a, k)] - x[(b, k)]).powi(2)).sum::<f64>().sqrt();
    let law = |power: i32, first: usize, second: usize| {
        let total: f64 = (0..4).map(|n| distance(first, n).powi(power)).sum();
        0.25 * distance(first, second).powi(power) / total
    };
    let mut error = [0.0_f64; 2];
    for branch in &branches {
        let (first, second) = (branch.outcome[0], branch.outcome[1]);
        assert_ne!(first, second);
        for power in [1, 2] {
            let at = power as usize - 1;
            error[at] = error[at].max((branch.probability - law(power, first, second)).abs());
        }
    }
    assert_eq!(branches.len(), 12);
    assert!(error[1] < 1e-14 && error[0] > 0.01, "{error:?}");
}

#[test]
fn lloyd_never_raises_the_inertia() {
    for seed in 0..20 {
        let x = matrix(60, 2, seed);
        let inertia = |passes| {
            let clusters = Clusters::k_means(x.as_ref(), 7, passes, &mut stream(seed)).unwrap();
            let sizes = &clusters.sizes;
            assert!(sizes.iter().all(|&size| size > 0) && sizes.iter().sum::<usize>() == 60);
            clusters.inertia(x.as_ref())
        };
        let path: Vec<f64> = (1..30).map(inertia).collect();
        assert!(path.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)), "{path:?}");
        assert!(path[0] > path[28] && path[27] == path[28]);
    }
}

/// Equal rows may share a centre.
#[test]
fn equal_rows_have_clusters() {
    let equal = Mat::from_fn(5, 2, |_, k| k as f64);
    let clusters = Clusters::k_means(equal.as_ref(), 3, 100, &mut stream(1)).unwrap();
    assert!(clusters.inertia(equal.as_ref()) == 0.0 && clusters.sizes.iter().all(|&size| size > 0));
}

/// Centres are the means of their rows and each row is nearest to its own, at the end of all iterations.
#[test]
fn clusters_are_a_fixed_point() {
    let x = matrix(200, 3, 4);
    let clusters = Clusters::k_means(x.as_ref(), 20, 100, &mut stream(2)).unwrap();
    let square =
        |n: usize, c: usize| -> f64 { (0..3).map(|k| (x[(n, k)] - clusters.centres[(c, k)]).powi(2)).sum() };
    for n in 0..200 {
        let own = square(n, clusters.assignment[n]);
        assert!((0..20).all(|c| own <= square(n, c) + 1e-12));
    }
    for c in 0..20 {
        let members: Vec<usize> = (0..200).filter(|&n| clusters.assignment[n] == c).collect();
        let mean = members.iter().map(|&n| x[(n, 0)]).sum::<f64>() / members.len() as f64;
        assert!((mean - clusters.centres[(c, 0)]).abs() < 1e-12);
    }
}

type Make =
    fn(MatRef<'_, f64>, &[f64], usize, f64, &mut Stream) -> Result<LogisticSurrogate, mcsa_core::Error>;

/// Number of parameters of each ansatz, and the sum of its weights at the start. A coreset may have more draws than there are data.
#[test]
fn ansaetze_start_with_the_number_of_data() {
    let (x, labels) = (matrix(60, 3, 1), labels(60));
    let ansaetze: [(Make, usize, usize, bool); 7] = [
        (LogisticSurrogate::rand, 1, 0, false),
        (LogisticSurrogate::rand_pm, 2, 0, false),
        (LogisticSurrogate::cs_init, 1, 0, true),
        (LogisticSurrogate::cs_init_pm, 2, 0, true),
        (LogisticSurrogate::cs_fix, 0, 0, true),
        (LogisticSurrogate::km_fix_pm, 2, 0, false),
        (LogisticSurrogate::km_init_pm, 2, 3, false),
    ];
    for (make, weights, covariates, draws) in ansaetze {
        let surrogate = make(x.as_ref(), &labels, 12, 1.0, &mut stream(1)).unwrap();
        let (psi, points) = (surrogate.initial(), surrogate.num_points());
        assert!((6..=12).contains(&points) && psi.len() == surrogate.sizes().params);
        assert_eq!(psi.len(), (weights + covariates) * points);
        let total: f64 = psi[..weights * points].iter().map(|psi| psi.exp()).sum();
        assert!(weights == 0 || (total - 60.0).abs() < 1e-11, "{total}");
        assert_eq!(make(x.as_ref(), &labels, 61, 1.0, &mut stream(1)).is_ok(), draws);
        assert!(make(x.as_ref(), &labels, 0, 1.0, &mut stream(1)).is_err());
        assert!(make(x.as_ref(), &labels, 12, 0.0, &mut stream(1)).is_err());
    }
}

#[test]
fn class_rates_split_the_weights() {
    let x = matrix(60, 3, 1);
    let surrogate = LogisticSurrogate::rand_pm(x.as_ref(), &labels(60), 12, 1.0, &mut stream(1)).unwrap();
    let psi = surrogate.clone().with_class_rate(0.2).unwrap().initial();
    assert!(psi[..12].iter().all(|psi| (psi.exp() - 1.0).abs() < 1e-12));
    assert!(psi[12..].iter().all(|psi| (psi.exp() - 4.0).abs() < 1e-12));
    assert!(surrogate.with_class_rate(1.0).is_err());
}

/// Mean gradient of the likelihood of RAND over all subsets of rows, which is that of all data.
#[test]
fn random_rows_are_unbiased() {
    let (x, labels, z) = (matrix(5, 2, 1), labels(5), normals(2, 2));
    let target = LogisticRegression::new(x.as_ref(), &labels, 1.0).unwrap();
    let mut expected = vec![0.0; 2];
    target.gradient_into(&z, &mut expected, &mut vec![0.0; target.work_len(1)]);
    let branches = enumerate(1, 1000, |lanes| {
        let surrogate = LogisticSurrogate::rand(x.as_ref(), &labels, 2, 1.0, &mut lanes[0]).unwrap();
        Lent::new(&surrogate).gradient(&surrogate.initial(), &[], &z)
    })
    .unwrap();
    for (k, expected) in expected.iter().enumerate() {
        let mean: f64 = branches.iter().map(|branch| branch.probability * branch.outcome[k]).sum();
        assert!((mean - expected).abs() < 1e-13);
        assert!(branches.iter().any(|branch| (branch.outcome[k] - expected).abs() > 0.1));
    }
}

/// Nothing of CS-FIX is learned: its gradient is the weighted sum over the rows of its coreset.
#[test]
fn fixed_coresets_are_weighted_sums() {
    let (x, labels, z) = (matrix(60, 3, 1), labels(60), normals(3, 2));
    let coreset = Coreset::logistic(x.as_ref(), &labels, 20, &mut stream(4)).unwrap();
    let surrogate = LogisticSurrogate::cs_fix(x.as_ref(), &labels, 20, 2.0, &mut stream(4)).unwrap();
    let gradient = Lent::new(&surrogate).gradient(&[], &[], &z);
    for k in 0..3 {
        let slope = |(&n, weight): (&usize, &f64)| {
            let row: Vec<f64> = (0..3).map(|k| x[(n, k)]).collect();
            weight * (labels[n] - 1.0 / (1.0 + (-dot(&row, &z)).exp())) * row[k]
        };
        let expected = coreset.rows.iter().zip(&coreset.weights).map(slope).sum::<f64>() - z[k] / 4.0;
        assert!((gradient[k] - expected).abs() < 1e-12);
    }
}
