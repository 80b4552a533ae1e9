//! Kernels under faulty densities, foreign states and batches of chains.

use faer::Mat;
use mcsa_core::{ChainState, Columns, Counted, Error, Gradient, Kernel, LogDensity, Record, Seed, Stream};
use mcsa_kernels::{Elliptical, GaussianPrior, Hmc, Leapfrog, Mala, Mass, NoProposal, Nuts, Rwm, Selection};

use super::targets::{Banana, Edge, Funnel, correlated};

fn hmc(eps: f64, steps: usize, selection: Selection) -> Hmc {
    Hmc::with(Leapfrog::new(eps, Mass::unit()).unwrap(), steps, selection).unwrap()
}

/// Runs a check that is generic in the kernel on every kernel.
macro_rules! each_kernel {
    ($check:expr) => {
        $check("Rwm", &Rwm::with(0.7, vec![1.0, 2.0]).unwrap());
        $check("Elliptical", &Elliptical::new(GaussianPrior::standard(2)));
        $check("Mala", &Mala::new(0.6).unwrap());
        $check("Hmc", &hmc(0.5, 4, Selection::EndPoint));
        $check("Hmc", &hmc(0.5, 4, Selection::Multinomial));
        $check("Nuts", &Nuts::with(Leapfrog::new(0.5, Mass::unit()).unwrap(), 5).unwrap());
    };
}

fn steps<P: Gradient, K: Kernel<P>>(
    kernel: &K,
    target: &P,
    state: &mut K::State,
    first_lane: u64,
    steps: std::ops::Range<u64>,
) -> Vec<(String, f64)> {
    let chains = state.chains().len();
    let mut work = vec![f64::NAN; kernel.work_len(target, chains)];
    let mut totals: Vec<(String, f64)> = Vec::new();
    for step in steps {
        let mut lanes: Vec<Stream> =
            (0..chains as u64).map(|j| Seed::new(21).stream(first_lane + j, step)).collect();
        let info = kernel.step(target, &mut NoProposal { dim: target.dim() }, state, &mut lanes, &mut work);
        info.record(&mut |metric, value| match totals.iter_mut().find(|(known, _)| known == metric.name) {
            Some((_, total)) => *total += value,
            None => totals.push((metric.name.to_string(), value)),
        });
    }
    totals
}

fn total(totals: &[(String, f64)], name: &str) -> f64 {
    totals.iter().find(|(known, _)| known == name).map_or(0.0, |(_, total)| *total)
}

fn start(chains: usize) -> Mat<f64> {
    Mat::from_fn(2, chains, |i, j| 0.3 * i as f64 - 0.2 * j as f64)
}

#[test]
fn chains_never_enter_where_there_is_no_density() {
    fn check<K: Kernel<Edge>>(name: &str, kernel: &K) {
        for beyond in [f64::NEG_INFINITY, f64::NAN, f64::INFINITY] {
            let target = Edge { edge: 0.5, beyond };
            let mut state = kernel.init(&target, start(3)).unwrap();
            let totals = steps(kernel, &target, &mut state, 0, 0..200);
            let chains = state.chains();
            assert!((0..3).all(|j| chains.positions[(0, j)] <= 0.5 && chains.log_p[j].is_finite()), "{name}");
            assert!(total(&totals, "moved") > 100.0, "{name}: {totals:?}");
            assert_eq!(
                total(&totals, "non_finite") > 10.0,
                beyond != f64::NEG_INFINITY,
                "{name}: {totals:?}"
            );
            assert_eq!(total(&totals, "divergences"), 0.0, "{name}: {totals:?}");
            assert!(totals.iter().all(|(_, total)| total.is_finite()), "{name}: {totals:?}");
        }
    }
    each_kernel!(check);
}

#[test]
fn a_chain_without_a_density_comes_in_where_a_gradient_leads() {
    fn check<K: Kernel<Edge>>(name: &str, kernel: &K) {
        for beyond in [f64::NEG_INFINITY, f64::NAN] {
            let target = Edge { edge: 0.5, beyond };
            let mut state = kernel.init(&target, faer::mat![[0.6], [0.0]]).unwrap();
            assert!(!state.chains().log_p[0].is_finite());
            let totals = steps(kernel, &target, &mut state, 0, 0..50);
            let leads_in = !beyond.is_nan() || matches!(name, "Rwm" | "Elliptical");
            assert_eq!(state.chains().log_p[0].is_finite(), leads_in, "{name}");
            assert_eq!(total(&totals, "moved") > 0.0, leads_in, "{name}");
            assert_eq!(total(&totals, "divergences"), 0.0, "{name}");
        }
    }
    each_kernel!(check);
}

#[test]
fn absurd_steps_are_counted_and_rejected() {
    fn check<K: Kernel<Funnel>>(name: &str, kernel: &K) {
        let mut state = kernel.init(&Funnel, start(2)).unwrap();
        let before = state.chains().clone();
        let totals = steps(kernel, &Funnel, &mut state, 0, 0..20);
        assert_eq!(*state.chains(), before, "{name}");
        assert!(total(&totals, "divergences") + total(&totals, "non_finite") >= 30.0, "{name}: {totals:?}");
        assert!(total(&totals, "divergences") > 0.0, "{name}: {totals:?}");
    }
    let target = Edge { edge: 9.0, beyond: f64::NEG_INFINITY };
    let rwm = Rwm::new(f64::MAX).unwrap();
    let totals = steps(&rwm, &target, &mut rwm.init(&target, start(2)).unwrap(), 0, 0..20);
    assert!(total(&totals, "moved") == 0.0 && total(&totals, "non_finite") > 10.0, "{totals:?}");
    check("Mala", &Mala::new(40.0).unwrap());
    check("Hmc", &hmc(40.0, 5, Selection::EndPoint));
    check("Hmc", &hmc(40.0, 5, Selection::Multinomial));
    check("Nuts", &Nuts::new(40.0).unwrap());
}

#[test]
fn a_chain_has_the_same_bits_alone_and_in_company() {
    fn check<K: Kernel<Banana>>(name: &str, kernel: &K) {
        let mut together = kernel.init(&Banana, start(3)).unwrap();
        steps(kernel, &Banana, &mut together, 0, 0..30);
        for j in 0..3 {
            let alone = start(3).as_ref().subcols(j, 1).to_owned();
            let mut alone = kernel.init(&Banana, alone).unwrap();
            steps(kernel, &Banana, &mut alone, j as u64, 0..30);
            let (a, b) = (together.chains(), alone.chains());
            assert_eq!(a.positions.as_ref().column(j), b.positions.as_ref().column(0), "{name}");
            assert_eq!(a.log_p[j], b.log_p[0], "{name}");
        }
    }
    each_kernel!(check);
}

#[test]
fn a_restored_state_goes_on_bit_for_bit() {
    fn check<K: Kernel<Banana>>(name: &str, kernel: &K) {
        let mut state = kernel.init(&Banana, start(3)).unwrap();
        steps(kernel, &Banana, &mut state, 0, 0..10);
        let text = serde_json::to_string(&state).unwrap();
        let mut restored: K::State = serde_json::from_str(&text).unwrap();
        kernel.check(&Banana, 3, &restored).unwrap();
        steps(kernel, &Banana, &mut state, 0, 10..20);
        steps(kernel, &Banana, &mut restored, 0, 10..20);
        assert_eq!(
            serde_json::to_string(&state).unwrap(),
            serde_json::to_string(&restored).unwrap(),
            "{name}"
        );
        assert_ne!(text, serde_json::to_string(&state).unwrap(), "{name}");
    }
    each_kernel!(check);
}

#[test]
fn what_was_known_of_an_old_place_is_forgotten() {
    fn check<K: Kernel<Banana>>(name: &str, kernel: &K) {
        let mut placed = kernel.init(&Banana, start(1)).unwrap();
        steps(kernel, &Banana, &mut placed, 0, 0..5);
        let elsewhere = faer::mat![[1.5], [-0.5]];
        let mut fresh = kernel.init(&Banana, elsewhere.clone()).unwrap();
        let log_p = fresh.chains().log_p[0];
        placed.chains_mut().place(0, elsewhere.as_ref().column(0), log_p);
        steps(kernel, &Banana, &mut placed, 0, 5..8);
        steps(kernel, &Banana, &mut fresh, 0, 5..8);
        assert_eq!(placed.chains(), fresh.chains(), "{name}");
    }
    each_kernel!(check);
}

#[test]
fn what_is_remembered_is_true() {
    fn check<K: Kernel<Banana>>(name: &str, kernel: &K) {
        let mut remembering = kernel.init(&Banana, start(3)).unwrap();
        let mut forgetful = remembering.clone();
        for step in 0..30 {
            forgetful.chains_mut();
            steps(kernel, &Banana, &mut remembering, 0, step..step + 1);
            steps(kernel, &Banana, &mut forgetful, 0, step..step + 1);
            let chains = remembering.chains();
            assert_eq!(chains, forgetful.chains(), "{name}");
            for j in 0..3 {
                let log_p = Banana.log_density(chains.positions.as_ref().column(j), &mut []);
                assert_eq!(chains.log_p[j], log_p, "{name}");
            }
        }
    }
    each_kernel!(check);
}

#[test]
fn foreign_states_and_shapes_are_refused() {
    fn check<K: Kernel<Banana>>(name: &str, kernel: &K) {
        let state = kernel.init(&Banana, start(3)).unwrap();
        assert!(kernel.check(&Banana, 3, &state).is_ok());
        let refused = |result: Result<(), Error>| result.unwrap_err().to_string();
        let error = refused(kernel.check(&Banana, 2, &state));
        assert!(error.contains(name) && error.contains("chains has length 3, expected 2"), "{error}");
        assert!(kernel.init(&Banana, Mat::zeros(3, 1)).is_err());
        assert!(kernel.init(&Banana, faer::mat![[f64::NAN], [0.0]]).is_err());
    }
    each_kernel!(check);
    let three = Mass::diagonal(vec![1.0; 3]).unwrap();
    let leapfrog = Leapfrog::new(0.1, three.clone()).unwrap();
    let error = Nuts::with(leapfrog.clone(), 5).unwrap().init(&Banana, start(1)).unwrap_err().to_string();
    assert_eq!(error, "Nuts: mass has length 3, expected 2");
    assert!(Hmc::with(leapfrog, 2, Selection::EndPoint).unwrap().init(&Banana, start(1)).is_err());
    assert!(Mala::with(0.1, three).unwrap().init(&Banana, start(1)).is_err());
    assert!(Rwm::with(0.1, vec![1.0; 3]).unwrap().init(&Banana, start(1)).is_err());
    assert!(Elliptical::new(GaussianPrior::standard(3)).init(&Banana, start(1)).is_err());
}

#[test]
fn configs_from_a_file_are_checked_there() {
    let hmc: Hmc = serde_json::from_str(r#"{"step_size":0.1,"steps":8,"mass":[1.0,2.0]}"#).unwrap();
    assert_eq!((hmc.selection(), hmc.steps()), (Selection::Multinomial, 8));
    assert_eq!(serde_json::from_str::<Hmc>(&serde_json::to_string(&hmc).unwrap()).unwrap(), hmc);
    let refused = |text: &str| serde_json::from_str::<Hmc>(text).unwrap_err().to_string();
    assert_eq!(refused(r#"{"step_size":0.1,"steps":0}"#), "Hmc: steps is 0, expected at least 1");
    assert!(refused(r#"{"step_size":-0.1,"steps":1}"#).starts_with("Hmc: step_size is -0.1"));
    assert!(refused(r#"{"step_size":0.1,"steps":1,"mass":[0.0]}"#).contains("mass is 0"));
    assert!(refused(r#"{"step_size":0.1,"steps":1,"lenght":2}"#).contains("lenght"));
    assert!(serde_json::from_str::<Nuts>(r#"{"step_size":0.1,"max_depth":0}"#).is_err());
    assert!(serde_json::from_str::<Mala>(r#"{"step_size":0.0}"#).is_err());
    assert_eq!(serde_json::from_str::<Nuts>(r#"{"step_size":0.1}"#).unwrap(), Nuts::new(0.1).unwrap());
    for eps in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Hmc::new(eps, 1).is_err() && Nuts::new(eps).is_err() && Mala::new(eps).is_err(), "{eps}");
    }
}

#[test]
fn costs_are_as_documented() {
    fn gradients<K: Kernel<Counted<mcsa_models::Gaussian>>>(kernel: &K) -> u64 {
        let target = Counted::new(correlated());
        let mut state = kernel.init(&target, start(3)).unwrap();
        steps(kernel, &target, &mut state, 0, 0..10);
        assert_eq!(target.counts().log_density, 3);
        target.counts().gradient
    }
    assert_eq!(gradients(&Mala::new(0.2).unwrap()), 3 * (1 + 10));
    assert_eq!(gradients(&hmc(0.2, 4, Selection::EndPoint)), 3 * (1 + 10 * 4));
    // A step in which no chain moves needs no new gradient at its start.
    let multinomial = gradients(&hmc(0.2, 4, Selection::Multinomial));
    assert_eq!(multinomial, 3 * 10 * 5);
}

#[test]
fn no_chains_and_no_coordinates_are_fine() {
    fn check<K: Kernel<mcsa_models::Gaussian>>(_: &str, kernel: &K) {
        let target = mcsa_models::Gaussian::standard(2);
        let mut state = kernel.init(&target, Mat::zeros(2, 0)).unwrap();
        steps(kernel, &target, &mut state, 0, 0..2);
    }
    each_kernel!(check);
    fn point<K: Kernel<mcsa_models::Gaussian>>(kernel: &K) {
        let target = mcsa_models::Gaussian::standard(0);
        let mut state = kernel.init(&target, Mat::zeros(0, 2)).unwrap();
        steps(kernel, &target, &mut state, 0, 0..2);
        assert_eq!(state.chains().log_p, [0.0, 0.0]);
    }
    point(&Rwm::new(1.0).unwrap());
    point(&Mala::new(1.0).unwrap());
    point(&hmc(1.0, 2, Selection::Multinomial));
    point(&Nuts::new(1.0).unwrap());
    point(&Elliptical::new(GaussianPrior::standard(0)));
}

#[test]
fn a_step_allocates_nothing() {
    fn check<K: Kernel<Banana>>(name: &str, kernel: &K) {
        let mut state = kernel.init(&Banana, start(4)).unwrap();
        let mut work = vec![0.0; kernel.work_len(&Banana, 4)];
        let mut lanes = Seed::new(1).streams(4, 0);
        let info = allocation_counter::measure(|| {
            for _ in 0..20 {
                kernel.step(&Banana, &mut NoProposal { dim: 2 }, &mut state, &mut lanes, &mut work);
            }
        });
        assert_eq!(info.count_total, 0, "{name}");
    }
    each_kernel!(check);
}

/// The length of a trajectory on a standard Gaussian: half a turn is `pi`.
#[test]
fn nuts_stops_at_half_a_turn() {
    let (target, nuts) = (mcsa_models::Gaussian::standard(50), Nuts::new(0.1).unwrap());
    let draws = Mat::from_fn(50, 10, |i, j| Seed::new(3).stream(j as u64, i as u64).normal());
    let mut state = nuts.init(&target, draws).unwrap();
    let totals = steps(&nuts, &target, &mut state, 0, 0..10);
    // 31 steps are 3.1 long, 63 are 6.3 long: the first may fall short of a turn, the second may not.
    let leapfrogs = total(&totals, "leapfrogs") / 100.0;
    assert!((15.0..=63.0).contains(&leapfrogs), "{totals:?}");
    assert!((4.0..=6.0).contains(&(total(&totals, "depth") / 10.0)), "{totals:?}");
}
