//! Families with theta at a point of their parameters.

use faer::{Mat, MatMut, MatRef};
use mcsa_annealed::LearnableRows;
use mcsa_annealed::dais::{Annealed, Shape};
use mcsa_annealed::{InducingCoordinates, SparseGaussianProcess, SparseSurrogate};
use mcsa_core::{Gradient, LogDensity, Parametric, Pushforward, Seed, batch, batch_mut};
use mcsa_families::{Drawn, FullRank, MeanField, WithTheta};
use mcsa_testing::family::{Case, check_pushforward, push_allocates_nothing, push_gradient_is_gradient};
use mcsa_testing::law::{ROUNDING, is_slope, slope};

use crate::altered::{Alteration, Altered};

fn conforms<F: Pushforward + 'static>(family: WithTheta<F>, params: Vec<f64>) {
    let case = Case::new(family, params);
    check_pushforward(&case).unwrap_or_else(|failure| panic!("{failure}"));
    push_allocates_nothing(&case, &mut crate::altered::meter).unwrap();
}

/// Paths along the surrogate of a sparse process, with the theta of the surrogate as the first coordinates.
fn annealed(coordinates: InducingCoordinates) -> (WithTheta<Annealed<SparseSurrogate>>, Vec<f64>) {
    let mut stream = Seed::new(3).stream(0, 0);
    let x = Mat::from_fn(9, 1, |_, _| 2.0 * stream.normal());
    let y: Vec<f64> = (0..9).map(|i| (1.3 * x[(i, 0)]).sin() + 0.2 * stream.normal()).collect();
    let process = SparseGaussianProcess::robust(x.as_ref(), &y, 2).unwrap().with_coordinates(coordinates);
    let theta = process.theta(0.1, &[0.3], &[-0.6, 0.8], faer::mat![[-1.0], [1.2]].as_ref()).unwrap();
    let surrogate = SparseSurrogate::new(process, vec![0, 4, 7]).unwrap();
    let psi = surrogate.initial(&theta);
    let family = Annealed { longest: 0.4, ..Annealed::new(surrogate, Shape::Lower, 2) };
    let base = [0.2, -0.1, -0.4, 0.15, -0.7];
    let params = family.at(&base, 0.1, &psi).unwrap();
    let (first, count) = (params.len() - psi.len(), theta.len());
    (WithTheta::within(family, first, count).unwrap(), params)
}

#[test]
fn families_with_theta_conform() {
    conforms(WithTheta::after(Drawn(MeanField::new(2)), 3), vec![0.3, -0.2, 0.1, -0.4, 1.0, -2.0, 0.5]);
    conforms(WithTheta::after(Drawn(FullRank::new(2)), 1), vec![0.3, -0.2, 0.1, -0.4, 0.6, -2.0]);
    for coordinates in [InducingCoordinates::Plain, InducingCoordinates::Whitened] {
        let (family, params) = annealed(coordinates);
        conforms(family, params);
    }
}

#[test]
fn theta_is_within_lambda() {
    let family = || Drawn(MeanField::new(2));
    assert!(WithTheta::within(family(), 1, 3).is_ok());
    assert!(WithTheta::within(family(), 2, 3).unwrap_err().to_string().contains("length 4"));
    assert!(WithTheta::within(family(), usize::MAX, 2).is_err());
}

/// Mistake: the derivative of the points in theta is forgotten.
struct WithoutTheta(std::ops::Range<usize>);

impl<F> Alteration<F> for WithoutTheta {
    fn push_gradients(&self, _: &[f64], gradient: &mut [f64]) {
        gradient[self.0.clone()].fill(0.0);
    }
}

#[test]
fn forgetting_theta_is_caught() {
    let family = WithTheta::after(Drawn(MeanField::new(2)), 2);
    let by = WithoutTheta(family.theta());
    let mistaken = Case::new(Altered { family, by }, vec![0.3, -0.2, 0.1, -0.4, 1.0, 0.5]);
    assert!(push_gradient_is_gradient(&mistaken).is_err());
}

/// At fixed noise, the derivative of `log p(y, u; theta) - log q` in all parameters against differences: theta moves the target, the
/// surrogate at every step of the path, and its minibatch.
#[test]
fn bound_of_a_sparse_process_has_its_total_derivative() {
    for coordinates in [InducingCoordinates::Plain, InducingCoordinates::Whitened] {
        let (family, params) = annealed(coordinates);
        let process = family.family().surrogate.process();
        let (rows, dim, columns) = ([1, 4, 8, 2], family.dim(), 3);
        let target = process.on(&rows).unwrap();
        let len = family.noise_dim();
        let mut noise = vec![0.0; len * columns];
        family.sample_noise_into(&mut [Seed::new(2).stream(0, 0)], batch_mut(&mut noise, len, columns));
        let noise = batch(&noise, len, columns);
        let mut work = vec![f64::NAN; family.work_len(columns) + target.work_len(columns)];
        let mut bound = |params: &[f64]| {
            let (mut z, mut log_q, mut log_p) = (vec![0.0; dim * columns], [0.0; 3], [0.0; 3]);
            family.push(params, noise, batch_mut(&mut z, dim, columns), &mut log_q, &mut work);
            target.log_densities(batch(&z, dim, columns), &mut log_p, &mut work);
            log_p.iter().zip(log_q).map(|(log_p, log_q)| log_p - log_q).sum::<f64>()
        };
        let (mut z, mut log_q, mut bars) = (vec![0.0; dim * columns], [0.0; 3], vec![0.0; dim * columns]);
        let (mut of_family, mut of_target) =
            (vec![f64::NAN; family.work_len(columns)], vec![f64::NAN; target.work_len(columns)]);
        let mut gradient = vec![0.0; params.len()];
        let mut pull = |z: MatRef<'_, f64>, log_q: &mut [f64], bars: MatMut<'_, f64>| {
            target.gradients_into(z, &mut [0.0; 3], bars, &mut of_target);
            log_q.fill(-1.0);
            true
        };
        let (z, bars) = (batch_mut(&mut z, dim, columns), batch_mut(&mut bars, dim, columns));
        family.push_and_add_gradients(
            &params,
            noise,
            z,
            &mut log_q,
            bars,
            &mut pull,
            &mut gradient,
            &mut of_family,
        );
        let mut compared = |k: usize, found: f64| {
            let known = slope(ROUNDING, |t| {
                let mut moved = params.clone();
                moved[k] += t;
                bound(&moved)
            });
            is_slope("bound", || format!("entry {k}"), found, known)
        };
        for (k, &found) in gradient.iter().enumerate() {
            assert_eq!(compared(k, found), Ok(()), "{coordinates:?}");
        }
        let log_length = family.theta().start + 1;
        assert!(compared(log_length, gradient[log_length] * (1.0 + 1e-5)).is_err());
    }
}
