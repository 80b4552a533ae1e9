//! A fit saved after any step and resumed is bit-identical to one that never stopped, with every wrapper of its estimator.

use faer::Mat;
use mcsa_core::{Estimator, Seed};
use mcsa_estimators::{
    Ascent, Controlled, Fit, Interleaved, Joint, Moments, jsa, jsa_scan, msc_rb, pmcsa, pmcsa_rb, rws,
    single, snis,
};
use mcsa_families::{Amortised, MeanField};
use mcsa_kernels::Hmc;
use mcsa_models::{FactorAnalysis, Gaussian};
use mcsa_optim::{Adam, AdamState};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const STEPS: u64 = 40;

fn text<S: Serialize>(fit: &Fit<S, AdamState>) -> String {
    serde_json::to_string(fit).unwrap()
}

/// The fit after all steps in one run, and in runs of `piece` steps with the fit serialised between them, without the
/// entries that `forget` removes.
fn both_ways<P, F, E>(
    ascent: &Ascent<'_, P, F, E, Adam>,
    start: &[f64],
    piece: u64,
    forget: impl Fn(&mut Value),
) -> (String, String)
where
    E: Estimator<P, F>,
    E::State: Serialize + DeserializeOwned,
{
    let mut whole = ascent.start(start.to_vec()).unwrap();
    ascent.run(&mut whole, STEPS).unwrap();
    let mut parts = ascent.start(start.to_vec()).unwrap();
    while parts.step() < STEPS {
        let mut file: Value = serde_json::from_str(&text(&parts)).unwrap();
        forget(&mut file);
        parts = serde_json::from_str(&file.to_string()).unwrap();
        let steps = piece.min(STEPS - parts.step());
        ascent.run(&mut parts, steps).unwrap();
    }
    (text(&whole), text(&parts))
}

fn resumes<P, F, E>(name: &str, target: &P, family: &F, estimator: E, start: &[f64])
where
    E: Estimator<P, F>,
    E::State: Serialize + DeserializeOwned,
{
    let (optimizer, seed) = (Adam::new(0.02).unwrap(), Seed::new(6));
    let ascent = Ascent { target, family, estimator, optimizer, seed };
    for piece in [1, 7] {
        let (whole, parts) = both_ways(&ascent, start, piece, |_| ());
        assert!(whole == parts, "{name}, {piece} steps at a time");
    }
}

fn on_a_gaussian<E>(name: &str, estimator: E)
where
    E: Estimator<Gaussian, MeanField>,
    E::State: Serialize + DeserializeOwned,
{
    let (target, family) = (Gaussian::standard(3), MeanField::new(3));
    let start = family.at(&[0.5; 3], &[1.5; 3]).unwrap();
    resumes(name, &target, &family, estimator, &start);
}

#[test]
fn fits_with_auxiliary_chains_resume() {
    let hmc = || Hmc::new(0.2, 5).unwrap();
    on_a_gaussian("interleaved", rws(4, hmc()));
    on_a_gaussian("chains of both", Interleaved { often: pmcsa(4), seldom: single(hmc()), period: 3 });
    on_a_gaussian("controlled", Controlled::new(pmcsa(4)));
    on_a_gaussian("controlled cloud", Controlled::new(msc_rb(4)));
    on_a_gaussian("controlled weights", Controlled::new(snis(4)));
    let nested = Interleaved { often: Controlled::new(jsa(4)), seldom: Controlled::new(pmcsa(2)), period: 2 };
    on_a_gaussian("controlled, in turns", nested);
    on_a_gaussian("moments", Moments::new(pmcsa(4), 6.0));
    on_a_gaussian("moments of recycled proposals", Moments::new(pmcsa_rb(4), 6.0));
    on_a_gaussian("moments of candidates", Moments::new(msc_rb(4), 6.0));
    on_a_gaussian("moments of a dynamics", Moments::new(single(hmc()), 6.0));
}

#[test]
fn joint_fits_resume() {
    let data = Mat::from_fn(3, 12, |i, j| ((3 * i + 5 * j) as f64).sin());
    let model = FactorAnalysis::new(data.clone(), 1).unwrap();
    let shared = Amortised::new(MeanField::new(1), data).unwrap();
    let lambda = shared.same_for_all(&MeanField::new(1).at(&[0.0], &[1.0]).unwrap()).unwrap();
    let start = [&lambda[..], &[0.5, 0.4, 0.3, 0.0, 0.0, 0.0, -0.5]].concat();
    resumes("joint", &model, &shared, Joint { climb: jsa_scan(4) }, &start);
}

/// The twin: a fit without the turn of `Interleaved`, or without the averages of a control variate, differs.
#[test]
fn what_is_forgotten_is_noticed() {
    let (target, family) = (Gaussian::standard(3), MeanField::new(3));
    let start = family.at(&[0.5; 3], &[1.5; 3]).unwrap();
    let (target, family, seed) = (&target, &family, Seed::new(6));
    let adam = || Adam::new(0.02).unwrap();

    let estimator = rws(4, Hmc::new(0.2, 5).unwrap());
    let ascent = Ascent { target, family, estimator, optimizer: adam(), seed };
    let (whole, parts) = both_ways(&ascent, &start, 7, |fit| fit["estimator"]["step"] = 0.into());
    assert_ne!(whole, parts);

    let ascent = Ascent { target, family, estimator: Controlled::new(pmcsa(4)), optimizer: adam(), seed };
    let (whole, parts) = both_ways(&ascent, &start, 7, |fit| {
        let products = &mut fit["estimator"]["products"];
        *products = "0".repeat(products.as_str().map_or(0, str::len)).into();
    });
    assert_ne!(whole, parts);
}
