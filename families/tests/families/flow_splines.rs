//! Conformance of spline flows: densities have kinks at knots, and scores jump there.

use mcsa_core::{Parametric, Seed};
use mcsa_families::{Activation, Coupling, CouplingMap, Flow, Gauss, Layer, Mask, Spline};
use mcsa_testing::family::{Case, batch_equals_columns, score_is_gradient, scores_have_mean_zero};

use crate::altered::meter;

const BINS: usize = 5;
const BOUND: f64 = 3.0;

/// A spline flow whose network is linear, without hidden layers.
fn flow(dim: usize) -> (Flow, Vec<f64>) {
    let map = CouplingMap::Spline(Spline { bins: BINS, bound: BOUND, ..Spline::default() });
    let coupling = Coupling { mask: Mask::Even, hidden: vec![], activation: Activation::Tanh, map };
    let flow = Flow::new(dim, Gauss, vec![Layer::Coupling(coupling)]).expect("a flow");
    let params = (0..flow.num_params()).map(|k| (1.3 * k as f64 + 0.4).sin()).collect();
    (flow, params)
}

/// Heights of the knots, given `z_1`: bins are fractions of `[-B, B]`, softmaxes above a least fraction.
fn knots(params: &[f64], z_1: &[f64]) -> Vec<f64> {
    let outputs = 3 * BINS - 1;
    let (weights, biases) = params.split_at(params.len() - outputs);
    let logit = |k: usize| biases[k] + z_1.iter().map(|z| weights[k] * z).sum::<f64>();
    let powers: Vec<f64> = (BINS..2 * BINS).map(|k| logit(k).exp()).collect();
    let total: f64 = powers.iter().sum();
    let mut height = -BOUND;
    let heights = powers.iter().map(|power| {
        height += 2.0 * BOUND * (1e-3 + (1.0 - 1e-3 * BINS as f64) * power / total);
        height
    });
    [-BOUND].into_iter().chain(heights).collect()
}

/// A case on the line, and one in the plane, where `z_0` alone moves and its knots depend on `z_1`.
fn cases() -> [Case<Flow>; 2] {
    [1, 2].map(|dim| {
        let (flow, params) = flow(dim);
        let case = Case::new(flow, params).with_draws(1 << 15);
        case.with_knots(|_, params, z, i| if i == 0 { knots(params, &z[1..]) } else { vec![] })
    })
}

mcsa_testing::family_suite!(laws, cases(), meter);

/// Negative control: knots at other places are detected, which confirms the places of the formula.
#[test]
fn knots_are_where_the_formula_puts_them() {
    let [line, _] = cases();
    let elsewhere =
        line.with_knots(|_, params, _, _| knots(params, &[]).iter().map(|knot| 1.01 * knot).collect());
    assert!(scores_have_mean_zero(&elsewhere).is_err());
}

/// One bin, many bins, bins near their least size, points exactly at knots: inverse after forward, and scores against differences.
#[test]
fn unusual_splines_are_splines() {
    for (bins, bound, size) in [(1, 2.0, 1.0), (40, 8.0, 1.0), (8, 5.0, 8.0), (3, 1e-3, 1.0), (3, 1e5, 1.0)] {
        let spline = Spline { bins, bound, ..Spline::default() };
        let map = CouplingMap::Spline(spline);
        let coupling = Coupling { mask: Mask::Even, hidden: vec![3], activation: Activation::Tanh, map };
        let flow = Flow::new(3, Gauss, vec![Layer::Coupling(coupling), Layer::ActNorm]).expect("a flow");
        let params: Vec<f64> = (0..flow.num_params()).map(|k| size * (1.3 * k as f64 + 0.4).sin()).collect();
        let case = Case::new(flow.clone(), params.clone()).with_seed(Seed::new(bins as u64));
        assert_eq!(batch_equals_columns(&case), Ok(()));
        if size < 2.0 && bound > 0.1 {
            assert_eq!(score_is_gradient(&case), Ok(()), "{bins} bins");
        }
        let mut work = vec![f64::NAN; flow.work_len(1)];
        for k in 0..=40 {
            let eps = [bound * (0.05 * f64::from(k) - 1.0), 0.7, bound * (1.0 - 0.04 * f64::from(k))];
            let (mut z, mut back, mut log_det, mut again) = ([0.0; 3], [0.0; 3], [0.0], [0.0]);
            flow.transport(
                &params,
                mcsa_core::one(&eps),
                mcsa_core::batch_mut(&mut z, 3, 1),
                &mut log_det,
                &mut work,
            );
            flow.invert(
                &params,
                mcsa_core::one(&z),
                mcsa_core::batch_mut(&mut back, 3, 1),
                &mut again,
                &mut work,
            );
            // A steep end of a spline loses as many digits as its slope has.
            let tolerance = 1e-10 * bound.max(1.0) * size;
            for (eps, back) in eps.iter().zip(back) {
                assert!((eps - back).abs() < tolerance, "{bins} bins on {bound}: {eps} {back}");
            }
            assert!((log_det[0] - again[0]).abs() < 1e-6, "{bins} bins on {bound}: {log_det:?} {again:?}");
        }
    }
}
