//! Conformance of flows, as families and as pushforwards: couplings, splines (densities have kinks at knots, and scores jump there),
//! autoregressive layers and their duality.

use mcsa_core::{Parametric, Seed, batch_mut, one};
use mcsa_families::{
    Affine, Autoregressive, Base, Coupling, CouplingMap, Fixed, Flow, Gauss, Layer, Mask, Spline,
};
use mcsa_testing::family::{
    Case, Map, batch_equals_columns, push_knows_its_density, score_is_gradient, scores_have_mean_zero,
};

use crate::altered::meter;

fn affine(mask: Mask, hidden: &[usize]) -> Layer {
    let map = CouplingMap::Affine(Affine { bound: 1.5 });
    Layer::Coupling(Coupling { mask, hidden: hidden.to_vec(), map })
}

fn spline(mask: Mask, hidden: &[usize]) -> Layer {
    let map = CouplingMap::Spline(Spline { bins: 4, bound: 3.0 });
    Layer::Coupling(Coupling { mask, hidden: hidden.to_vec(), map })
}

fn autoregressive(hidden: &[usize], inverse: bool, reversed: bool) -> Layer {
    Layer::Autoregressive(Autoregressive { hidden: hidden.to_vec(), bound: 2.0, inverse, reversed })
}

/// Case at parameters far from the start.
fn case(flow: Flow) -> Case<Flow> {
    let len = flow.num_params();
    let params = (0..len).map(|k| 0.5 * (1.3 * k as f64 + 0.4).sin()).collect();
    Case { draws: 1 << 15, ..Case::new(flow, params) }
}

fn flow(dim: usize, base: impl Into<Base>, layers: Vec<Layer>) -> Case<Flow> {
    case(Flow::new(dim, base, layers).expect("a flow"))
}

fn real_nvp(dim: usize, base: impl Into<Base>) -> Case<Flow> {
    case(Flow::real_nvp(dim, base, 2 * dim.min(2), &[5]).expect("a flow"))
}

fn gaussian() -> Vec<Case<Flow>> {
    let two = || affine(Mask::Even, &[4]);
    let five = [(Mask::Even, &[6, 7][..]), (Mask::Odd, &[]), (Mask::Odd, &[17])];
    let [first, second, third] = five.map(|(mask, hidden)| affine(mask, hidden));
    let (bent, other) = (spline(Mask::Even, &[6]), spline(Mask::Odd, &[6]));
    vec![
        real_nvp(1, Gauss),
        real_nvp(2, Gauss),
        real_nvp(5, Gauss),
        flow(1, Gauss, vec![]),
        flow(2, Gauss, vec![Layer::ActNorm, two(), Layer::Linear, two(), Layer::ActNorm]),
        flow(5, Gauss, vec![Layer::ActNorm, first, Layer::Linear, second, third, Layer::Linear]),
        flow(5, Gauss, vec![bent, affine(Mask::Odd, &[9]), other, Layer::Linear]),
    ]
}

fn student() -> Vec<Case<Flow>> {
    let dof = Fixed::new(4.0).expect("four degrees");
    let cases = vec![real_nvp(1, dof), real_nvp(2, dof), real_nvp(5, dof)];
    cases.into_iter().map(|case| case.with_map(Map::SinhSinh)).collect()
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

/// Masked autoregressive flows and inverse ones.
fn autoregressive_flows() -> Vec<Case<Flow>> {
    let flow = |(dim, layers, hidden): (usize, usize, &[usize]), inverse| {
        let layers = (0..layers).map(|k| autoregressive(hidden, inverse, k % 2 == 1));
        Flow::new(dim, Gauss, layers.chain([Layer::ActNorm]).collect()).unwrap()
    };
    let flows = SHAPES.into_iter().flat_map(|shape| [flow(shape, false), flow(shape, true)]);
    flows.map(|q| Case { draws: 1 << 15, params: moved(begin(&q)), ..Case::new(q, vec![]) }).collect()
}

/// Parameters at some distance from the start.
fn moved(mut params: Vec<f64>) -> Vec<f64> {
    let mut stream = Seed::new(5).stream(0, 0);
    let size = 3.0 / (params.len() as f64).sqrt();
    params.iter_mut().for_each(|param| *param += size.min(0.4) * stream.normal());
    params
}

mcsa_testing::family_suite!(on_a_gaussian, gaussian(), meter);
mcsa_testing::family_suite!(on_a_student, student(), meter);
mcsa_testing::family_suite!(pushed_from_a_gaussian, gaussian(), meter, pushforward);
mcsa_testing::family_suite!(pushed_from_a_student, student(), meter, pushforward);
mcsa_testing::family_suite!(by_autoregressive_layers, autoregressive_flows(), meter);
mcsa_testing::family_suite!(pushed_by_autoregressive_layers, autoregressive_flows(), meter, pushforward);

#[test]
fn both_sides_of_a_flow_agree() {
    let cases = [gaussian(), student(), autoregressive_flows()].concat();
    cases.iter().for_each(|case| assert_eq!(push_knows_its_density(case), Ok(())));
}

const BINS: usize = 5;
const BOUND: f64 = 3.0;

/// A spline flow whose network is linear, without hidden layers.
fn linear_spline(dim: usize) -> (Flow, Vec<f64>) {
    let map = CouplingMap::Spline(Spline { bins: BINS, bound: BOUND });
    let coupling = Coupling { mask: Mask::Even, hidden: vec![], map };
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
fn with_knots() -> [Case<Flow>; 2] {
    [1, 2].map(|dim| {
        let (flow, params) = linear_spline(dim);
        let case = Case { draws: 1 << 15, ..Case::new(flow, params) };
        case.with_knots(|_, params, z, i| if i == 0 { knots(params, &z[1..]) } else { vec![] })
    })
}

mcsa_testing::family_suite!(with_kinks, with_knots(), meter);

/// Negative control: knots at other places are detected, which confirms the places of the formula.
#[test]
fn knots_are_where_the_formula_puts_them() {
    let [line, _] = with_knots();
    let elsewhere =
        line.with_knots(|_, params, _, _| knots(params, &[]).iter().map(|knot| 1.01 * knot).collect());
    assert!(scores_have_mean_zero(&elsewhere).is_err());
}

/// One bin, many bins, bins near their least size, points exactly at knots: inverse after forward, and scores against differences.
#[test]
fn unusual_splines_are_splines() {
    for (bins, bound, size) in [(1, 2.0, 1.0), (40, 8.0, 1.0), (8, 5.0, 8.0), (3, 1e-3, 1.0), (3, 1e5, 1.0)] {
        let map = CouplingMap::Spline(Spline { bins, bound });
        let coupling = Coupling { mask: Mask::Even, hidden: vec![3], map };
        let flow = Flow::new(3, Gauss, vec![Layer::Coupling(coupling), Layer::ActNorm]).expect("a flow");
        let params: Vec<f64> = (0..flow.num_params()).map(|k| size * (1.3 * k as f64 + 0.4).sin()).collect();
        let case = Case { seed: Seed::new(bins as u64), ..Case::new(flow.clone(), params.clone()) };
        assert_eq!(batch_equals_columns(&case), Ok(()));
        if size < 2.0 && bound > 0.1 {
            assert_eq!(score_is_gradient(&case), Ok(()), "{bins} bins");
        }
        let mut work = vec![f64::NAN; flow.work_len(1)];
        for k in 0..=40 {
            let eps = [bound * (0.05 * f64::from(k) - 1.0), 0.7, bound * (1.0 - 0.04 * f64::from(k))];
            let (mut z, mut back, mut log_det, mut again) = ([0.0; 3], [0.0; 3], [0.0], [0.0]);
            flow.transport(&params, one(&eps), batch_mut(&mut z, 3, 1), &mut log_det, &mut work);
            flow.invert(&params, one(&z), batch_mut(&mut back, 3, 1), &mut again, &mut work);
            // A steep end of a spline loses as many digits as its slope has.
            let tolerance = 1e-10 * bound.max(1.0) * size;
            for (eps, back) in eps.iter().zip(back) {
                assert!((eps - back).abs() < tolerance, "{bins} bins on {bound}: {eps} {back}");
            }
            assert!((log_det[0] - again[0]).abs() < 1e-6, "{bins} bins on {bound}: {log_det:?} {again:?}");
        }
    }
}

/// With the same networks, a layer of MAF contracts where a layer of IAF at the same parameters expands.
#[test]
fn an_affine_layer_the_other_way_round_is_its_dual() {
    let (dim, mut stream) = (5, Seed::new(2).stream(0, 0));
    let [maf, iaf] = [false, true]
        .map(|inverse| Flow::new(dim, Gauss, vec![autoregressive(&[16], inverse, false)]).unwrap());
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

/// Parameters at the start of a fit to a Gaussian with unequal means and scales.
pub(crate) fn begin<const INVERTIBLE: bool>(q: &Flow<INVERTIBLE>) -> Vec<f64> {
    let dim = Parametric::dim(q);
    let (mean, scales): (Vec<f64>, Vec<f64>) =
        (0..dim).map(|i| (0.3 * i as f64 - 0.2, 0.7 + 0.2 * i as f64)).unzip();
    q.start_at(&mean, &scales, &mut Seed::new(2).stream(0, 0)).unwrap()
}
