//! Laws of every estimator: a fit goes on from its file bit for bit, also without the type of the estimator; steps allocate nothing;
//! chains of other data are an error.

use faer::Mat;
use mcsa_core::{Estimator, Gradient, LogDensity, Optimizer, Parametric, Seed};
use mcsa_estimators::{
    Ascent, AscentState, BatchMatch, ChainScore, Controlled, DynEstimator, DynState, Elbo, FlowElbo,
    Interleaved, Joint, Moments, ScoreWeights, Weighting, jsa, jsa_scan, msc, msc_rb, pmcsa, pmcsa_rb, rws,
    single, snis,
};
use mcsa_families::{
    Amortised, Defence, Drawn, FullRank, LowRank, MeanField, Mixture, MomentMatched, MultivariateT, PerDatum,
    StudentT, Tail,
};
use mcsa_kernels::{Cycle, Hmc, Imh, Repeat};
use mcsa_models::{FactorAnalysis, Gaussian, Learnable};
use mcsa_optim::{Adam, AdamState};
use serde_json::Value;

use super::step;

const STEPS: u64 = 40;

fn with<'a, P, F, E>(place: (&'a P, &'a F), estimator: E) -> Ascent<'a, P, F, E, Adam> {
    let (optimizer, seed) = (Adam::new(0.02).unwrap(), Seed::new(6));
    Ascent { target: place.0, family: place.1, estimator, optimizer, seed }
}

/// The fit after all steps, in runs of `piece` steps with the fit stored and read before each, without the entries that `forget`
/// removes.
fn in_pieces<P, F, E: Estimator<P, F>>(
    ascent: &Ascent<'_, P, F, E, Adam>,
    start: &[f64],
    piece: u64,
    forget: impl Fn(&mut Value),
) -> AscentState<E::State, AdamState> {
    let mut fit = ascent.start(start.to_vec()).unwrap();
    while fit.step() < STEPS {
        let mut file = serde_json::to_value(&fit).unwrap();
        forget(&mut file);
        fit = serde_json::from_str(&file.to_string()).unwrap();
        let steps = piece.min(STEPS - fit.step());
        ascent.run(&mut fit, steps).unwrap();
    }
    fit
}

/// A run of many steps allocates as much as one of few: at its start alone.
fn allocates_nothing<P, F, E: Estimator<P, F>, O: Optimizer>(
    name: &str,
    ascent: &Ascent<'_, P, F, E, O>,
    fit: &mut AscentState<E::State, O::State>,
) {
    let mut count = |steps: u64| allocation_counter::measure(|| drop(ascent.run(fit, steps))).count_total;
    assert_eq!(count(5), count(100), "{name}");
}

/// All laws; `other` is a target with other data, if there is one.
fn laws<P, F, E>(name: &str, place: (&P, &F), other: Option<&P>, start: &[f64], estimator: E)
where
    E: Estimator<P, F> + Clone,
{
    let plain = with(place, estimator.clone());
    let mut whole = plain.start(start.to_vec()).unwrap();
    plain.run(&mut whole, STEPS).unwrap();
    let text = serde_json::to_string(&whole).unwrap();
    for piece in [1, 7] {
        let parts = in_pieces(&plain, start, piece, |_| ());
        assert!(text == serde_json::to_string(&parts).unwrap(), "{name}, {piece} steps at a time");
    }
    let erased = with(place, DynEstimator::new(estimator.clone()));
    let mut parts = in_pieces(&erased, start, 7, |_| ());
    assert_eq!(whole.params(), parts.params(), "{name}");
    // As text, because metrics that a method does not record are NaN.
    assert_eq!(format!("{:?}", whole.statistics()), format!("{:?}", parts.statistics()), "{name}");
    let (ours, theirs) = (serde_json::to_value(whole.estimator()), serde_json::to_value(parts.estimator()));
    assert_eq!(ours.unwrap(), theirs.unwrap(), "{name}");
    if let Some(other) = other {
        let mut read = serde_json::from_str(&text).unwrap();
        let elsewhere = with((other, place.1), estimator).run(&mut read, 1);
        let has_chains = plain.estimator.chains(whole.estimator()).is_some();
        assert_eq!(
            elsewhere.is_err_and(|error| error.to_string().contains("other data")),
            has_chains,
            "{name}"
        );
    }
    allocates_nothing(name, &plain, &mut whole);
    allocates_nothing(name, &erased, &mut parts);
}

fn on_a_gaussian<E: Estimator<Gaussian, MeanField> + Clone>(name: &str, estimator: E) {
    let at = |mean| Gaussian::new(vec![mean; 3], Mat::identity(3, 3).as_ref()).unwrap();
    let (target, family, other) = (at(0.0), MeanField::new(3), at(1e-3));
    let start = family.at(&[0.5; 3], &[1.5; 3]).unwrap();
    laws(name, (&target, &family), Some(&other), &start, estimator);
}

#[test]
fn estimators_on_a_gaussian() {
    let hmc = || Hmc::new(0.2, 5).unwrap();
    let repeat = || Repeat { kernel: hmc(), times: 2 };
    on_a_gaussian("pmcsa", pmcsa(4));
    on_a_gaussian("mirrored", ChainScore { mirrored: true, ..pmcsa(4) });
    on_a_gaussian("defended", pmcsa(4).guarded(Defence::new(0.2, Tail::cauchy(3)).unwrap()));
    on_a_gaussian("recycled", pmcsa_rb(4));
    on_a_gaussian("jsa", jsa(4));
    on_a_gaussian("msc", msc(4));
    on_a_gaussian("msc_rb", msc_rb(4));
    on_a_gaussian("single hmc", single(hmc()));
    on_a_gaussian("repeated", single(repeat()));
    on_a_gaussian("a cycle", single(Cycle { first: repeat(), second: Imh::default() }));
    on_a_gaussian("snis", snis(4));
    on_a_gaussian("score function", ScoreWeights::new(4, Weighting::Evidence));
    on_a_gaussian("chi square", ScoreWeights::new(4, Weighting::ChiSquare));
    on_a_gaussian("chi square by max", ScoreWeights::new(4, Weighting::ChiSquareByMax));
    on_a_gaussian("closed", Elbo::closed(4));
    on_a_gaussian("path", Elbo { mirrored: true, ..Elbo::path(4) });
    on_a_gaussian("rws", rws(4, hmc()));
    on_a_gaussian("in turns", Interleaved { often: snis(2), seldom: single(hmc()), period: 2 });
    on_a_gaussian("chains of both", Interleaved { often: pmcsa(4), seldom: single(hmc()), period: 3 });
    on_a_gaussian("controlled", Controlled::new(pmcsa(4)));
    on_a_gaussian("controlled cloud", Controlled::new(msc_rb(4)));
    on_a_gaussian("controlled snis", Controlled::new(snis(4)));
    let nested = Interleaved { often: Controlled::new(jsa(4)), seldom: Controlled::new(pmcsa(2)), period: 2 };
    on_a_gaussian("controlled, in turns", nested);
    on_a_gaussian("batch and match", BatchMatch::new(4));
    on_a_gaussian("moments", Moments::new(pmcsa(4), 6.0));
    on_a_gaussian("moments of recycled proposals", Moments::new(pmcsa_rb(4), 6.0));
    on_a_gaussian("moments of candidates", Moments::new(msc_rb(4), 6.0));
    on_a_gaussian("moments of a dynamics", Moments::new(single(hmc()), 6.0));
}

#[test]
fn running_moments_of_families() {
    fn all<F: MomentMatched>(family: &F, start: &[f64]) {
        let (target, name) = (Gaussian::standard(3), family.config());
        laws(&name, (&target, family), None, start, Moments::new(pmcsa(4), 6.0));
        laws(&name, (&target, family), None, start, Moments::new(pmcsa_rb(4), 6.0));
    }
    let identity = Mat::<f64>::identity(3, 3);
    let family = FullRank::new(3);
    all(&family, &family.at(&[0.5; 3], identity.as_ref()).unwrap());
    let family = MultivariateT::learned(3, 2.0).unwrap();
    all(&family, &family.at(&[0.5; 3], identity.as_ref(), 8.0).unwrap());
    let family = StudentT::learned(3, 2.0).unwrap();
    all(&family, &family.at(&[0.5; 3], &[1.5; 3], 8.0).unwrap());
    let family = Mixture::new(MeanField::new(3), 2).unwrap();
    let means = Mat::from_fn(3, 2, |i, k| (i + k) as f64 - 1.0);
    let parts = [0, 1].map(|k| family.component().at(means.col_as_slice(k), &[1.5; 3]).unwrap());
    all(&family, &family.at(&[0.3, 0.7], &parts).unwrap());
    let family = LowRank::new(3, 2);
    all(&family, &family.at(&[0.5; 3], &[1.5; 3], means.as_ref()).unwrap());
}

#[test]
fn bounds_of_pushforwards_and_minibatches_of_data() {
    let (target, family) = (Gaussian::standard(3), Drawn(MeanField::new(3)));
    let start = family.0.at(&[0.5; 3], &[1.5; 3]).unwrap();
    laws("bound", (&target, &family), None, &start, FlowElbo { mirrored: true, ..FlowElbo::new(4) });

    let data = Mat::from_fn(3, 12, |i, j| ((3 * i + 5 * j) as f64).sin());
    let model = FactorAnalysis::new(data.clone(), 1).unwrap();
    let theta = [0.5, 0.4, 0.3, 0.0, 0.0, 0.0, -0.5];
    let one = MeanField::new(1);
    let start = one.at(&[0.0], &[1.0]).unwrap();
    let own = PerDatum { family: one, data: 12 };
    laws("scan", (&model.at(&theta), &own), None, &start.repeat(12), jsa_scan(4));
    let shared = Amortised::new(one, data).unwrap();
    let both = [shared.same_for_all(&start).unwrap(), theta.to_vec()].concat();
    laws("joint", (&model, &shared), None, &both, Joint { climb: jsa_scan(4) });
}

/// Negative control: a fit without the turn of `Interleaved`, or without the averages of a control variate, differs.
#[test]
fn a_missing_entry_changes_the_fit() {
    fn differs<E: Estimator<Gaussian, MeanField>>(estimator: E, forget: impl Fn(&mut Value)) {
        let (target, family) = (Gaussian::standard(3), MeanField::new(3));
        let start = family.at(&[0.5; 3], &[1.5; 3]).unwrap();
        let ascent = with((&target, &family), estimator);
        let whole = in_pieces(&ascent, &start, STEPS, |_| ());
        assert_ne!(whole.params(), in_pieces(&ascent, &start, 7, forget).params());
    }
    differs(rws(4, Hmc::new(0.2, 5).unwrap()), |fit| fit["estimator"]["step"] = 0.into());
    differs(Controlled::new(pmcsa(4)), |fit| {
        let products = &mut fit["estimator"]["products"];
        *products = "0".repeat(products.as_str().map_or(0, str::len)).into();
    });
}

/// Negative control: an optimiser that allocates is detected.
#[test]
#[should_panic(expected = "assertion `left == right` failed: copies")]
fn an_allocation_is_detected() {
    struct Copies;
    impl Optimizer for Copies {
        type State = ();
        fn init(&self, _: usize) {}
        fn check(&self, _: usize, (): &()) -> Result<(), mcsa_core::Error> {
            Ok(())
        }
        fn ascend(&self, (): &mut (), params: &mut [f64], _: &[f64]) {
            std::hint::black_box(params.to_vec());
        }
    }
    let (target, family) = (Gaussian::standard(1), MeanField::new(1));
    let ascent = super::ascent(&target, &family, snis(2), Copies);
    allocates_nothing("copies", &ascent, &mut ascent.start(vec![0.0, 0.5]).unwrap());
}

/// A standard normal in five dimensions whose methods insist on all the memory that they ask for, for a number of columns.
struct Roomy(usize);

impl LogDensity for Roomy {
    fn dim(&self) -> usize {
        5
    }
    fn work_len(&self, columns: usize) -> usize {
        1_000 * columns
    }
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        assert!(work.len() >= self.work_len(self.0));
        -0.5 * z.iter().map(|z| z * z).sum::<f64>()
    }
}

impl Gradient for Roomy {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(z).for_each(|(gradient, z)| *gradient = -z);
        self.log_density(z, work)
    }
}

/// Memory of the stated length leaves the target all that it asks for, also with fewer draws than dimensions.
#[test]
fn a_target_has_all_its_memory() {
    let family = FullRank::new(5);
    let params = vec![0.1; family.num_params()];
    for draws in [2, 9] {
        let target = Roomy(draws);
        let (estimator, mut lanes) = (BatchMatch::new(draws), Seed::new(3).streams(1, 0));
        let mut state = estimator.init(&target, &family, &params, &mut lanes).unwrap();
        step(&estimator, (&target, &family), &params, &mut state, &mut lanes);
    }
}

type Erased<'e> = DynEstimator<'e, Gaussian, MeanField>;

/// The bound on a pushforward, in an ascent of the family with its density: lambda as of the pushforward alone.
#[test]
fn an_estimator_can_have_a_view_of_its_own() {
    let (target, family, pushforward) = (Gaussian::standard(3), MeanField::new(3), Drawn(MeanField::new(3)));
    let start = family.at(&[0.5; 3], &[1.5; 3]).unwrap();
    let whole = in_pieces(&with((&target, &pushforward), FlowElbo::new(4)), &start, STEPS, |_| ());
    let erased = with((&target, &family), Erased::on(FlowElbo::new(4), &pushforward));
    let fit = in_pieces(&erased, &start, STEPS, |_| ());
    assert_eq!(whole.params(), fit.params());
    assert!(erased.health(&fit).unwrap().evidence_lower.is_finite());
}

/// The states of two estimators have different types, of which the erased ones show nothing: the first use finds it.
#[test]
fn a_state_of_another_estimator_is_an_error() {
    type DynFit = AscentState<DynState, AdamState>;
    let (target, family) = (Gaussian::standard(3), MeanField::new(3));
    let read =
        |fit: &DynFit| -> DynFit { serde_json::from_str(&serde_json::to_string(fit).unwrap()).unwrap() };
    let first = with((&target, &family), Erased::new(pmcsa(4)));
    let mut fit = first.start(family.at(&[0.5; 3], &[1.5; 3]).unwrap()).unwrap();
    first.run(&mut fit, 3).unwrap();
    let second = with((&target, &family), Erased::new(Controlled::new(pmcsa(4))));
    let error = second.run(&mut fit, 3).unwrap_err().to_string();
    assert!(error.contains("made with another estimator"), "{error}");
    let error = second.adopt(&mut fit).unwrap_err().to_string();
    assert!(error.contains("the state is that of another estimator"), "{error}");
    let error = second.adopt(&mut read(&fit)).unwrap_err().to_string();
    assert!(error.contains("the file holds the state of another estimator"), "{error}");
    // The control: the fit is as it was for the estimator that made it, in memory and from a file.
    assert_eq!(*fit.estimator(), *read(&fit).estimator());
    first.run(&mut read(&fit), 3).unwrap();
    first.run(&mut fit, 3).unwrap();
}
