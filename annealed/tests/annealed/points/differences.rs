//! Derivatives of a surrogate against central differences.

use faer::Mat;
use mcsa_annealed::Surrogate;
use mcsa_core::Seed;

pub(super) fn normals(count: usize, lane: u64) -> Vec<f64> {
    let mut out = vec![0.0; count];
    Seed::new(11).stream(lane, 0).normals_into(&mut out);
    out
}

pub(super) fn matrix(rows: usize, columns: usize, lane: u64) -> Mat<f64> {
    let numbers = normals(rows * columns, lane);
    Mat::from_fn(rows, columns, |n, k| numbers[n * columns + k])
}

pub(super) fn labels(rows: usize) -> Vec<f64> {
    (0..rows).map(|n| f64::from(u8::from(n * 5 % 3 == 0))).collect()
}

/// Lent memory of a surrogate, filled with NaN before each use.
pub(super) struct Lent<'a> {
    surrogate: &'a dyn Surrogate,
    memory: Vec<f64>,
    tape: Vec<f64>,
    work: Vec<f64>,
}

impl<'a> Lent<'a> {
    pub(super) fn new(surrogate: &'a dyn Surrogate) -> Self {
        Self { surrogate, memory: vec![], tape: vec![], work: vec![] }
    }

    pub(super) fn gradient(&mut self, psi: &[f64], noise: &[f64], z: &[f64]) -> Vec<f64> {
        let s = self.surrogate;
        self.memory = vec![f64::NAN; s.memory_len()];
        self.tape = vec![f64::NAN; s.tape_len()];
        self.work = vec![f64::NAN; s.work_len()];
        let mut gradient = vec![f64::NAN; z.len()];
        s.prepare(psi, noise, &mut self.memory);
        s.gradient_into(psi, &self.memory, z, &mut gradient, &mut self.tape, &mut self.work);
        gradient
    }

    /// Product and derivative of psi at the point of the last gradient, both added to 1.
    pub(super) fn second(&mut self, psi: &[f64], z: &[f64], u: &[f64], scale: f64) -> (Vec<f64>, Vec<f64>) {
        self.work.fill(f64::NAN);
        let (mut product, mut bar) = (vec![1.0; z.len()], vec![1.0; psi.len()]);
        let s = self.surrogate;
        s.add_second(psi, &self.memory, &self.tape, z, u, scale, &mut product, &mut bar, &mut self.work);
        (product, bar)
    }
}

pub(super) fn close(name: &str, found: f64, expected: f64, tolerance: f64) -> Result<(), String> {
    if (found - expected).abs() <= tolerance * expected.abs().max(1.0) {
        return Ok(());
    }
    Err(format!("{name}: {found} against {expected}"))
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `x + h v`.
pub(super) fn moved(x: &[f64], v: &[f64], h: f64) -> Vec<f64> {
    x.iter().zip(v).map(|(x, v)| x + h * v).collect()
}

pub(super) fn unit(len: usize, at: usize) -> Vec<f64> {
    (0..len).map(|i| f64::from(u8::from(i == at))).collect()
}

/// Gradient against central differences of a log density; second derivatives against those of the gradient, in z and in psi.
pub(super) fn check(
    surrogate: &dyn Surrogate,
    psi: &[f64],
    log_density: &dyn Fn(&[f64], &[f64]) -> f64,
) -> Result<(), String> {
    let (d, noise) = (surrogate.dim(), normals(surrogate.noise_dim(), 40));
    assert_eq!(psi.len(), surrogate.num_params());
    let (mut lent, h, scale) = (Lent::new(surrogate), 1e-5, 0.7);
    for draw in 0..3 {
        let (z, u) = (normals(d, 50 + draw), normals(d, 60 + draw));
        let gradient = lent.gradient(psi, &noise, &z);
        let (product, bar) = lent.second(psi, &z, &u, scale);
        for (k, &gradient) in gradient.iter().enumerate() {
            let value = |h: f64| log_density(psi, &moved(&z, &unit(d, k), h));
            close("gradient", gradient, (value(h) - value(-h)) / (2.0 * h), 1e-6)?;
        }
        let mut slope = |psi: &[f64], z: &[f64]| lent.gradient(psi, &noise, z);
        let (above, below) = (slope(psi, &moved(&z, &u, h)), slope(psi, &moved(&z, &u, -h)));
        for k in 0..d {
            close("product", product[k], 1.0 + scale * (above[k] - below[k]) / (2.0 * h), 1e-6)?;
        }
        for (j, &bar) in bar.iter().enumerate() {
            let along = unit(psi.len(), j);
            let (above, below) = (slope(&moved(psi, &along, h), &z), slope(&moved(psi, &along, -h), &z));
            let expected = 1.0 + scale * (dot(&u, &above) - dot(&u, &below)) / (2.0 * h);
            close("parameters", bar, expected, 1e-6)?;
        }
    }
    Ok(())
}
