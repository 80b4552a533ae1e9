//! Nanoseconds per element of every elementary function on every backend, and the ratio to the scalar `std` form.
//!
//! `cargo bench -p mcsa --bench numeric_ratio`. Medians of 31 repeats over 1024 numbers in cache, interleaved.
#![expect(clippy::print_stdout, reason = "the table is the product")]

use mcsa::numeric::Backend;
use std::hint::black_box;
use std::time::Instant;

const LENGTH: usize = 1024;
const REPEATS: usize = 31;
const PASSES: usize = 40;

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn time(input: &[f64], work: &mut dyn FnMut(&mut [f64])) -> f64 {
    let mut x = input.to_vec();
    let mut times = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        let start = Instant::now();
        for _ in 0..PASSES {
            x.copy_from_slice(input);
            work(black_box(&mut x));
        }
        times.push(start.elapsed().as_secs_f64() * 1e9 / (PASSES * LENGTH) as f64);
    }
    median(times)
}

struct Row {
    name: &'static str,
    low: f64,
    high: f64,
    scalar: fn(f64) -> f64,
    vector: fn(Backend, &mut [f64]),
}

fn main() {
    let rows = [
        Row { name: "exp", low: -20.0, high: 20.0, scalar: f64::exp, vector: Backend::exp },
        Row { name: "ln", low: 1e-3, high: 1e3, scalar: f64::ln, vector: Backend::ln },
        Row {
            name: "ln_1p_exp",
            low: -20.0,
            high: 20.0,
            scalar: |x| x.max(0.0) + (-x.abs()).exp().ln_1p(),
            vector: Backend::ln_1p_exp,
        },
        Row {
            name: "sigmoid",
            low: -20.0,
            high: 20.0,
            scalar: |x| 1.0 / (1.0 + (-x).exp()),
            vector: Backend::sigmoid,
        },
    ];
    println!("{:<18}{:>9}{:>22}{:>22}{:>22}", "ns per element", "std", "Portable", "Avx2", "Avx512");
    for row in rows {
        let step = (row.high - row.low) / LENGTH as f64;
        let input: Vec<f64> = (0..LENGTH).map(|i| row.low + ((i * 389) % LENGTH) as f64 * step).collect();
        let scalar = time(&input, &mut |x| {
            for v in x {
                *v = black_box((row.scalar)(*v));
            }
        });
        print!("{:<18}{scalar:>9.2}", row.name);
        for backend in Backend::ALL {
            if backend.is_available() {
                let ns = time(&input, &mut |x| (row.vector)(backend, x));
                print!("{ns:>13.3} ({:>5.1}x)", scalar / ns);
            } else {
                print!("{:>22}", "-");
            }
        }
        println!();
    }
}
