//! Steps of every estimator allocate nothing: a run of many steps allocates as much as a run of few.

use faer::{Mat, MatMut, MatRef};
use mcsa_core::{Columns, ColumnsMut, Estimator, Gradient, LogDensity, Optimizer, Parametric, Seed};
use mcsa_estimators::{
    Ascent, BatchMatch, Controlled, Elbo, FlowElbo, Joint, Moments, ScoreWeights, Weighting, jsa, jsa_scan,
    msc, msc_rb, pmcsa, pmcsa_rb, rws, single, snis,
};
use mcsa_families::{
    Amortised, Defence, Drawn, FullRank, GaussianMixture, LowRank, MeanField, MomentMatched, MultivariateT,
    PerDatum, StudentT, Tail,
};
use mcsa_kernels::Hmc;
use mcsa_models::{FactorAnalysis, Gaussian, Learnable};
use mcsa_optim::Adam;

use super::step;

/// Number of allocations of a run of `steps` steps of a warm fit.
fn allocations<P, F, E>(target: &P, family: &F, estimator: E, start: Vec<f64>, steps: u64) -> u64
where
    E: Estimator<P, F>,
{
    let optimizer = Adam::new(0.001).unwrap();
    let ascent = Ascent { target, family, estimator, optimizer, seed: Seed::new(4) };
    let mut fit = ascent.start(start).unwrap();
    ascent.run(&mut fit, 20).unwrap();
    let count = allocation_counter::measure(|| {
        ascent.run(&mut fit, steps).unwrap();
    });
    count.count_total
}

fn on_a_gaussian<E: Estimator<Gaussian, MeanField> + Clone>(name: &str, estimator: E) {
    let (target, family) = (Gaussian::standard(3), MeanField::new(3));
    let count = |steps| {
        let start = family.at(&[0.5; 3], &[1.5; 3]).unwrap();
        allocations(&target, &family, estimator.clone(), start, steps)
    };
    assert_eq!(count(5), count(100), "{name}");
}

#[test]
fn steps_allocate_nothing() {
    let hmc = || Hmc::new(0.2, 5).unwrap();
    on_a_gaussian("pmcsa", pmcsa(4));
    on_a_gaussian("mirrored", pmcsa(4).mirrored());
    on_a_gaussian("defended", pmcsa(4).guarded(Defence::new(0.2, Tail::cauchy(3)).unwrap()));
    on_a_gaussian("recycled", pmcsa_rb(4));
    on_a_gaussian("jsa", jsa(4));
    on_a_gaussian("msc", msc(4));
    on_a_gaussian("msc_rb", msc_rb(4));
    on_a_gaussian("single hmc", single(hmc()));
    on_a_gaussian("snis", snis(4));
    on_a_gaussian("score function", ScoreWeights::new(4, Weighting::Evidence));
    on_a_gaussian("chi square", ScoreWeights::new(4, Weighting::ChiSquareByMax));
    on_a_gaussian("closed", Elbo::closed(4));
    on_a_gaussian("path", Elbo::path(4).mirrored());
    on_a_gaussian("rws", rws(4, hmc()));
    on_a_gaussian("controlled", Controlled::new(pmcsa(4)));
    on_a_gaussian("controlled snis", Controlled::new(snis(4)));
    on_a_gaussian("batch and match", BatchMatch::new(4));
    on_a_gaussian("moments", Moments::new(pmcsa(4), 6.0));
    on_a_gaussian("moments of candidates", Moments::new(msc_rb(4), 6.0));
}

#[test]
fn steps_of_running_moments_allocate_nothing() {
    let target = Gaussian::standard(3);
    fn none<F: MomentMatched>(target: &Gaussian, family: &F, start: &[f64]) {
        let few = |steps| allocations(target, family, Moments::new(pmcsa(4), 6.0), start.to_vec(), steps);
        assert_eq!(few(5), few(100), "{}", family.config());
        let recycled =
            |steps| allocations(target, family, Moments::new(pmcsa_rb(4), 6.0), start.to_vec(), steps);
        assert_eq!(recycled(5), recycled(100), "{}", family.config());
    }
    let identity = Mat::<f64>::identity(3, 3);
    let family = FullRank::new(3);
    none(&target, &family, &family.at(&[0.5; 3], identity.as_ref()).unwrap());
    let family = MultivariateT::learned(3, 2.0).unwrap();
    none(&target, &family, &family.at(&[0.5; 3], identity.as_ref(), 8.0).unwrap());
    let family = StudentT::learned(3, 2.0).unwrap();
    none(&target, &family, &family.at(&[0.5; 3], &[1.5; 3], 8.0).unwrap());
    let family = GaussianMixture::new(3, 2).unwrap();
    let means = Mat::from_fn(3, 2, |i, k| (i + k) as f64 - 1.0);
    none(&target, &family, &family.at(&[0.3, 0.7], means.as_ref(), Mat::full(3, 2, 1.5).as_ref()).unwrap());
    let family = LowRank::new(3, 2);
    none(&target, &family, &family.at(&[0.5; 3], &[1.5; 3], means.as_ref()).unwrap());
}

#[test]
fn steps_of_what_is_known_by_its_draws_allocate_nothing() {
    let (target, family) = (Gaussian::standard(3), Drawn(MeanField::new(3)));
    let count = |steps| {
        let start = family.0.at(&[0.5; 3], &[1.5; 3]).unwrap();
        allocations(&target, &family, FlowElbo::new(4).mirrored(), start, steps)
    };
    assert_eq!(count(5), count(100));
}

#[test]
fn steps_over_data_allocate_nothing() {
    let data = Mat::from_fn(3, 12, |i, j| ((3 * i + 5 * j) as f64).sin());
    let model = FactorAnalysis::new(data.clone(), 1).unwrap();
    let theta = [0.5, 0.4, 0.3, 0.0, 0.0, 0.0, -0.5];
    let given = model.at(&theta);
    let one = MeanField::new(1);
    let start = one.at(&[0.0], &[1.0]).unwrap();
    let own = PerDatum { family: one, data: 12 };
    let count = |steps| allocations(&given, &own, jsa_scan(4), start.repeat(12), steps);
    assert_eq!(count(5), count(100));
    let shared = Amortised::new(one, data).unwrap();
    let both = [shared.same_for_all(&start).unwrap(), theta.to_vec()].concat();
    let joint = || Joint { climb: jsa_scan(4) };
    let count = |steps| allocations(&model, &shared, joint(), both.clone(), steps);
    assert_eq!(count(5), count(100));
}

/// A standard normal whose methods insist on all the memory that they ask for.
struct Roomy(usize);

impl LogDensity for Roomy {
    fn dim(&self) -> usize {
        self.0
    }
    fn work_len(&self, columns: usize) -> usize {
        1_000 * columns
    }
    fn log_density(&self, z: &[f64], work: &mut [f64]) -> f64 {
        assert!(work.len() >= self.work_len(1));
        -0.5 * z.iter().map(|z| z * z).sum::<f64>()
    }
}

impl Gradient for Roomy {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], work: &mut [f64]) -> f64 {
        gradient.iter_mut().zip(z).for_each(|(gradient, z)| *gradient = -z);
        self.log_density(z, work)
    }
    fn gradients_into(
        &self,
        z: MatRef<'_, f64>,
        out: &mut [f64],
        mut gradients: MatMut<'_, f64>,
        work: &mut [f64],
    ) {
        assert!(work.len() >= self.work_len(z.ncols()));
        for (j, out) in out.iter_mut().enumerate() {
            *out = self.gradient_into(z.column(j), gradients.column_mut(j), work);
        }
    }
}

/// Memory of the stated length leaves the target all that it asks for, also with fewer draws than dimensions.
#[test]
fn a_target_has_all_its_memory() {
    fn fits<F: Parametric, E: Estimator<Roomy, F>>(family: &F, estimator: &E, params: &[f64]) {
        let (target, mut lanes) = (Roomy(5), Seed::new(3).streams(estimator.lanes(), 0));
        let mut state = estimator.init(&target, family, params, &mut lanes).unwrap();
        step(estimator, (&target, family), params, &mut state, &mut lanes);
    }
    for draws in [2, 9] {
        let family = FullRank::new(5);
        let params = vec![0.1; family.num_params()];
        fits(&family, &BatchMatch::new(draws), &params);
    }
}

/// The twin: an optimiser that allocates is detected.
#[test]
fn an_allocation_is_seen() {
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
    let ascent = Ascent {
        target: &target,
        family: &family,
        estimator: snis(2),
        optimizer: Copies,
        seed: Seed::new(1),
    };
    let mut fit = ascent.start(vec![0.0, 0.5]).unwrap();
    let mut count = |steps| {
        allocation_counter::measure(|| {
            ascent.run(&mut fit, steps).unwrap();
        })
        .count_total
    };
    let few = count(5);
    assert_eq!(count(100), few + 95);
}
