//! Splines integrate to one exactly. Their densities have kinks at knots and their scores jump there, where the trapezoidal rule of
//! the conformance suite converges slowly: here a Gaussian rule runs between them.

use mcsa::{Family, Seed};
use mcsa_families::conformance::{Case, batch_equals_columns, score_is_gradient};
use mcsa_families::{Activation, Coupling, CouplingMap, Flow, Gauss, Layer, Mask, Spline};

/// Nodes and weights of Gauss and Legendre's rule of five points on `[-1, 1]`.
const RULE: [(f64, f64); 5] = [
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683, 0.478_628_670_499_366_5),
    (-0.538_469_310_105_683, 0.478_628_670_499_366_5),
    (0.906_179_845_938_664, 0.236_926_885_056_189_08),
    (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
];

fn rule(f: &dyn Fn(f64) -> Vec<f64>, low: f64, high: f64) -> Vec<f64> {
    let (centre, half) = (0.5 * (low + high), 0.5 * (high - low));
    let values = RULE.map(|(node, weight)| (f(centre + half * node), half * weight));
    (0..values[0].0.len()).map(|k| values.iter().map(|(value, weight)| weight * value[k]).sum()).collect()
}

/// The integral over the line, between knots at these heights and in 256 pieces each.
fn integral(f: &dyn Fn(f64) -> Vec<f64>, knots: &[f64]) -> Vec<f64> {
    let ends: Vec<f64> = [-10.0].into_iter().chain(knots.iter().copied()).chain([10.0]).collect();
    let mut total = vec![0.0; f(0.0).len()];
    for pair in ends.windows(2) {
        let step = (pair[1] - pair[0]) / 256.0;
        for k in 0..256 {
            let low = pair[0] + f64::from(k) * step;
            rule(f, low, low + step).iter().zip(&mut total).for_each(|(part, total)| *total += part);
        }
    }
    total
}

const BINS: usize = 5;
const BOUND: f64 = 3.0;

/// A spline whose network is linear: without hidden layers.
fn flow(dim: usize) -> (Flow, Vec<f64>) {
    let map = CouplingMap::Spline(Spline { bins: BINS, bound: BOUND, ..Spline::default() });
    let coupling = Coupling { mask: Mask::Even, hidden: vec![], activation: Activation::Tanh, map };
    let flow = Flow::new(dim, Gauss, vec![Layer::Coupling(coupling)]).expect("a flow");
    let params = (0..Family::num_params(&flow)).map(|k| (1.3 * k as f64 + 0.4).sin()).collect();
    (flow, params)
}

/// The heights of the knots, where the others say `z_1`: bins are shares of `[-B, B]`, softmaxes above a least share.
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

/// `q` and `q` times the score, at a point.
fn mass_and_score(flow: &Flow, params: &[f64], z: &[f64]) -> Vec<f64> {
    let mut work = vec![f64::NAN; Family::work_len(flow, 1)];
    let q = flow.log_prob(params, z, &mut work).exp();
    let mut values = vec![0.0; params.len()];
    flow.add_score(params, z, q, &mut values, &mut work);
    values.push(q);
    values
}

/// Ten times as exact as the suite asks elsewhere. On the line: mass 1, mean score 0. In the plane only `z_0` moves, so that the integral over it is the Gaussian of `z_1`, and that
/// of the score times `q` is 0, whatever `z_1`.
#[test]
fn a_spline_integrates_to_one() {
    let (line, params) = flow(1);
    let totals = integral(&|z| mass_and_score(&line, &params, &[z]), &knots(&params, &[]));
    let (mass, scores) = totals.split_last().unwrap();
    assert!((mass - 1.0).abs() < 1e-12, "{mass}");
    assert!(scores.iter().all(|score| score.abs() < 1e-10), "{scores:?}");
    // The twin: knots elsewhere are seen, so they are where the formula puts them.
    let elsewhere: Vec<f64> = knots(&params, &[]).iter().map(|knot| 1.01 * knot).collect();
    let totals = integral(&|z| mass_and_score(&line, &params, &[z]), &elsewhere);
    assert!(totals.iter().take(params.len()).any(|score| score.abs() > 1e-6), "{totals:?}");

    let (plane, params) = flow(2);
    for z_1 in [-0.8, 0.1, 1.5] {
        let totals = integral(&|z| mass_and_score(&plane, &params, &[z, z_1]), &knots(&params, &[z_1]));
        let (mass, scores) = totals.split_last().unwrap();
        let gaussian = (-0.5 * z_1 * z_1).exp() / (2.0 * std::f64::consts::PI).sqrt();
        assert!((mass - gaussian).abs() < 1e-12, "{mass} {gaussian}");
        assert!(scores.iter().all(|score| score.abs() < 1e-10), "{scores:?}");
    }
}

/// One bin, many bins, bins near their least size, knots hit exactly: there and back, and scores against differences.
#[test]
fn unusual_splines_are_splines() {
    for (bins, bound, size) in [(1, 2.0, 1.0), (40, 8.0, 1.0), (8, 5.0, 8.0), (3, 1e-3, 1.0), (3, 1e5, 1.0)] {
        let spline = Spline { bins, bound, ..Spline::default() };
        let map = CouplingMap::Spline(spline);
        let coupling = Coupling { mask: Mask::Even, hidden: vec![3], activation: Activation::Tanh, map };
        let flow = Flow::new(3, Gauss, vec![Layer::Coupling(coupling), Layer::ActNorm]).expect("a flow");
        let params: Vec<f64> =
            (0..Family::num_params(&flow)).map(|k| size * (1.3 * k as f64 + 0.4).sin()).collect();
        let case = Case::new(flow.clone(), params.clone()).with_seed(Seed::new(bins as u64));
        assert_eq!(batch_equals_columns(&case), Ok(()));
        if size < 2.0 && bound > 0.1 {
            assert_eq!(score_is_gradient(&case), Ok(()), "{bins} bins");
        }
        let mut work = vec![f64::NAN; Family::work_len(&flow, 1)];
        for k in 0..=40 {
            let eps = [bound * (0.05 * f64::from(k) - 1.0), 0.7, bound * (1.0 - 0.04 * f64::from(k))];
            let (mut z, mut back, mut log_det, mut again) = ([0.0; 3], [0.0; 3], [0.0], [0.0]);
            flow.transport(&params, mcsa::one(&eps), mcsa::batch_mut(&mut z, 3, 1), &mut log_det, &mut work);
            flow.invert(&params, mcsa::one(&z), mcsa::batch_mut(&mut back, 3, 1), &mut again, &mut work);
            // A steep end of a spline loses as many digits as its slope has.
            let tolerance = 1e-10 * bound.max(1.0) * size;
            for (eps, back) in eps.iter().zip(back) {
                assert!((eps - back).abs() < tolerance, "{bins} bins on {bound}: {eps} {back}");
            }
            assert!((log_det[0] - again[0]).abs() < 1e-6, "{bins} bins on {bound}: {log_det:?} {again:?}");
        }
    }
}
