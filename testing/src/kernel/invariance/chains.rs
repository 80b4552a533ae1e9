//! Tests that chains are independent and interchangeable.

use faer::Mat;
use mcsa_core::{ChainState, Error, Kernel, Seed, Stream};

use super::paths::Paths;
use crate::kernel::draws::Walk;
use crate::kernel::p_value::zero_mean;
use crate::kernel::statistic::Scores;
use mcsa_core::ExactDraws;

/// Number of reference values for the scores of increments.
const REFERENCES: usize = 1_024;

/// p-values for zero correlation between the two chains of a pair, in the scores of their first increments, of the squared
/// length of these, and of every statistic at the end of the path. Pairs are a random matching within each group.
pub(crate) fn p_values(
    paths: &Paths,
    names: &[String],
    chains: usize,
    seed: Seed,
) -> impl Iterator<Item = (f64, String)> {
    let dim = paths.increments.len() - 1;
    let draws = paths.increments[dim].len();
    let mut pairs = Vec::with_capacity(draws / 2);
    let (mut chance, mut order) = (seed.stream(0, 0), (0..chains).collect::<Vec<_>>());
    for first in (0..draws).step_by(chains) {
        for left in (1..chains).rev() {
            order.swap(left, chance.index(left + 1).expect("one is left"));
        }
        pairs.extend(order.chunks_exact(2).map(|pair| (first + pair[0], first + pair[1])));
    }
    let first = (0..=dim).map(move |i| match i {
        i if i < dim => format!("first move of {}", names[i]),
        _ => "length of the first move".into(),
    });
    let end = names.iter().map(|name| format!("{name} at the end"));
    let names: Vec<String> = first.chain(end).collect();
    let rows = paths.increments.iter().chain(&paths.after).map(move |row| correlation(row, &pairs));
    rows.collect::<Vec<_>>().into_iter().zip(names)
}

fn correlation(row: &[f64], pairs: &[(usize, usize)]) -> f64 {
    let stride = row.len().div_ceil(REFERENCES);
    let scores = Scores::of(vec![row.iter().step_by(stride).copied().collect()]);
    let scored: Vec<f64> = row.iter().map(|x| scores.score(0, *x)).collect();
    let mean = scored.iter().sum::<f64>() / scored.len() as f64;
    let products: Vec<f64> = pairs.iter().map(|&(a, b)| (scored[a] - mean) * (scored[b] - mean)).collect();
    zero_mean(&products)
}

/// Number of steps of the two runs whose labels are compared.
const STEPS: usize = 10;

/// Largest difference, relative to `1 + |z|`, between a run and the run with chains and streams in the opposite order.
pub(crate) fn mislabelled<P: ExactDraws + ?Sized, K: Kernel<P>>(
    walk: &mut Walk<'_, '_, P, K>,
    seed: Seed,
) -> Result<f64, Error> {
    let plain = run(walk, seed, false)?;
    let turned = run(walk, seed, true)?;
    let last = walk.chains - 1;
    let mut worst: f64 = 0.0;
    for j in 0..walk.chains {
        for i in 0..plain.nrows() {
            let (a, b) = (plain[(i, j)], turned[(i, last - j)]);
            let error = (a - b).abs() / (1.0 + a.abs());
            worst = worst.max(if error.is_nan() { f64::INFINITY } else { error });
        }
    }
    Ok(worst)
}

fn run<P: ExactDraws + ?Sized, K: Kernel<P>>(
    walk: &mut Walk<'_, '_, P, K>,
    seed: Seed,
    turned: bool,
) -> Result<Mat<f64>, Error> {
    let last = walk.chains - 1;
    let lanes = |step: u64| {
        let mut lanes = seed.child(1).streams(last + 1, step);
        if turned {
            lanes.reverse();
        }
        lanes
    };
    let draws = walk.draw(seed.child(0));
    let starts = Mat::from_fn(draws.nrows(), last + 1, |i, j| draws[(i, if turned { last - j } else { j })]);
    let mut state = walk.start(starts, &mut lanes(0))?;
    for slot in 0..STEPS {
        let mut lanes: Vec<Stream> = lanes(slot as u64 + 1);
        walk.step(&mut state, &mut lanes, slot);
    }
    Ok(state.chains().positions.clone())
}
