//! Conformance of block neural autoregressive flows, comparison with full matrices, order of coordinates, and start.

use faer::Mat;
use mcsa_core::{Parametric, Pushforward, Seed, batch_mut, one};
use mcsa_families::{Autoregressive, Base, BlockNeural, Bnaf, Flow, FlowConfig, Gauss, Layer};
use mcsa_testing::family::Case;

use crate::altered::meter;
use crate::flows::begin;

fn flow(dim: usize, flows: usize, hidden: &[usize]) -> Bnaf {
    Flow::block_neural(dim, Gauss, flows, hidden).unwrap()
}

/// Case at some distance from the start, gates included.
fn moved(q: Bnaf) -> Case<Bnaf> {
    let mut params = begin(&q);
    let mut stream = Seed::new(5).stream(0, 0);
    params.iter_mut().for_each(|param| *param += 0.3 * stream.normal());
    Case::new(q, params)
}

fn cases() -> Vec<Case<Bnaf>> {
    let shapes: [(usize, usize, &[usize]); 7] = [
        (1, 1, &[8]),
        (2, 1, &[8, 8]),
        (3, 2, &[4, 3]),
        (5, 1, &[]),
        (4, 3, &[2]),
        (2, 1, &[3, 9, 2]),
        (2, 0, &[8]),
    ];
    shapes.map(|(dim, flows, hidden)| moved(flow(dim, flows, hidden))).into()
}

mcsa_testing::family_suite!(laws_of_a_pushforward, cases(), meter, pushforward);

/// The layer alone as a flow.
fn alone(layer: &Layer, dim: usize) -> Bnaf {
    Bnaf::from_config(FlowConfig { dim, base: Base::Gauss, layers: vec![layer.clone()] }).unwrap()
}

/// `y = f(x)` of one layer, and its log-determinant.
fn run(layer: &Layer, params: &[f64], x: &[f64]) -> (Vec<f64>, f64) {
    let (q, dim) = (alone(layer, x.len()), x.len());
    let (mut y, mut log_det, mut work) = (vec![f64::NAN; dim], [0.0], vec![f64::NAN; q.work_len(1)]);
    q.transport(params, one(x), batch_mut(&mut y, dim, 1), &mut log_det, &mut work);
    (y, log_det[0])
}

/// Independent implementation of the flow from its formulas: full matrices with their zeros, and the Jacobian as their product.
/// Without the normalisation of rows it is a different flow.
fn oracle(
    params: &[f64],
    x: &[f64],
    factors: &[usize],
    gated: bool,
    normalised: bool,
) -> (Vec<f64>, Mat<f64>) {
    let dim = x.len();
    let mut rest = params;
    let mut jacobian = Mat::<f64>::identity(dim, dim);
    let mut value = x.to_vec();
    for (k, pair) in factors.windows(2).enumerate() {
        let (inputs, rows) = (pair[0], pair[1] * dim);
        let mut matrix = Mat::<f64>::zeros(rows, inputs * dim);
        for row in 0..rows {
            let block = row / pair[1];
            for entry in 0..(block + 1) * inputs {
                let w = rest[0];
                rest = &rest[1..];
                matrix[(row, entry)] = if entry < block * inputs { w } else { w.exp() };
            }
        }
        let (ws, tail) = rest.split_at(rows);
        let (bias, tail) = tail.split_at(rows);
        rest = tail;
        for row in 0..rows {
            let square: f64 = (0..inputs * dim).map(|c| matrix[(row, c)].powi(2)).sum();
            let factor = ws[row].exp() / if normalised { square.sqrt() } else { 1.0 };
            (0..inputs * dim).for_each(|c| matrix[(row, c)] *= factor);
        }
        let h: Vec<f64> = (0..rows)
            .map(|row| bias[row] + (0..inputs * dim).map(|c| matrix[(row, c)] * value[c]).sum::<f64>())
            .collect();
        jacobian = &matrix * &jacobian;
        let hidden = k + 2 < factors.len();
        value = h.iter().map(|h| if hidden { h.tanh() + 0.01 * h } else { *h }).collect();
        for row in (0..rows).filter(|_| hidden) {
            let slope = 1.0 / h[row].cosh().powi(2) + 0.01;
            (0..dim).for_each(|c| jacobian[(row, c)] *= slope);
        }
    }
    if gated {
        let g = 1.0 / (1.0 + (-rest[0]).exp());
        value = value.iter().zip(x).map(|(f, x)| g * f + (1.0 - g) * x).collect();
        jacobian = Mat::from_fn(dim, dim, |i, k| g * jacobian[(i, k)] + f64::from(i == k) * (1.0 - g));
    }
    (value, jacobian)
}

#[test]
fn it_is_the_flow_of_its_formulas() {
    for (dim, hidden) in [(1, vec![8]), (2, vec![8, 8]), (4, vec![3, 5, 2]), (3, vec![])] {
        let q = flow(dim, 2, &hidden);
        let case = moved(q.clone());
        // The first of two flows has the gate and does not reverse the order.
        let layer = q.layout()[0].0;
        let own = &case.params[..alone(layer, dim).num_params()];
        let factors = [&[1], &hidden[..], &[1]].concat();
        let mut stream = Seed::new(8).stream(0, 0);
        for _ in 0..5 {
            let x: Vec<f64> = (0..dim).map(|_| 2.0 * stream.normal()).collect();
            let (y, log_det) = run(layer, own, &x);
            let (expected, jacobian) = oracle(own, &x, &factors, true, true);
            let determinant = jacobian.determinant().ln();
            assert!((log_det - determinant).abs() < 1e-11, "{log_det} {determinant}");
            for (y, expected) in y.iter().zip(&expected) {
                assert!((y - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{y} {expected}");
            }
            let (_, jacobian) = oracle(own, &x, &factors, true, false);
            assert!((log_det - jacobian.determinant().ln()).abs() > 1e-2, "rows are normalised");
        }
    }
}

/// A reversed layer is the layer on the coordinates from the last to the first, to the bit.
#[test]
fn reversed_layers_read_the_coordinates_backwards() {
    let block = |reversed| Layer::BlockNeural(BlockNeural { reversed, ..BlockNeural::default() });
    let affine = |reversed| Layer::Autoregressive(Autoregressive { reversed, ..Autoregressive::default() });
    let backwards = |x: &[f64]| -> Vec<f64> { x.iter().rev().copied().collect() };
    let mut stream = Seed::new(9).stream(0, 0);
    for [layer, reversed] in [[block(false), block(true)], [affine(false), affine(true)]] {
        let mut params = alone(&layer, 5).start(&mut stream).unwrap();
        params.iter_mut().for_each(|param| *param += 0.3 * stream.normal());
        let x: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
        let ((y, log_det), (again, same)) =
            (run(&layer, &params, &x), run(&reversed, &params, &backwards(&x)));
        assert_eq!((backwards(&again), same), (y.clone(), log_det));
        assert_ne!(run(&reversed, &params, &x).0, y);
    }
}

/// At the start: slope 1 and value 0 at the centre; off the identity by at most 3 per cent one scale away and a tenth three scales
/// away.
#[test]
fn a_fit_begins_near_the_gaussian() {
    for (dim, flows, hidden) in [(1, 1, vec![8, 8]), (4, 1, vec![8, 8]), (3, 3, vec![16]), (2, 1, vec![])] {
        let q = flow(dim, flows, &hidden);
        let params = begin(&q);
        for (layer, range) in q.layout().into_iter().take(flows) {
            let own = &params[range];
            let (y, log_det) = run(layer, own, &vec![0.0; dim]);
            assert!(log_det.abs() < 1e-12 && y.iter().all(|y| y.abs() < 1e-12));
            for (t, bound) in [(-3.0, 0.1), (-1.0, 0.03), (0.1, 0.01), (1.0, 0.03), (3.0, 0.1)] {
                let (y, _) = run(layer, own, &vec![t; dim]);
                let worst = y.iter().map(|y| (y / t - 1.0).abs()).fold(0.0, f64::max);
                assert!(worst < bound, "{t}: {worst}");
            }
        }
    }
}

/// Noise of a million in every coordinate has a finite image with finite gradients.
#[test]
fn far_away_everything_is_finite() {
    for (case, factor) in cases().into_iter().flat_map(|case| [(case.clone(), 1.0), (case, 8.0)]) {
        let (q, dim, mut params) = (&case.family, case.family.dim(), case.params.clone());
        let location = params.len() - 2 * dim;
        params[..location].iter_mut().for_each(|param| *param *= factor);
        let far = Mat::from_fn(dim, 2, |i, j| if (i + j * dim) % 2 == 0 { 1e6 } else { -1e6 });
        let (mut z, mut log_q) = (Mat::full(dim, 2, f64::NAN), [f64::NAN; 2]);
        let (mut gradient, mut work) = (vec![0.0; params.len()], vec![f64::NAN; q.work_len(2)]);
        q.push(&params, far.as_ref(), z.as_mut(), &mut log_q, &mut work);
        q.add_push_gradients(&params, far.as_ref(), far.as_ref(), &[1.0; 2], &mut gradient, &mut work);
        let image = (0..2).flat_map(|j| z.col_as_slice(j));
        assert!(image.chain(&log_q).chain(&gradient).all(|x| x.is_finite()));
    }
}

/// Nine layers of scale `e^-95`: a product of slopes would underflow to zero; the sum of their logarithms is -855 plus eight
/// activations.
#[test]
fn tiny_slopes_are_not_lost() {
    let q = flow(1, 1, &[1; 8]);
    let layer = q.layout()[0].0;
    let params: Vec<f64> = (0..9).flat_map(|_| [0.0, -95.0, 0.0]).collect();
    let (_, log_det) = run(layer, &params, &[0.3]);
    assert!((log_det - (-855.0 + 8.0 * 1.01_f64.ln())).abs() < 1e-11, "{log_det}");
    assert_eq!(log_det.exp(), 0.0);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let q = flow(2, 2, &[3]);
    let good = begin(&q);
    assert_eq!(q.check(&good), Ok(()));
    // A weight of the own coordinate, a ws, a weight of an earlier coordinate, a scale, a NaN.
    for (k, value) in [(0, 200.0), (9, -200.0), (3, 1e200), (good.len() - 2, -800.0), (4, f64::NAN)] {
        let mut bad = good.clone();
        bad[k] = value;
        assert!(q.check(&bad).is_err(), "params[{k}] = {value}");
    }
    let mut large = good.clone();
    large[3] = 200.0;
    assert_eq!(q.check(&large), Ok(()), "a weight of an earlier coordinate may be any number");
    let mut wrong = good;
    wrong[0] = 200.0;
    let message = q.check(&wrong).unwrap_err().to_string();
    assert!(message.starts_with("layer 0 of a flow: block layer 0: W of the own"), "{message}");
    assert!(q.check(&[0.0]).is_err());
}
