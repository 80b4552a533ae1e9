//! Benchmark table: nanoseconds per element of every elementary function on every backend, and the ratio to the scalar `std` form.
//!
//! `cargo bench -p mcsa-speed --bench numeric_ratio`. Medians of 31 repeats over 1024 numbers in cache; the time
//! to refill them is included on both sides.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a table of times is the product")]

use mcsa_core::numeric::Backend;
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
        Row {
            name: "log_sigmoid",
            low: -20.0,
            high: 20.0,
            scalar: |x| x.min(0.0) - (-x.abs()).exp().ln_1p(),
            vector: Backend::log_sigmoid,
        },
        Row {
            name: "sum_log_sigmoid",
            low: -20.0,
            high: 20.0,
            scalar: |x| x.min(0.0) - (-x.abs()).exp().ln_1p(),
            vector: |b, x| {
                black_box(b.sum_log_sigmoid(x));
            },
        },
        Row {
            name: "sum_log_ndtr",
            low: -5.0,
            high: 5.0,
            scalar: |z| (0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)).ln(),
            vector: |b, x| {
                black_box(b.sum_log_ndtr(x));
            },
        },
        Row {
            name: "log_sum_exp",
            low: -20.0,
            high: 20.0,
            scalar: |x| (x - 20.0).exp(),
            vector: |b, x| {
                black_box(b.log_sum_exp(x));
            },
        },
        Row { name: "expm1", low: -2.0, high: 2.0, scalar: f64::exp_m1, vector: Backend::expm1 },
        Row { name: "ln_1p", low: -0.5, high: 2.0, scalar: f64::ln_1p, vector: Backend::ln_1p },
        Row {
            name: "ln_expm1",
            low: 0.01,
            high: 20.0,
            scalar: |x| x.exp_m1().ln(),
            vector: Backend::ln_expm1,
        },
        Row { name: "erf", low: -3.0, high: 3.0, scalar: libm::erf, vector: Backend::erf },
        Row { name: "erfc", low: -3.0, high: 3.0, scalar: libm::erfc, vector: Backend::erfc },
        Row {
            name: "log_ndtr",
            low: -5.0,
            high: 5.0,
            scalar: |z| (0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)).ln(),
            vector: Backend::log_ndtr,
        },
        Row {
            name: "ndtr_hazard",
            low: -5.0,
            high: 5.0,
            scalar: |z| (-0.5 * z * z).exp() / (0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)),
            vector: Backend::ndtr_hazard,
        },
        Row {
            name: "log_sigmoid+slope",
            low: -20.0,
            high: 20.0,
            scalar: |x| {
                let e = (-x.abs()).exp();
                let slope = if x < 0.0 { 1.0 } else { e } / (1.0 + e);
                x.min(0.0) - e.ln_1p() + slope
            },
            vector: |b, x| b.log_sigmoid_with_slope(x, &mut [0.0; LENGTH]),
        },
        Row {
            name: "log_ndtr+hazard",
            low: -5.0,
            high: 5.0,
            scalar: |z| {
                let phi = 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
                phi.ln() + (-0.5 * z * z).exp() / phi
            },
            vector: |b, x| b.log_ndtr_with_hazard(x, &mut [0.0; LENGTH]),
        },
        Row {
            name: "sum",
            low: -1.0,
            high: 1.0,
            scalar: |x| x + 1.0,
            vector: |b, x| {
                black_box(b.sum(x));
            },
        },
        Row {
            name: "dot",
            low: -1.0,
            high: 1.0,
            scalar: |x| x * x,
            vector: |b, x| {
                black_box(b.dot(x, x));
            },
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
