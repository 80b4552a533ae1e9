//! Laws of all optimisers: a restored run continues bit for bit, a step allocates nothing, a mirrored problem has a mirrored path,
//! and a serialised config is read back.

use mcsa_core::Optimizer;
use mcsa_optim::{AdaGrad, Adam, Averaged, Averaging, Dog, Momentum, Nesterov, RmsProp, Schedule, Sgd};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde::{Serialize, de::DeserializeOwned};

type Directions = Vec<[f64; 3]>;

fn run<O: Optimizer>(rule: &O, state: &mut O::State, params: &mut [f64; 3], directions: &[[f64; 3]]) {
    for direction in directions {
        rule.ascend(state, params, direction);
    }
}

fn restore<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).expect("written")).expect("read")
}

/// All laws of one rule, along one sequence of directions.
fn keeps<O>(rule: &O, start: [f64; 3], directions: &Directions) -> Result<(), TestCaseError>
where
    O: Optimizer + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned,
    O::State: PartialEq + std::fmt::Debug,
{
    prop_assert_eq!(&restore(rule), rule);

    let (mut state, mut params) = (rule.init(3), start);
    run(rule, &mut state, &mut params, directions);
    let bits = params.map(f64::to_bits);
    prop_assert!(params.iter().all(|param| param.is_finite()));
    prop_assert_eq!(rule.check(3, &state), Ok(()));
    prop_assert!(rule.check(4, &state).is_err());

    for cut in 0..directions.len() {
        let (mut before, mut params) = (rule.init(3), start);
        run(rule, &mut before, &mut params, &directions[..cut]);
        let mut after = restore(&before);
        run(rule, &mut after, &mut params, &directions[cut..]);
        prop_assert_eq!(params.map(f64::to_bits), bits, "cut at {}", cut);
        prop_assert_eq!(&after, &state, "cut at {}", cut);
    }

    let (mut state, mut mirrored) = (rule.init(3), start.map(|x| -x));
    let mirror: Directions = directions.iter().map(|direction| direction.map(|g| -g)).collect();
    run(rule, &mut state, &mut mirrored, &mirror);
    prop_assert_eq!(mirrored, params.map(|x| -x));

    let (mut state, mut params) = (rule.init(3), start);
    run(rule, &mut state, &mut params, &[[0.0; 3]; 2]);
    prop_assert_eq!(params, start, "no direction, no step");

    let steps = || run(rule, &mut state, &mut params, directions);
    prop_assert_eq!(allocation_counter::measure(steps).count_total, 0);
    Ok(())
}

fn power() -> Schedule {
    Schedule::power(0.3, 5.0, 0.6).expect("good constants")
}

/// The laws of a rule, alone and averaged.
fn laws<O>(rule: O, start: [f64; 3], directions: &Directions) -> Result<(), TestCaseError>
where
    O: Optimizer + Clone + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned,
    O::State: PartialEq + std::fmt::Debug,
{
    keeps(&rule, start, directions)?;
    for averaging in [Ok(Averaging::all()), Averaging::tail(3), Averaging::polynomial(3.0)] {
        let averaging = averaging.expect("good weights");
        keeps(&Averaged { averaging, optimizer: rule.clone() }, start, directions)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_rule_keeps_the_laws(
        start in prop::array::uniform3(-3.0..3.0f64),
        directions in prop::collection::vec(prop::array::uniform3(-10.0..10.0f64), 1..6),
    ) {
        laws(Sgd::new(0.1).expect("good"), start, &directions)?;
        laws(Sgd::new(power()).expect("good"), start, &directions)?;
        laws(Momentum::new(power()).expect("good"), start, &directions)?;
        laws(Nesterov::new(power()).expect("good"), start, &directions)?;
        laws(Adam::new(power()).expect("good"), start, &directions)?;
        laws(RmsProp::new(power()).expect("good"), start, &directions)?;
        laws(AdaGrad::new(power()).expect("good"), start, &directions)?;
        laws(Dog::new(0.01).expect("good"), start, &directions)?;
    }
}

#[test]
#[should_panic(expected = "one number per param")]
fn another_length_is_refused() {
    let adam = Adam::new(0.1).expect("good");
    adam.ascend(&mut adam.init(2), &mut [0.0; 2], &[1.0; 3]);
}
