//! Tests of the adapter to argmin.

use argmin::core::{Error, Executor, Gradient, State};
use mcsa_core::Optimizer;
use mcsa_optim::{Adam, Averaged, Averaging, Clip, Clipped, Dog, Nesterov, Schedule, Sgd, Stochastic};

/// Gradient of a cost that is not quadratic, so that the path is not trivial.
fn gradient(x: &[f64]) -> Vec<f64> {
    vec![x[0].sinh() + 0.3 * x[1], (x[1] - 2.0).powi(3) + 0.3 * x[0]]
}

struct Cost;

impl Gradient for Cost {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(gradient(x))
    }
}

const START: [f64; 2] = [1.5, -0.7];

fn both_ways<O: Optimizer + Clone>(rule: &O, steps: u64) -> (Vec<f64>, Vec<f64>) {
    let solver = Stochastic::new(rule.clone());
    let run = Executor::new(Cost, solver)
        .configure(|state| state.param(START.to_vec()).max_iters(steps))
        .run()
        .expect("a good run");
    assert_eq!(run.state.get_iter(), steps);
    let (mut state, mut params) = (rule.init(2), START);
    for _ in 0..steps {
        let direction: Vec<f64> = gradient(&params).iter().map(|g| -g).collect();
        rule.ascend(&mut state, &mut params, &direction);
    }
    (run.state.best_param.expect("a last param"), params.to_vec())
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn both_ways_give_the_same_bits() {
    fn same<O: Optimizer + Clone>(rule: &O) {
        let (theirs, ours) = both_ways(rule, 137);
        assert_eq!(bits(&theirs), bits(&ours));
    }
    same(&Adam::new(0.05).unwrap());
    same(&Adam::new(Schedule::power(0.5, 3.0, 0.6).unwrap()).unwrap());
    same(&Nesterov::new(0.01).unwrap());
    same(&Dog::default());
    same(&Clipped { clip: Clip::norm(0.1).unwrap(), optimizer: Sgd::new(0.1).unwrap() });
}

/// Negative control: a slightly different rate gives other bits.
#[test]
fn another_rule_gives_other_bits() {
    let (theirs, _) = both_ways(&Adam::new(0.05).unwrap(), 20);
    let (_, ours) = both_ways(&Adam::new(0.050_000_000_1).unwrap(), 20);
    assert_ne!(bits(&theirs), bits(&ours));
}

#[test]
fn the_state_of_the_rule_can_be_read() {
    let rule = Averaged { averaging: Averaging::all(), optimizer: Sgd::new(0.1).unwrap() };
    let run = Executor::new(Cost, Stochastic::new(rule))
        .configure(|state| state.param(START.to_vec()).max_iters(50))
        .run()
        .unwrap();
    let average = run.solver.state().and_then(|state| state.average()).unwrap().to_vec();
    assert_ne!(Some(average), run.state.best_param);
}

#[test]
fn faults_are_errors() {
    struct Faulty(Vec<f64>);
    impl Gradient for Faulty {
        type Param = Vec<f64>;
        type Gradient = Vec<f64>;
        fn gradient(&self, _: &Vec<f64>) -> Result<Vec<f64>, Error> {
            Ok(self.0.clone())
        }
    }
    let run = |gradient: &[f64], start: Option<Vec<f64>>| {
        let executor = Executor::new(Faulty(gradient.to_vec()), Stochastic::new(Sgd::new(0.1).unwrap()));
        let executor = executor.configure(|state| match start {
            Some(start) => state.param(start).max_iters(3),
            None => state,
        });
        executor.run().map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(run(&[f64::NAN], Some(vec![0.0])), "gradient[0] is NaN, expected a finite number");
    assert_eq!(run(&[1.0, 2.0], Some(vec![0.0])), "gradient has length 2, expected 1");
    assert_eq!(run(&[1.0], Some(vec![f64::INFINITY])), "param[0] is inf, expected a finite number");
    assert!(run(&[1.0], None).contains("initial param"));
}

#[test]
fn a_solver_is_saved_with_the_state_of_its_rule() {
    let run = Executor::new(Cost, Stochastic::new(Adam::new(0.05).unwrap()))
        .configure(|state| state.param(START.to_vec()).max_iters(5))
        .run()
        .unwrap();
    let text = serde_json::to_string(&run.solver).unwrap();
    assert_eq!(serde_json::from_str::<Stochastic<Adam>>(&text).unwrap(), run.solver);
}
