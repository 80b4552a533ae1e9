//! Conformance suite on the volatility models.

use mcsa_core::{Seed, Stream};
use mcsa_models::StockVolatility;
use mcsa_particles::{FirstState, FxVolatility, Theta};
use mcsa_testing::model::Case;

fn meter(call: &mut dyn FnMut()) -> u64 {
    allocation_counter::measure(call).count_total
}

fn series(length: usize, stream: &mut Stream) -> Vec<f64> {
    let theta = Theta { mu: -0.3, atanh_phi: 0.95_f64.atanh(), log_sigma: -1.5, log_beta: 0.0 };
    let model = FxVolatility::new(vec![], theta).expect("finite");
    let (mut z, mut returns) = (vec![0.0; length + 1], vec![0.0; length]);
    model.simulate_into(stream, &mut z, &mut returns);
    returns
}

fn stocks() -> Vec<Case<StockVolatility>> {
    let mut stream = Seed::new(3).stream(0, 0);
    let mut case = |length, spread| {
        Case::new(StockVolatility::new(series(length, &mut stream)).expect("finite"))
            .with_spread(spread)
            .with_probes(if length > 1000 { 1024 } else { 1 << 14 })
    };
    vec![case(0, 1.0), case(1, 1.0), case(2, 1.0), case(9, 1.0), case(50, 0.5), case(2610, 0.2)]
}

mcsa_testing::model_suite!(stock, stocks().into_iter().map(crate::printed), meter, gradient separable constrained);

fn fx() -> Vec<Case<FxVolatility>> {
    let mut stream = Seed::new(4).stream(0, 0);
    let mut case = |length, phi: f64| {
        let theta = Theta { mu: 0.4, atanh_phi: phi.atanh(), log_sigma: -0.7, log_beta: -1.0 };
        Case::new(FxVolatility::new(series(length, &mut stream), theta).expect("finite"))
    };
    let mut cases = vec![case(0, 0.5), case(1, -0.9), case(8, 0.0), case(119, 0.97), case(4, 0.6)];
    let printed = cases.pop().map(|case| Case::new(case.target.with_first(FirstState::Zero)));
    cases.extend(printed);
    cases
}

mcsa_testing::model_suite!(currency, fx(), meter, gradient curvature separable);
