//! Families of annealed paths: conformance along every surrogate, bits of the base without steps, both sweeps at once, dead step
//! sizes, paths for local latents, and families with theta at a point.

use faer::{Mat, MatMut, MatRef};
use mcsa_annealed::dais::{Annealed, Mass, SemiAnnealed, Shape, Slope};
use mcsa_annealed::surrogate::{
    LogisticSurrogate, MinibatchSurrogate, NeuralSurrogate, PosteriorSurrogate, QuadraticSurrogate,
};
use mcsa_annealed::{InducingCoordinates, LocalMinibatch, SparseGaussianProcess, SparseSurrogate, Surrogate};
use mcsa_core::{Family, Gradient, Parametric, Pushforward, Seed, batch, batch_mut};
use mcsa_families::{Drawn, FullRank, Link, MeanField, WithTheta};
use mcsa_models::{LocalRobustRegression, LogisticRegression};
use mcsa_testing::family::{Case, check_pushforward, push_allocates_nothing};

use crate::dais::Quadratic;
use crate::meter;
use crate::surrogates::{labels, matrix};

/// The laws of a pushforward, and no allocation.
fn conforms<F: Pushforward>(case: &Case<F>) {
    check_pushforward(case).unwrap_or_else(|failure| panic!("{}: {failure}", case.family.config()));
    push_allocates_nothing(case, &mut meter).unwrap();
}

/// Noise of `columns` columns.
fn noise_of(family: &impl Pushforward, seed: u64, counter: u64, columns: usize) -> Vec<f64> {
    let rows = family.noise_dim();
    let mut noise = vec![0.0; rows * columns];
    family.sample_noise_into(&mut [Seed::new(seed).stream(0, counter)], batch_mut(&mut noise, rows, columns));
    noise
}

/// The chain at lambda has the paths that are pushed; that of the other law of the momentum has not.
#[test]
fn the_chain_at_lambda_has_the_paths_that_are_pushed() {
    for Case { family, params, .. } in families() {
        let (rows, chain) = (family.noise_dim(), family.chain(&params).unwrap());
        let noise = noise_of(&family, 8, 0, 1);
        let (mut z, mut log_q) = (Mat::zeros(2, 1), [0.0]);
        let mut work = vec![0.0; family.work_len(1)];
        family.push(&params, batch(&noise, rows, 1), z.as_mut(), &mut log_q, &mut work);
        let psi = &params[params.len() - 6..];
        let path = chain.path(&family.surrogate, psi, &noise);
        assert!((path.log_q - log_q[0]).abs() < 1e-12);
        assert!((0..2).all(|i| (path.end()[i] - z[(i, 0)]).abs() < 1e-12));
        let law = if family.law == Mass::Variance { Mass::Deviation } else { Mass::Variance };
        let other = family.steps > 0 && {
            let other = Annealed { law, ..family.clone() }.chain(&params).unwrap();
            (other.path(&family.surrogate, psi, &noise).log_q - log_q[0]).abs() > 1e-6
        };
        assert_eq!(other, family.steps > 0);
        let covariance = chain.base.covariance();
        let by_link = (params[2].exp()).powi(2);
        assert!((covariance[(0, 0)] - by_link).abs() < 1e-12 && chain.base.mean() == &params[..2]);
        assert!(family.chain(&params[1..]).is_err());
    }
}

/// Without steps draws and `log q` have the bits of the families.
#[test]
fn no_step_is_the_family_bit_for_bit() {
    fn draws<F: Family>(family: &F, params: &[f64]) -> (Mat<f64>, Vec<f64>) {
        let (mut z, mut log_q) = (Mat::zeros(2, 7), vec![0.0; 7]);
        let mut lane = [Seed::new(4).stream(0, 1)];
        family.sample_into(params, &mut lane, z.as_mut(), &mut log_q, &mut vec![0.0; family.work_len(7)]);
        (z, log_q)
    }
    let mean_field = MeanField::new(2).with_link(Link::Exp);
    let full_rank = FullRank::new(2).with_link(Link::Exp);
    let of_mean_field = mean_field.at(&[0.4, -0.3], &[0.6, 1.7]).unwrap();
    let factor = faer::mat![[0.6, 0.0], [0.2, 0.5]];
    let of_full_rank = full_rank.at(&[0.4, -0.3], factor.as_ref()).unwrap();
    for (shape, base, (points, log_q)) in [
        (Shape::Diagonal, &of_mean_field, draws(&mean_field, &of_mean_field)),
        (Shape::Lower, &of_full_rank, draws(&full_rank, &of_full_rank)),
    ] {
        let family = Annealed::new(Quadratic::posterior().guide(), shape, 0);
        let params = family.at(base, 0.1, &family.surrogate.initial()).unwrap();
        let (noise, mut z, mut found) = (noise_of(&family, 4, 1, 7), Mat::zeros(2, 7), vec![0.0; 7]);
        let mut work = vec![0.0; family.work_len(7)];
        family.push(&params, batch(&noise, 2, 7), z.as_mut(), &mut found, &mut work);
        assert_eq!((z, found), (points, log_q), "{shape:?}");
    }
}

/// Families over both bases, both laws of the momentum and both parametrisations of kappa, with a lambda away from its start.
fn families() -> Vec<Case<Annealed<QuadraticSurrogate>>> {
    let mut cases = Vec::new();
    for (shape, base) in [(Shape::Diagonal, 4), (Shape::Lower, 5)] {
        for (law, slope, steps) in [
            (Mass::Variance, Slope::Plain, 3),
            (Mass::Deviation, Slope::Scaled, 2),
            (Mass::Variance, Slope::Scaled, 0),
        ] {
            let guide = Quadratic::surrogate().guide();
            let family = Annealed { law, slope, longest: 0.6, ..Annealed::new(guide, shape, steps) };
            let mut params = family.at(&vec![0.1; base], 0.2, &family.surrogate.initial()).unwrap();
            for (k, param) in params.iter_mut().enumerate() {
                *param += 0.1 * (k as f64 * 1.7).sin();
            }
            cases.push(Case::new(family, params));
        }
    }
    cases
}

#[test]
fn annealed_families_conform() {
    families().iter().for_each(conforms);
}

#[test]
fn paths_along_every_surrogate_conform() {
    /// A path of three steps, each of which is free to grow and to shrink.
    fn along<S: Surrogate>(surrogate: S, psi: &[f64]) {
        let family = Annealed { longest: 0.4, ..Annealed::new(surrogate, Shape::Diagonal, 3) };
        let params = family.at(&[0.2, -0.1, -0.3, 0.1], 0.15, psi).unwrap();
        conforms(&Case::new(family, params));
    }
    let (x, labels) = (matrix(12, 2, 0), labels(12));
    let mut stream = Seed::new(6).stream(0, 0);
    for make in [LogisticSurrogate::rand, LogisticSurrogate::rand_pm, LogisticSurrogate::km_init_pm] {
        let surrogate = make(x.as_ref(), &labels, 5, 1.5, &mut stream).unwrap();
        let psi = surrogate.initial();
        along(surrogate, &psi);
    }
    along(LogisticSurrogate::cs_fix(x.as_ref(), &labels, 8, 1.5, &mut stream).unwrap(), &[]);
    let target = LogisticRegression::new(x.as_ref(), &labels, 1.5).unwrap();
    along(PosteriorSurrogate(&target), &[]);
    along(MinibatchSurrogate::new(&target, 4).unwrap(), &[]);
    let network = NeuralSurrogate::new(2, 1.5).unwrap().with_units(4).unwrap();
    along(network, &network.initial(&mut Seed::new(7).stream(0, 0)));
}

fn model() -> LocalRobustRegression {
    let x = faer::Mat::from_fn(5, 2, |i, k| if k == 0 { 1.0 } else { (1.9 * i as f64).sin() });
    let y = [0.3, -0.8, 2.9, 0.1, -0.4];
    LocalRobustRegression::new(x.as_ref(), &y, 4.0, 2.0).unwrap()
}

fn semi(steps: usize, shared: bool) -> (SemiAnnealed, Vec<f64>) {
    let family = SemiAnnealed { shared, longest: 0.6, ..SemiAnnealed::new(model(), steps) };
    let mut params = family.at(&[0.1, -0.3, 0.2], &[0.3, 0.2, 0.25], 0.7, 0.2).unwrap();
    assert_eq!(params.len(), family.num_params());
    for (k, param) in params.iter_mut().enumerate() {
        *param += 0.1 * (k as f64 * 1.3).sin();
    }
    (family, params)
}

fn semi_annealed() -> Vec<(SemiAnnealed, Vec<f64>)> {
    let mut all: Vec<_> =
        [(2, false), (2, true), (0, false)].map(|(steps, shared)| semi(steps, shared)).into();
    let (other, params) = semi(3, true);
    all.push((SemiAnnealed { law: Mass::Deviation, slope: Slope::Scaled, ..other }, params));
    all
}

#[test]
fn parts_of_semi_annealed_families_conform() {
    for (family, params) in semi_annealed() {
        for rows in [&[1, 3][..], &[4, 0, 2], &[0, 1, 2, 3, 4]] {
            let mut case = Case::new(family.on(rows), params.clone());
            if rows.len() < 5 {
                case = case
                    .without("push_follows_the_density", "log q of local points has the factor N/B")
                    .unwrap();
            }
            conforms(&case);
        }
    }
}

/// On all rows the minibatch is the model, value and gradient.
#[test]
fn all_rows_are_the_model() {
    let (model, rows) = (model(), [0, 1, 2, 3, 4]);
    let z = [0.2, -0.4, 0.3, 0.5, -0.7, 1.1, 0.0, 0.2];
    let (mut whole, mut part, mut work) = ([0.0; 8], [0.0; 8], [0.0; 64]);
    let expected = model.gradient_into(&z, &mut whole, &mut work);
    let found = LocalMinibatch::new(&model, &rows).unwrap().gradient_into(&z, &mut part, &mut work);
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    assert!(whole.iter().zip(&part).all(|(a, b)| (a - b).abs() < 1e-12), "{whole:?} {part:?}");
    // The failing twin: two rows with their factor are another model.
    let two = LocalMinibatch::new(&model, &[0, 1]).unwrap().gradient_into(&z[..5], &mut part[..5], &mut work);
    assert!((two - expected).abs() > 0.1);
    assert!(LocalMinibatch::new(&model, &[5]).is_err() && LocalMinibatch::new(&model, &[]).is_err());
}

/// Paths along the surrogate of a sparse process, with the theta of the surrogate as the first coordinates.
fn sparse_paths(coordinates: InducingCoordinates) -> (WithTheta<Annealed<SparseSurrogate>>, Vec<f64>) {
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
    let three = WithTheta::after(Drawn(MeanField::new(2)), 3);
    conforms(&Case::new(three, vec![0.3, -0.2, 0.1, -0.4, 1.0, -2.0, 0.5]));
    let one = WithTheta::after(Drawn(FullRank::new(2)), 1);
    conforms(&Case::new(one, vec![0.3, -0.2, 0.1, -0.4, 0.6, -2.0]));
    for coordinates in [InducingCoordinates::Plain, InducingCoordinates::Whitened] {
        let (family, params) = sparse_paths(coordinates);
        conforms(&Case::new(family, params));
    }
}

#[test]
fn theta_is_within_lambda() {
    let family = || Drawn(MeanField::new(2));
    assert!(WithTheta::within(family(), 1, 3).is_ok());
    assert!(WithTheta::within(family(), 2, 3).unwrap_err().to_string().contains("length 4"));
    assert!(WithTheta::within(family(), usize::MAX, 2).is_err());
}

/// Points, densities and gradients of a push and its sweep backward in one call have the bits of two calls.
#[test]
fn both_sweeps_at_once_are_one_after_the_other() {
    fn agree<F: Pushforward>(family: &F, params: &[f64], columns: usize) {
        let (dim, noise) = (family.dim(), noise_of(family, 2, 0, columns));
        let noise = batch(&noise, family.noise_dim(), columns);
        let mut work = vec![f64::NAN; family.work_len(columns)];
        let (mut z, mut log_q, mut gradient) =
            (Mat::zeros(dim, columns), vec![0.0; columns], vec![0.1; params.len()]);
        family.push(params, noise, z.as_mut(), &mut log_q, &mut work);
        let weights = vec![-1.0; columns];
        family.add_push_gradients(params, noise, z.as_ref(), &weights, &mut gradient, &mut work);
        for is_pulled in [false, true] {
            let (mut again, mut bars, mut densities) = (z.clone(), z.clone(), vec![0.0; columns]);
            let mut found = vec![0.1; params.len()];
            let mut pull = |z: MatRef<'_, f64>, densities: &mut [f64], mut bars: MatMut<'_, f64>| {
                assert_eq!(densities, log_q);
                bars.copy_from(z);
                densities.fill(-1.0);
                is_pulled
            };
            let (points, bars) = (again.as_mut(), bars.as_mut());
            let (densities, gradient_of, work) = (&mut densities[..], &mut found[..], &mut work[..]);
            family.push_and_add_gradients(
                params,
                noise,
                points,
                densities,
                bars,
                &mut pull,
                gradient_of,
                work,
            );
            assert_eq!((again, found == gradient), (z.clone(), is_pulled), "{}", family.config());
        }
    }
    let (family, params) = sparse_paths(InducingCoordinates::Plain);
    for columns in [1, 3] {
        agree(&family, &params, columns);
        families().iter().for_each(|case| agree(&case.family, &case.params, columns));
    }
}
