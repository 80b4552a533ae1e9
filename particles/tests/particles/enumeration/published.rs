//! Printed ancestor weight of conditional SMC, on a linear-Gaussian model with two states and two particles.

use mcsa_core::{Seed, Stream};
use mcsa_models::Learnable;
use mcsa_particles::{
    ConditionalSmc, Lineage, LinearGaussianSeries, PathFamily, PathGuide, PathKernel, Paths, Resampling,
    Twisted,
};

use super::sketch::{Mistake, Sketch};

/// One transition of a path.
type Step<'a> = dyn FnMut(&mut dyn PathGuide, &mut [f64], &mut Stream) + 'a;

/// Mean and second moment of the first state over a long chain, each with its standard error from blocks of 400 steps.
fn moments(mut step: impl FnMut(&mut [f64], &mut Stream)) -> [(f64, f64); 2] {
    let (mut path, mut stream, blocks) = ([1.0, 0.5], Seed::new(6).stream(0, 0), 400);
    let means: Vec<[f64; 2]> = (0..blocks)
        .map(|_| {
            let mut sums = [0.0; 2];
            for _ in 0..400 {
                step(&mut path, &mut stream);
                sums[0] += path[0] / 400.0;
                sums[1] += path[0] * path[0] / 400.0;
            }
            sums
        })
        .collect();
    [0, 1].map(|k| {
        let count = blocks as f64;
        let mean = means.iter().map(|block| block[k]).sum::<f64>() / count;
        let variance = means.iter().map(|block| (block[k] - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, (variance / count).sqrt())
    })
}

/// The kernel's moments agree with the exact ones within 5 standard errors, with and without ancestor sampling: false alarm below
/// `3e-6` over the four. With the printed weight both differ by more than 20.
#[test]
fn the_printed_ancestor_weight_is_refuted() {
    let series = LinearGaussianSeries::new(vec![1.4, 0.6]).expect("finite");
    let model = series.at(&[0.9, -0.5, -0.7]);
    let params = [0.5, 0.2, 0.3, 0.1];
    let mut memory = vec![0.0; Twisted.proposal_len(&model)];
    let mut proposal = Twisted.proposal(&model, &params, &mut memory);
    let law = model.smoothed()[0].law;
    let exact = [law.mean, law.variance + law.mean * law.mean];
    println!("exact: mean {:.4}, variance {:.4}", law.mean, law.variance);
    let mut off = |name: &str, step: &mut Step<'_>| {
        let found = moments(|path, stream| step(&mut proposal, path, stream));
        let errors = [0, 1].map(|k| (found[k].0 - exact[k]) / found[k].1);
        let variance = found[1].0 - found[0].0 * found[0].0;
        println!(
            "{name}: mean {:.4}, variance {variance:.4}, off by {errors:.1?} standard errors",
            found[0].0
        );
        errors
    };
    for lineage in [Lineage::Traced, Lineage::Ancestors] {
        let kernel =
            ConditionalSmc { particles: 2, resampling: Resampling::Multinomial, threshold: 1.0, lineage };
        let mut work = vec![0.0; kernel.work_len(&model)];
        let mut paths = Paths { positions: faer::Mat::zeros(2, 1) };
        let errors = off(&format!("{lineage:?}"), &mut |proposal, path, stream| {
            paths.positions.col_as_slice_mut(0).copy_from_slice(path);
            kernel.step(&model, proposal, &mut paths, std::slice::from_mut(stream), &mut work);
            path.copy_from_slice(paths.positions.col_as_slice(0));
        });
        assert!(errors.iter().all(|error| error.abs() < 5.0), "{errors:?}");
    }
    let printed = Sketch {
        particles: 2,
        rule: Resampling::Multinomial,
        chooses_ancestors: true,
        threshold: 1.0,
        mistake: Mistake::Printed,
    };
    let errors =
        off("as printed", &mut |proposal, path, stream| printed.step(&model, proposal, path, stream));
    assert!(errors.iter().all(|error| error.abs() > 20.0), "{errors:?}");
}
