//! Flows: exact inverses, log-determinants, start at the base, and finite numbers far away.

use faer::{Mat, mat};
use mcsa_core::{Columns, Family, Parametric, Pushforward, Seed, Stream};
use mcsa_families::{
    Affine, Autoregressive, Base, BlockNeural, Bnaf, Coupling, CouplingMap, Fixed, Flow, FlowConfig,
    FullRank, Gauss, Layer, Mask, MeanField, MultivariateT, Spline,
};

fn stream() -> Stream {
    Seed::new(5).stream(0, 0)
}

fn coupling(mask: Mask, map: CouplingMap) -> Layer {
    Layer::Coupling(Coupling { mask, hidden: vec![7, 6], map })
}

fn autoregressive(inverse: bool) -> Layer {
    let config = Autoregressive { hidden: vec![6], bound: 1.0, inverse, reversed: inverse };
    Layer::Autoregressive(config)
}

/// A flow with every kind of layer that has an inverse.
fn everything(dim: usize, base: impl Into<Base>) -> Flow {
    let (affine, spline) = (CouplingMap::Affine(Affine::default()), CouplingMap::Spline(Spline::default()));
    let other = Mask::alternating(dim).nth(1).expect("masks without end");
    let layers = vec![
        coupling(Mask::Even, spline),
        coupling(other, affine),
        Layer::Linear,
        coupling(Mask::Even, affine),
        Layer::ActNorm,
        autoregressive(false),
        autoregressive(true),
        coupling(other, spline),
        Layer::Linear,
    ];
    Flow::new(dim, base, layers).expect("a flow")
}

fn somewhere(flow: &Flow) -> Vec<f64> {
    (0..flow.num_params()).map(|k| 0.4 * (1.3 * k as f64 + 0.4).sin()).collect()
}

fn noise(dim: usize, columns: usize) -> Mat<f64> {
    let mut stream = stream();
    Mat::from_fn(dim, columns, |_, _| 1.5 * stream.normal())
}

fn memory(flow: &Flow, columns: usize) -> Vec<f64> {
    vec![f64::NAN; flow.work_len(columns)]
}

fn transport(flow: &Flow, params: &[f64], noise: &Mat<f64>) -> (Mat<f64>, Vec<f64>) {
    let (mut z, mut log_det) = (Mat::zeros(noise.nrows(), noise.ncols()), vec![f64::NAN; noise.ncols()]);
    flow.transport(params, noise.as_ref(), z.as_mut(), &mut log_det, &mut memory(flow, noise.ncols()));
    (z, log_det)
}

/// Forward then inverse, and inverse then forward, are the identity within 1e-10; for more points than a block holds.
#[test]
fn the_inverse_is_the_inverse() {
    for dim in [1, 2, 5, 10] {
        let flow = everything(dim, Gauss);
        let (params, eps) = (somewhere(&flow), noise(dim, 107));
        let (z, log_det) = transport(&flow, &params, &eps);
        let (mut back, mut log_back) = (Mat::zeros(dim, 107), vec![f64::NAN; 107]);
        flow.invert(&params, z.as_ref(), back.as_mut(), &mut log_back, &mut memory(&flow, 107));
        for j in 0..107 {
            assert!((log_det[j] - log_back[j]).abs() < 1e-10, "dimension {dim}, point {j}");
            for i in 0..dim {
                let gap = (back[(i, j)] - eps[(i, j)]).abs();
                assert!(gap < 1e-10 * (1.0 + eps[(i, j)].abs()), "dimension {dim}, point {j}: {gap:e}");
            }
        }
        // Negative control: the inverse at a lambda of which one parameter differs by a millionth is not the inverse.
        let mut other = params.clone();
        *other.last_mut().expect("a param") += 1e-6;
        other[0] += 1e-6;
        flow.invert(&other, z.as_ref(), back.as_mut(), &mut log_back, &mut memory(&flow, 107));
        assert!((&back - &eps).norm_max() > 1e-8, "dimension {dim}");
        let (mut inner, mut logs) = (Mat::zeros(dim, 107), vec![f64::NAN; 107]);
        flow.invert(&params, eps.as_ref(), inner.as_mut(), &mut logs, &mut memory(&flow, 107));
        let (again, _) = transport(&flow, &params, &inner);
        assert!((&again - &eps).norm_max() < 1e-10, "dimension {dim}");
    }
}

/// A batch of more than two blocks has the bits of its points alone; so have sums of scores.
#[test]
fn blocks_are_not_seen() {
    let flow = everything(5, Gauss);
    let (params, eps) = (somewhere(&flow), noise(5, 101));
    let (z, _) = transport(&flow, &params, &eps);
    let mut log_q = vec![f64::NAN; 101];
    flow.log_probs(&params, z.as_ref(), &mut log_q, &mut memory(&flow, 101));
    let (mut together, mut alone) = (vec![0.1; params.len()], vec![0.1; params.len()]);
    flow.add_scores(&params, z.as_ref(), &log_q, &mut together, &mut memory(&flow, 101));
    let (mut pushed, mut pushed_alone) = (together.clone(), together.clone());
    flow.add_push_gradients(&params, eps.as_ref(), z.as_ref(), &log_q, &mut pushed, &mut memory(&flow, 101));
    for (j, &log_q) in log_q.iter().enumerate() {
        let mut work = memory(&flow, 1);
        assert_eq!(flow.log_prob(&params, z.as_ref().column(j), &mut work).to_bits(), log_q.to_bits());
        flow.add_score(&params, z.as_ref().column(j), log_q, &mut alone, &mut work);
        let (eps, z) = (eps.as_ref().subcols(j, 1), z.as_ref().subcols(j, 1));
        flow.add_push_gradients(&params, eps, z, &[log_q], &mut pushed_alone, &mut work);
    }
    assert_eq!(together, alone);
    assert_eq!(pushed, pushed_alone);
}

/// Compares the flow with a closed form at draws of the closed form.
fn same_density<F: Family>(flow: &Flow, params: &[f64], closed: &F, closed_params: &[f64]) {
    let (dim, columns) = (closed.dim(), 60);
    let (mut z, mut expected, mut found) = (Mat::zeros(dim, columns), vec![0.0; columns], vec![0.0; columns]);
    let mut work = vec![f64::NAN; closed.work_len(columns)];
    closed.sample_into(closed_params, &mut [stream()], z.as_mut(), &mut expected, &mut work);
    closed.log_probs(closed_params, z.as_ref(), &mut expected, &mut work);
    flow.log_probs(params, z.as_ref(), &mut found, &mut memory(flow, columns));
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{found} {expected}");
    }
}

#[test]
fn a_flow_begins_as_the_gaussian_it_is_given() {
    let (mean, scales) = ([1.0, -2.0, 0.3, 4.0], [0.5, 2.0, 1.0, 0.01]);
    let field = MeanField::new(4);
    let factor =
        mat![[2.0, 0.0, 0.0, 0.0], [0.5, 0.3, 0.0, 0.0], [-1.0, 0.7, 1.5, 0.0], [0.2, -0.1, 0.4, 0.9]];
    let full = FullRank::new(4);
    let t = MultivariateT::fixed(4, 3.0).unwrap();
    for flow in [
        Flow::real_nvp(4, Gauss, 5, &[8]).unwrap(),
        Flow::neural_spline(4, Gauss, 3, &[8], Spline { bins: 5, ..Spline::default() }).unwrap(),
        everything(4, Gauss),
    ] {
        let params = flow.start_at(&mean, &scales, &mut stream()).unwrap();
        same_density(&flow, &params, &field, &field.at(&mean, &scales).unwrap());
        let params = flow.start(&mut stream()).unwrap();
        same_density(&flow, &params, &field, &field.at(&[0.0; 4], &[1.0; 4]).unwrap());
    }
    // The last layer is linear; its first parameters are those of a full-rank family.
    let placed = |flow: &Flow, frame: &[f64]| {
        let mut params = flow.start(&mut stream()).unwrap();
        let (_, last) = flow.layout().pop().expect("a layer");
        params[last][..frame.len()].copy_from_slice(frame);
        params
    };
    let (frame, flow) = (full.at(&mean, factor.as_ref()).unwrap(), everything(4, Gauss));
    same_density(&flow, &placed(&flow, &frame), &full, &frame);
    let flow = everything(4, t.law);
    same_density(&flow, &placed(&flow, &frame), &t, &t.at(&mean, factor.as_ref()).unwrap());
}

/// At a distance of a million, in all directions, at extreme parameters: log densities and scores are finite, or the density is
/// zero.
#[test]
fn far_away_nothing_is_nan() {
    fn far(flow: &Flow, size: f64, distance: f64) -> (Vec<f64>, Vec<f64>) {
        let params: Vec<f64> = somewhere(flow).iter().map(|param| size * param).collect();
        let z = Mat::from_fn(5, 16, |i, j| distance * if (j >> (i % 4)) & 1 == 0 { 1.0 } else { -1.0 });
        let (mut log_q, mut score) = (vec![0.0; 16], vec![0.0; params.len()]);
        flow.log_probs(&params, z.as_ref(), &mut log_q, &mut memory(flow, 16));
        flow.add_scores(&params, z.as_ref(), &[1.0; 16], &mut score, &mut memory(flow, 16));
        if distance < 1e100 {
            let (mut image, mut pushed) = (Mat::zeros(5, 16), vec![0.0; 16]);
            flow.push(&params, z.as_ref(), image.as_mut(), &mut pushed, &mut memory(flow, 16));
            flow.add_push_gradients(
                &params,
                z.as_ref(),
                z.as_ref(),
                &pushed,
                &mut score,
                &mut memory(flow, 16),
            );
            let image = (0..16).flat_map(|j| image.col_as_slice(j));
            assert!(image.chain(&pushed).all(|x| x.is_finite()), "{size}");
        }
        (log_q, score)
    }
    let t = Fixed::new(2.0).unwrap();
    for size in [1.0, 10.0] {
        let layers = || {
            let maps = [CouplingMap::Affine(Affine::default()), CouplingMap::Spline(Spline::default())];
            let masks = Mask::alternating(5).take(6).enumerate();
            masks.map(|(k, mask)| coupling(mask, maps[k / 2 % 2])).chain([Layer::ActNorm]).collect()
        };
        let flows = [
            Flow::new(5, Gauss, layers()),
            Flow::new(5, t, layers()),
            Flow::masked_autoregressive(5, Gauss, 2, &[7, 4]),
            Flow::inverse_autoregressive(5, Gauss, 2, &[7, 4]),
        ];
        for flow in flows {
            let (log_q, score) = far(&flow.unwrap(), size, 1e6);
            assert!(log_q.iter().all(|x| x.is_finite()), "{size}: {log_q:?}");
            assert!(score.iter().all(|x| x.is_finite()), "{size}");
        }
        let (log_q, _) = far(&Flow::new(5, Gauss, layers()).unwrap(), size, 1e200);
        assert!(log_q.iter().all(|&x| x == f64::NEG_INFINITY), "{log_q:?}");
    }
}

#[test]
fn what_cannot_be_built_is_refused() {
    let affine = |bound| CouplingMap::Affine(Affine { bound });
    let spline = |spline| coupling(Mask::Even, CouplingMap::Spline(spline));
    let masked = |bound| Layer::Autoregressive(Autoregressive { bound, ..Autoregressive::default() });
    let good = Spline::default();
    let (hidden, config) = (vec![4, 0], Autoregressive::default());
    let without_units = [
        Layer::Coupling(Coupling { mask: Mask::Even, hidden: hidden.clone(), map: affine(1.0) }),
        Layer::Autoregressive(Autoregressive { hidden: hidden.clone(), ..config }),
        Layer::BlockNeural(BlockNeural { hidden, ..BlockNeural::default() }),
    ];
    let bad = [
        (coupling(Mask::Even, affine(0.0)), "bound of log scales is 0"),
        (coupling(Mask::Even, affine(f64::NAN)), "bound of log scales is NaN"),
        (coupling(Mask::Even, affine(1e3)), "bound of log scales is 1000"),
        (coupling(Mask::Odd, affine(1.0)), "Odd moves nothing in dimension 1"),
        (spline(Spline { bins: 0, ..good }), "bins of the spline is 0"),
        (spline(Spline { bound: -1.0, ..good }), "bound of the spline is -1"),
        (spline(Spline { bins: 1000, ..good }), "bins of the spline is 1000"),
        (masked(0.0), "bound is 0, expected positive and at most 100"),
        (masked(f64::NAN), "bound is NaN, expected positive and at most 100"),
    ];
    let without_units =
        without_units.map(|layer| (layer, "hidden layer 1 has no units, expected at least 1"));
    for (layer, message) in bad.into_iter().chain(without_units) {
        let config = FlowConfig { dim: 1, base: Base::Gauss, layers: vec![layer] };
        let error = Bnaf::from_config(config).unwrap_err().to_string();
        assert!(error.starts_with(&format!("layer 0 of a flow: {message}")), "{error}");
    }
    let block = Layer::BlockNeural(BlockNeural::default());
    let error = Flow::new(2, Gauss, vec![block]).unwrap_err().to_string();
    assert!(error.starts_with("layer 0 of a flow: it has no inverse"), "{error}");
    assert!(Flow::new(0, Gauss, vec![]).is_err() && Flow::block_neural(0, Gauss, 1, &[8]).is_err());

    let flow = Flow::new(2, Gauss, vec![Layer::Linear, autoregressive(false)]).unwrap();
    assert!(flow.start_at(&[0.0; 2], &[1.0; 2], &mut stream()).is_err());
    assert!(Flow::new(2, Gauss, vec![]).unwrap().start_at(&[0.0; 2], &[1.0; 2], &mut stream()).is_err());
    let flow = Flow::real_nvp(2, Gauss, 2, &[3]).unwrap();
    for scales in [[1.0, 0.0], [1.0, -1.0], [f64::NAN, 1.0]] {
        assert!(flow.start_at(&[0.0; 2], &scales, &mut stream()).is_err());
    }
    assert!(flow.start_at(&[0.0; 3], &[1.0; 2], &mut stream()).is_err());
    assert!(flow.start_at(&[f64::NAN, 0.0], &[1.0; 2], &mut stream()).is_err());

    let mut params = flow.start(&mut stream()).unwrap();
    *params.last_mut().unwrap() = -800.0;
    let error = flow.check(&params).unwrap_err().to_string();
    assert!(error.starts_with("layer 2 of a flow: rho[1] is -800"), "{error}");
    let ranges: Vec<_> = flow.layout().into_iter().map(|(_, range)| range).collect();
    assert_eq!((ranges.len(), ranges[2].len(), ranges[2].end), (3, 4, params.len()));
}
