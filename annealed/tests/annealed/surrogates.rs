//! Annealed families along the surrogate posteriors of the models.

use faer::Mat;
use mcsa_annealed::Surrogate;
use mcsa_annealed::dais::{Annealed, Shape};
use mcsa_annealed::surrogate::{
    LogisticSurrogate, MinibatchSurrogate, NeuralSurrogate, PosteriorSurrogate, QuadraticSurrogate,
};
use mcsa_core::{LogDensity, Minibatch, Parametric, Pushforward, Seed, batch, batch_mut};
use mcsa_models::LogisticRegression;
use mcsa_testing::family::{Case, check_pushforward, push_allocates_nothing, push_gradient_is_gradient};

use crate::altered::{Alteration, Altered};

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
    push_allocates_nothing(&case, &mut crate::altered::meter).unwrap();
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

/// Mistake: the derivative in gamma is taken for that in its logit.
struct GammaItself(usize);

impl<F> Alteration<F> for GammaItself {
    fn push_gradients(&self, params: &[f64], gradient: &mut [f64]) {
        let gamma = 1.0 / (1.0 + (-params[self.0]).exp());
        gradient[self.0] /= gamma * (1.0 - gamma);
    }
}

#[test]
fn another_parametrisation_of_gamma_is_caught() {
    let quadratic = QuadraticSurrogate::new(&[0.5, -1.0], Mat::identity(2, 2).as_ref(), vec![0.2, 0.0], 1.5);
    let family = Annealed { longest: 0.4, ..Annealed::new(quadratic.unwrap(), Shape::Diagonal, 3) };
    let params = family.at(&[0.2, -0.1, -0.3, 0.1], 0.15, &family.surrogate.initial()).unwrap();
    assert_eq!(push_gradient_is_gradient(&Case::new(family.clone(), params.clone())), Ok(()));
    let mistaken = Case::new(Altered { family, by: GammaItself(6) }, params);
    assert!(push_gradient_is_gradient(&mistaken).is_err());
}

/// Averaged over all pairs of minibatches, independent ones for guide and bound give the bound of the whole target; one for both does not.
/// Exact, at fixed noise.
#[test]
fn guide_and_bound_need_independent_minibatches() {
    let (x, labels) = data();
    let target = LogisticRegression::new(x.as_ref().subrows(0, 4), &labels[..4], 1.5).unwrap();
    let subsets: Vec<[usize; 2]> = (0..4).flat_map(|i| (0..i).map(move |j| [i, j])).collect();
    let bound = |guide: &[usize; 2], end: Option<&[usize; 2]>| {
        let surrogate = PosteriorSurrogate(Minibatch::new(&target, guide).unwrap());
        let family = Annealed { longest: 0.6, ..Annealed::new(surrogate, Shape::Diagonal, 2) };
        let params = family.at(&[0.2, -0.1, -0.3, 0.1], 0.4, &[]).unwrap();
        let mut noise = vec![0.0; 6];
        family.sample_noise_into(&mut [Seed::new(2).stream(0, 0)], batch_mut(&mut noise, 6, 1));
        let (mut z, mut log_q, mut work) = ([0.0; 2], [0.0], vec![0.0; family.work_len(1) + 1024]);
        family.push(&params, batch(&noise, 6, 1), batch_mut(&mut z, 2, 1), &mut log_q, &mut work);
        let log_p = match end {
            Some(rows) => Minibatch::new(&target, rows).unwrap().log_density(&z, &mut work),
            None => target.log_density(&z, &mut work),
        };
        log_p - log_q[0]
    };
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let whole = mean(subsets.iter().map(|guide| bound(guide, None)).collect());
    let pairs = subsets.iter().flat_map(|guide| subsets.iter().map(move |end| (guide, end)));
    let apart = mean(pairs.map(|(guide, end)| bound(guide, Some(end))).collect());
    let shared = mean(subsets.iter().map(|rows| bound(rows, Some(rows))).collect());
    assert!((apart - whole).abs() < 1e-12, "{apart} {whole}");
    assert!(shared - whole > 1e-2, "a shared minibatch flatters the bound: {shared} {whole}");
}
