//! Conformance of flows, as families and as pushforwards.

use mcsa_core::Parametric;
use mcsa_families::{
    Activation, Affine, Base, Coupling, CouplingMap, Fixed, Flow, Gauss, Layer, Learned, Mask, Permutation,
    Spline,
};
use mcsa_testing::family::{Case, Map, push_knows_its_density};

use crate::altered::meter;

fn affine(mask: Mask, hidden: &[usize], activation: Activation) -> Layer {
    let map = CouplingMap::Affine(Affine { bound: 1.5 });
    Layer::Coupling(Coupling { mask, hidden: hidden.to_vec(), activation, map })
}

fn spline(mask: Mask, hidden: &[usize]) -> Layer {
    let map = CouplingMap::Spline(Spline { bins: 4, bound: 3.0, ..Spline::default() });
    Layer::Coupling(Coupling { mask, hidden: hidden.to_vec(), activation: Activation::Tanh, map })
}

/// Case at parameters far from the start.
fn case<B: Base>(flow: Flow<B>) -> Case<Flow<B>> {
    let len = flow.num_params();
    let params = (0..len).map(|k| 0.5 * (1.3 * k as f64 + 0.4).sin()).collect();
    Case::new(flow, params).with_draws(1 << 15)
}

fn flow<B: Base>(dim: usize, base: B, layers: Vec<Layer>) -> Case<Flow<B>> {
    case(Flow::new(dim, base, layers).expect("a flow"))
}

fn real_nvp<B: Base>(dim: usize, base: B) -> Case<Flow<B>> {
    case(Flow::real_nvp(dim, base, 2 * dim.min(2), &[5]).expect("a flow"))
}

fn gaussian() -> Vec<Case<Flow>> {
    let shuffled = Layer::Permutation(Permutation::Random { seed: 3 });
    let reversed = Layer::Permutation(Permutation::Reverse);
    let two = || affine(Mask::Even, &[4], Activation::Tanh);
    vec![
        real_nvp(1, Gauss),
        real_nvp(2, Gauss),
        real_nvp(5, Gauss),
        flow(1, Gauss, vec![]),
        flow(2, Gauss, vec![Layer::ActNorm, two(), Layer::Linear, two(), reversed.clone(), Layer::ActNorm]),
        flow(
            5,
            Gauss,
            vec![
                Layer::ActNorm,
                affine(Mask::Random { seed: 1 }, &[6, 7], Activation::Elu),
                Layer::Linear,
                shuffled,
                affine(Mask::Random { seed: 2 }, &[], Activation::Relu),
                affine(Mask::Odd, &[17], Activation::Relu),
                reversed,
                Layer::Linear,
            ],
        ),
        flow(
            5,
            Gauss,
            vec![
                spline(Mask::Even, &[6]),
                affine(Mask::Odd, &[9], Activation::Tanh),
                spline(Mask::Odd, &[6]),
                Layer::Linear,
            ],
        ),
    ]
}

fn student() -> Vec<Case<Flow<Fixed>>> {
    let dof = Fixed::new(4.0).expect("four degrees");
    let cases = vec![real_nvp(1, dof), real_nvp(2, dof), real_nvp(5, dof)];
    cases.into_iter().map(|case| case.with_map(Map::SinhSinh)).collect()
}

fn learned() -> Vec<Case<Flow<Learned>>> {
    let dof = Learned::above(2.0).expect("a floor");
    let cases = vec![real_nvp(1, dof), real_nvp(2, dof), real_nvp(5, dof)];
    cases.into_iter().map(|case| case.with_map(Map::SinhSinh)).collect()
}

/// Spline flows in dimensions where quadrature is not used: their densities have kinks at knots, between which `flow_splines.rs`
/// integrates.
fn splines() -> Vec<Case<Flow>> {
    vec![
        flow(5, Gauss, vec![spline(Mask::Even, &[6]), spline(Mask::Odd, &[6]), Layer::ActNorm]),
        flow(3, Gauss, vec![spline(Mask::Random { seed: 4 }, &[]), Layer::Linear, spline(Mask::Odd, &[6])]),
    ]
}

mcsa_testing::family_suite!(of_splines, splines(), meter);
mcsa_testing::family_suite!(of_splines_pushed, splines(), meter, pushforward);
mcsa_testing::family_suite!(on_a_gaussian, gaussian(), meter);
mcsa_testing::family_suite!(on_a_student, student(), meter);
mcsa_testing::family_suite!(on_a_learned_student, learned(), meter);
mcsa_testing::family_suite!(pushed_from_a_gaussian, gaussian(), meter, pushforward);
mcsa_testing::family_suite!(pushed_from_a_student, student(), meter, pushforward);

#[test]
fn both_sides_of_a_flow_agree() {
    gaussian().iter().for_each(|case| assert_eq!(push_knows_its_density(case), Ok(())));
    student().iter().for_each(|case| assert_eq!(push_knows_its_density(case), Ok(())));
}
