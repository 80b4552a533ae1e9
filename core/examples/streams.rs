//! Random streams: addressed draws that can be replayed, and discrete decisions that can be enumerated:
//! `cargo run --release -p mcsa-core --example streams`.
#![expect(clippy::print_stdout, reason = "results for people")]

use mcsa_core::{Error, Seed, Stream, enumerate};

/// Place of a walk on 0, 1, 2, .. after some steps: a step to the right with probability 3/4, else to the left, where there is a left.
fn walk(steps: usize, stream: &mut Stream) -> usize {
    (0..steps)
        .fold(0, |place, _| if stream.accept(0.75_f64.ln()) { place + 1 } else { place.saturating_sub(1) })
}

fn main() -> Result<(), Error> {
    // A stream is a function of seed, lane and step: any step of any chain can be drawn again, alone and in any order.
    let seed = Seed::new(2);
    let first: Vec<usize> = (0..8).map(|lane| walk(4, &mut seed.stream(lane, 0))).collect();
    let again: Vec<usize> = (0..8).rev().map(|lane| walk(4, &mut seed.stream(lane, 0))).collect();
    println!("places of eight walks after four steps: {first:?}");
    println!("drawn again in reverse:                 {again:?}");

    // The same code along every branch of its decisions: probabilities without sampling.
    let mut exact = [0.0; 5];
    for branch in enumerate(1, 100, |lanes| walk(4, &mut lanes[0]))? {
        exact[branch.outcome] += branch.probability;
    }
    let mut counts = [0.0; 5];
    (0..100_000).for_each(|lane| counts[walk(4, &mut seed.stream(lane, 1))] += 1e-5);
    println!("place   exact probability   share of 100 000 walks");
    for (place, (exact, share)) in exact.iter().zip(counts).enumerate() {
        println!("{place:5} {exact:19.4} {share:24.4}");
    }
    Ok(())
}
