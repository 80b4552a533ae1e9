//! Annealed families along the surrogate posteriors of the models.

use faer::Mat;
use mcsa_core::{Parametric, Seed, Surrogate};
use mcsa_families::conformance::{Case, check_pushforward, push_allocates_nothing};
use mcsa_families::dais::{Annealed, Shape};
use mcsa_models::LogisticRegression;
use mcsa_models::surrogate::{
    LogisticSurrogate, MinibatchSurrogate, NeuralSurrogate, PosteriorSurrogate, QuadraticSurrogate,
};

const DATA: usize = 12;

fn data() -> (Mat<f64>, Vec<f64>) {
    let mut stream = Seed::new(5).stream(0, 0);
    let x = Mat::from_fn(DATA, 2, |_, _| stream.normal());
    (x, (0..DATA).map(|n| f64::from(u8::from(n * 5 % 3 == 0))).collect())
}

/// Laws of a pushforward, for a path of three steps, each of which is free to grow and to shrink.
fn conforms<S: Surrogate>(surrogate: S, psi: &[f64]) {
    let family = Annealed { longest: 0.4, ..Annealed::new(surrogate, Shape::Diagonal, 3) };
    let params = family.at(&[0.2, -0.1, -0.3, 0.1], 0.15, psi).unwrap();
    let case = Case::new(family, params);
    check_pushforward(&case).unwrap_or_else(|failure| panic!("{}: {failure}", case.family.config()));
    push_allocates_nothing(&case, &mut |call| allocation_counter::measure(call).count_total).unwrap();
}

#[test]
fn logistic_surrogates() {
    let (x, labels) = data();
    let mut stream = Seed::new(6).stream(0, 0);
    for make in [LogisticSurrogate::rand, LogisticSurrogate::rand_pm, LogisticSurrogate::km_init_pm] {
        let surrogate = make(x.as_ref(), &labels, 5, 1.5, &mut stream).unwrap();
        let psi = surrogate.initial();
        conforms(surrogate, &psi);
    }
    conforms(LogisticSurrogate::cs_fix(x.as_ref(), &labels, 8, 1.5, &mut stream).unwrap(), &[]);
}

#[test]
fn other_surrogates() {
    let (x, labels) = data();
    let target = LogisticRegression::new(x.as_ref(), &labels, 1.5).unwrap();
    conforms(PosteriorSurrogate(&target), &[]);
    conforms(MinibatchSurrogate::new(&target, 4).unwrap(), &[]);
    let b = faer::mat![[2.0, 0.3], [0.1, 1.0]];
    let quadratic = QuadraticSurrogate::new(&[0.5, -1.0], b.as_ref(), vec![0.2, 0.0], 1.5).unwrap();
    let psi = quadratic.initial();
    conforms(quadratic, &psi);
    let network = NeuralSurrogate::new(2, 1.5).unwrap().with_units(4).unwrap();
    conforms(network, &network.initial(&mut Seed::new(7).stream(0, 0)));
}
