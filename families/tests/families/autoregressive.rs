//! Conformance of masked and inverse autoregressive flows, and their duality.

use mcsa_core::{Parametric, Seed, batch_mut, one};
use mcsa_families::{Autoregressive, Flow, Gauss, Layer};
use mcsa_testing::family::{self as laws, Case};

use crate::altered::meter;
use crate::flows::begin;

fn layer(hidden: &[usize], inverse: bool, reversed: bool) -> Layer {
    Layer::Autoregressive(Autoregressive { hidden: hidden.to_vec(), bound: 2.0, inverse, reversed })
}

fn flow((dim, layers, hidden): (usize, usize, &[usize]), inverse: bool) -> Flow {
    let layers = (0..layers).map(|k| layer(hidden, inverse, k % 2 == 1));
    Flow::new(dim, Gauss, layers.chain([Layer::ActNorm]).collect()).unwrap()
}

/// Dimensions, numbers of layers, and hidden units: no hidden layer, fewer units than coordinates, one coordinate, no layer at all.
const SHAPES: [(usize, usize, &[usize]); 7] = [
    (1, 2, &[5]),
    (2, 2, &[6]),
    (2, 1, &[]),
    (3, 3, &[7, 4]),
    (6, 2, &[3, 17]),
    (11, 1, &[24, 24]),
    (2, 0, &[4]),
];

/// Parameters at some distance from the start.
fn moved(mut params: Vec<f64>) -> Vec<f64> {
    let mut stream = Seed::new(5).stream(0, 0);
    let size = 3.0 / (params.len() as f64).sqrt();
    params.iter_mut().for_each(|param| *param += size.min(0.4) * stream.normal());
    params
}

fn case(q: Flow) -> Case<Flow> {
    let params = moved(begin(&q));
    Case { draws: 1 << 15, ..Case::new(q, params) }
}

fn maf() -> Vec<Case<Flow>> {
    SHAPES.map(|shape| case(flow(shape, false))).into()
}

fn iaf() -> Vec<Case<Flow>> {
    SHAPES.map(|shape| case(flow(shape, true))).into()
}

mcsa_testing::family_suite!(maf_family, maf(), meter);
mcsa_testing::family_suite!(maf_pushforward, maf(), meter, pushforward);
mcsa_testing::family_suite!(iaf_family, iaf(), meter);
mcsa_testing::family_suite!(iaf_pushforward, iaf(), meter, pushforward);

#[test]
fn what_is_pushed_knows_its_density() {
    maf().iter().for_each(|case| assert_eq!(laws::push_knows_its_density(case), Ok(())));
    iaf().iter().for_each(|case| assert_eq!(laws::push_knows_its_density(case), Ok(())));
}

/// With the same networks, a layer of MAF contracts where a layer of IAF at the same parameters expands.
#[test]
fn an_affine_layer_the_other_way_round_is_its_dual() {
    let (dim, mut stream) = (5, Seed::new(2).stream(0, 0));
    let [maf, iaf] =
        [false, true].map(|inverse| Flow::new(dim, Gauss, vec![layer(&[16], inverse, false)]).unwrap());
    let params = moved(maf.start(&mut stream).unwrap());
    let point: Vec<f64> = (0..dim).map(|_| stream.normal()).collect();
    let mut work = vec![f64::NAN; maf.work_len(1)];
    let [mut x, mut y] = [vec![f64::NAN; dim], vec![f64::NAN; dim]];
    let (mut pressed, mut stretched) = ([0.0], [0.0]);
    maf.invert(&params, one(&point), batch_mut(&mut x, dim, 1), &mut pressed, &mut work);
    iaf.transport(&params, one(&point), batch_mut(&mut y, dim, 1), &mut stretched, &mut work);
    assert_eq!(pressed, stretched);
    // x = (p - m) e^-s and y = m + e^s p: so e^s = (y - p) / (p - x), whatever m is.
    let log_scales = (0..dim).map(|i| ((y[i] - point[i]) / (point[i] - x[i])).ln());
    assert!((log_scales.sum::<f64>() - stretched[0]).abs() < 1e-10);
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(Flow::masked_autoregressive(0, Gauss, 2, &[32]).is_err());
    let error = Flow::inverse_autoregressive(2, Gauss, 1, &[4, 0]).unwrap_err().to_string();
    assert_eq!(error, "layer 0 of a flow: hidden layer 1 has no units, expected at least 1");
    for (bound, message) in [
        (0.0, "layer 0 of a flow: bound is 0, expected positive and at most 100"),
        (f64::NAN, "layer 0 of a flow: bound is NaN, expected positive and at most 100"),
    ] {
        let config = Autoregressive { bound, ..Autoregressive::default() };
        let error = Flow::new(2, Gauss, vec![Layer::Autoregressive(config)]).unwrap_err().to_string();
        assert_eq!(error, message);
    }
    let parse = |text| serde_json::from_str::<Autoregressive>(text);
    assert_eq!(parse(r#"{"bound": 1.0}"#).unwrap(), Autoregressive { bound: 1.0, ..Default::default() });
    assert!(parse(r#"{"depth": 4}"#).is_err());
}
