//! Conformance suite on the log-Gaussian Cox process, its formula, and its normaliser on small grids.

use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;
use mcsa_core::numeric::log_sum_exp;
use mcsa_core::{LogDensity, Seed};
use mcsa_models::conformance::Case;
use mcsa_models::{Centring, CoxProcess, suite};

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

const COUNTS: [f64; 16] = [1.0, 0.0, 0.0, 7.0, 12.0, 0.0, 3.0, 0.0, 0.0, 9.0, 22.0, 1.0, 4.0, 0.0, 0.0, 2.0];

fn level() -> f64 {
    126.0_f64.ln() - 0.955
}

fn processes() -> Vec<Case<CoxProcess>> {
    let mut cases = Vec::new();
    for coordinates in [Centring::Centred, Centring::NonCentred] {
        for grid in [1, 2, 3, 4] {
            let target = CoxProcess::new(grid, &COUNTS[..grid * grid], coordinates).expect("known");
            let centre = if matches!(coordinates, Centring::Centred) { level() } else { 0.0 };
            cases.push(Case::new(target).with_centre(vec![centre; grid * grid]));
        }
    }
    cases
}

suite!(cox_process, processes(), meter, gradient curvature);

/// Covariance of the field, written out.
fn covariance(grid: usize) -> Mat<f64> {
    let place = |i: usize| ((i % grid) as f64, (i / grid) as f64);
    Mat::from_fn(grid * grid, grid * grid, |i, j| {
        let ((a, b), (c, d)) = (place(i), place(j));
        1.91 * (-33.0 * ((a - c).powi(2) + (b - d).powi(2)).sqrt() / grid as f64).exp()
    })
}

/// Log likelihood, written out.
fn likelihood(counts: &[f64], x: &[f64]) -> f64 {
    let cells = counts.len() as f64;
    x.iter().zip(counts).map(|(x, y)| x * y - x.exp() / cells).sum()
}

fn at(target: &CoxProcess, z: &[f64]) -> f64 {
    target.log_density(z, &mut vec![0.0; target.work_len(1)])
}

/// Both coordinates against the formula with the inverse covariance and `x = m + L z`; with `L` transposed the densities differ.
#[test]
fn both_coordinates_equal_the_formula() {
    let (k, mut stream) = (covariance(4), Seed::new(4).stream(0, 0));
    let factor = k.llt(faer::Side::Lower).expect("positive definite");
    let (inverse, l) = (factor.inverse(), factor.L().to_owned());
    let log_det: f64 = (0..16).map(|i| l[(i, i)].ln()).sum();
    let mut z = vec![0.0; 16];
    stream.normals_into(&mut z);
    let field = |entry: &dyn Fn(usize, usize) -> f64| {
        (0..16).map(|i| level() + (0..16).map(|k| entry(i, k) * z[k]).sum::<f64>()).collect::<Vec<_>>()
    };
    let x = field(&|i, k| if k <= i { l[(i, k)] } else { 0.0 });
    let wrong = field(&|i, k| if k >= i { l[(k, i)] } else { 0.0 });
    let mut form = 0.0;
    for i in 0..16 {
        form += (0..16).map(|k| (x[i] - level()) * inverse[(i, k)] * (x[k] - level())).sum::<f64>();
    }
    let constant = 8.0 * (2.0 * std::f64::consts::PI).ln();
    let expected = likelihood(&COUNTS, &x) - 0.5 * form - log_det - constant;
    let centred = CoxProcess::new(4, &COUNTS, Centring::Centred).expect("known");
    let white = CoxProcess::new(4, &COUNTS, Centring::NonCentred).expect("known");
    assert!((at(&centred, &x) - expected).abs() < 1e-9, "{} {expected}", at(&centred, &x));
    assert!((at(&white, &z) - log_det - expected).abs() < 1e-9, "{} {expected}", at(&white, &z));
    assert!((at(&centred, &wrong) - expected).abs() > 1e-3);
}

/// Normaliser on a grid of 2 x 2 by the trapezoidal rule in four dimensions, against the mean of 400,000 weights of draws from a moved
/// prior: within 6 standard errors. With another area of the cells they differ by more.
#[test]
fn the_normaliser_is_the_mean_likelihood() {
    let counts = [1.0, 0.0, 3.0, 2.0];
    let white = CoxProcess::new(2, &counts, Centring::NonCentred).expect("known");
    let (h, n) = (0.3, 20_i32);
    let side = (2 * n + 1) as usize;
    let (mut terms, mut work) = (Vec::new(), vec![0.0; white.work_len(1)]);
    for node in 0..side.pow(4) {
        let z = [1, side, side * side, side * side * side]
            .map(|step| h * ((node / step % side) as f64 - f64::from(n)));
        terms.push(white.log_density(&z, &mut work) + 4.0 * h.ln());
    }
    let exact = log_sum_exp(&terms);

    let l = covariance(2).llt(faer::Side::Lower).expect("positive definite").L().to_owned();
    let (mut stream, draws) = (Seed::new(6).stream(0, 0), 400_000);
    let (mut sums, mut z, mut x) = ([0.0; 3], [0.0; 4], [0.0; 4]);
    for _ in 0..draws {
        // Draws moved to where the likelihood is, and weighted for it.
        stream.normals_into(&mut z);
        z.iter_mut().for_each(|z| *z -= 1.5);
        let moved: f64 = z.iter().map(|z| 0.5 * (z + 1.5) * (z + 1.5) - 0.5 * z * z).sum();
        (0..4).for_each(|i| x[i] = level() + (0..=i).map(|k| l[(i, k)] * z[k]).sum::<f64>());
        let log_weight = likelihood(&counts, &x) + moved - exact;
        let weight = log_weight.exp();
        sums[0] += weight;
        sums[1] += weight * weight;
        sums[2] += (log_weight + 0.01 * x.iter().map(|x| x.exp()).sum::<f64>()).exp();
    }
    let count = f64::from(draws);
    let mean = sums[0] / count;
    let error = ((sums[1] / count - mean * mean) / count).sqrt();
    assert!((mean - 1.0).abs() < 6.0 * error && error < 0.01, "{mean} +- {error}");
    assert!((sums[2] / count - 1.0).abs() > 6.0 * error);
}
