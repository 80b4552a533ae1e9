//! Surrogates of sparse Gaussian processes, against differences and against the process itself.

use mcsa_annealed::{InducingCoordinates, SparseGaussianProcess, SparseSurrogate, Surrogate};
use mcsa_core::Separable;

use super::differences::{check, labels, matrix, normals};

/// A process with 20 data and 3 inducing points, and its theta.
fn process(robust: bool, coordinates: InducingCoordinates) -> (SparseGaussianProcess, Vec<f64>) {
    let x = matrix(20, 2, 1);
    let (process, noise) = match robust {
        true => (SparseGaussianProcess::robust(x.as_ref(), &normals(20, 2), 3), vec![-0.4, 0.7]),
        false => (SparseGaussianProcess::classification(x.as_ref(), &labels(20), 3), vec![]),
    };
    let process = process.unwrap().with_coordinates(coordinates);
    let theta = process.theta(0.5, &[0.2, -0.1], &noise, matrix(3, 2, 3).as_ref()).unwrap();
    (process, theta)
}

const ROWS: [usize; 6] = [19, 4, 0, 7, 4, 12];

/// `log N(u; 0, K) + sum_n weight_n log p(y_n | u)` from the process.
fn density(surrogate: &SparseSurrogate, psi: &[f64], weight: &dyn Fn(usize) -> f64, z: &[f64]) -> f64 {
    let (process, theta) = (surrogate.process(), surrogate.theta(psi));
    let mut memory = vec![0.0; process.memory_len(ROWS.len())];
    process.prepare_into(theta, &ROWS, &mut memory).unwrap();
    let posterior = process.posterior(theta, &ROWS, &memory);
    let prior = posterior.log_prior(z, &mut [0.0; 3]);
    prior + (0..6).map(|n| weight(n) * posterior.log_likelihood_at(&[n], z, &mut [])).sum::<f64>()
}

#[test]
fn sparse_surrogates_have_their_derivatives() {
    for robust in [false, true] {
        for coordinates in [InducingCoordinates::Plain, InducingCoordinates::Whitened] {
            let (process, theta) = process(robust, coordinates);
            let learned = SparseSurrogate::new(process.clone(), ROWS.into()).unwrap();
            let mut psi = learned.initial(&theta);
            psi[theta.len()..].iter_mut().zip(normals(6, 5)).for_each(|(psi, normal)| *psi += 0.3 * normal);
            let first = theta.len();
            let formula = |psi: &[f64], z: &[f64]| density(&learned, psi, &|n| psi[first + n].exp(), z);
            assert_eq!(check(&learned, &psi, &formula), Ok(()));
            let raw = |psi: &[f64], z: &[f64]| density(&learned, psi, &|n| psi[first + n], z);
            assert!(check(&learned, &psi, &raw).unwrap_err().starts_with("gradient"));
            let fixed = SparseSurrogate::new(process, ROWS.into()).unwrap().with_fixed_weights();
            let formula = |psi: &[f64], z: &[f64]| density(&fixed, psi, &|_| 20.0 / 6.0, z);
            assert_eq!(check(&fixed, &fixed.initial(&theta), &formula), Ok(()));
        }
    }
}

/// A surrogate whose parameters move the wrong way is found by the differences.
#[test]
fn a_lost_derivative_of_theta_is_found() {
    struct Lost(SparseSurrogate);
    impl Surrogate for Lost {
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn num_params(&self) -> usize {
            self.0.num_params()
        }
        fn memory_len(&self) -> usize {
            self.0.memory_len()
        }
        fn work_len(&self) -> usize {
            self.0.work_len()
        }
        fn prepare(&self, psi: &[f64], noise: &[f64], memory: &mut [f64]) {
            self.0.prepare(psi, noise, memory);
        }
        fn gradient_into(
            &self,
            psi: &[f64],
            memory: &[f64],
            z: &[f64],
            gradient: &mut [f64],
            tape: &mut [f64],
            work: &mut [f64],
        ) {
            self.0.gradient_into(psi, memory, z, gradient, tape, work);
        }
        fn add_second(
            &self,
            psi: &[f64],
            memory: &[f64],
            tape: &[f64],
            z: &[f64],
            u: &[f64],
            scale: f64,
            product: &mut [f64],
            psi_bar: &mut [f64],
            work: &mut [f64],
        ) {
            // A part of the derivative in an inducing point is lost.
            let before = psi_bar[5];
            self.0.add_second(psi, memory, tape, z, u, scale, product, psi_bar, work);
            psi_bar[5] = before + 0.999 * (psi_bar[5] - before);
        }
    }
    let (process, theta) = process(false, InducingCoordinates::Plain);
    let surrogate = SparseSurrogate::new(process, ROWS.into()).unwrap().with_fixed_weights();
    let formula = |psi: &[f64], z: &[f64]| density(&surrogate, psi, &|_| 20.0 / 6.0, z);
    let lost = Lost(surrogate.clone());
    assert!(check(&lost, &theta, &formula).unwrap_err().starts_with("parameters"));
}

#[test]
fn sparse_surrogates_state_what_they_are() {
    let (process, theta) = process(true, InducingCoordinates::Plain);
    let surrogate = SparseSurrogate::new(process.clone(), ROWS.into()).unwrap();
    let other = SparseSurrogate::new(process.clone(), vec![19, 4, 0, 7, 4, 13]).unwrap();
    assert_ne!(surrogate.config(), other.config());
    assert_ne!(surrogate.config(), surrogate.clone().with_fixed_weights().config());
    assert_eq!(surrogate.num_params(), process.num_thetas() + 6);
    let (mut memory, mut gradient) = (vec![0.0; surrogate.memory_len()], [0.0; 3]);
    let mut psi = surrogate.initial(&theta);
    psi[0] = f64::NAN;
    surrogate.prepare(&psi, &[], &mut memory);
    let mut work = vec![0.0; surrogate.work_len()];
    surrogate.gradient_into(&psi, &memory, &[0.1; 3], &mut gradient, &mut [], &mut work);
    assert!(gradient.iter().all(|g| g.is_nan()));
    assert!(SparseSurrogate::new(process.clone(), vec![]).is_err());
    assert!(SparseSurrogate::new(process, vec![20]).is_err());
}

#[test]
fn nothing_is_allocated() {
    let (process, theta) = process(true, InducingCoordinates::Whitened);
    let surrogate = SparseSurrogate::new(process, ROWS.into()).unwrap();
    let psi = surrogate.initial(&theta);
    let (mut memory, mut work) = (vec![0.0; surrogate.memory_len()], vec![0.0; surrogate.work_len()]);
    let (mut gradient, mut product, mut bar) = ([0.0; 3], [0.0; 3], vec![0.0; psi.len()]);
    let count = allocation_counter::measure(|| {
        surrogate.prepare(&psi, &[], &mut memory);
        surrogate.gradient_into(&psi, &memory, &[0.1; 3], &mut gradient, &mut [], &mut work);
        let (z, u) = (&[0.1; 3], &[0.2; 3]);
        surrogate.add_second(&psi, &memory, &[], z, u, 0.5, &mut product, &mut bar, &mut work);
    });
    assert_eq!(count.count_total, 0);
}
