//! A logistic regression with many rows, fitted by the call: `cargo run --release -p mcsa-speed --example many_rows -- 1000000 50`.
//!
//! The time of an evaluation is compared with that of a sweep over the inputs, which reads each number once and multiplies it once.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::hint::black_box;
use std::time::Instant;

use mcsa::Options;
use mcsa_core::{Gradient, LogDensity, Seed, numeric};
use mcsa_models::LogisticRegression;
use mcsa_speed::{GOOD, rows};

/// Largest resident memory so far, in bytes.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    1024.0 * kilobytes.unwrap_or(f64::NAN)
}

#[expect(clippy::disallowed_methods, reason = "a measurement of time")]
fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let begun = Instant::now();
    let done = work();
    (begun.elapsed().as_secs_f64(), done)
}

fn main() {
    let mut sizes = std::env::args().skip(1).map(|word| word.parse::<usize>().expect("a number"));
    let (n, d) = (sizes.next().unwrap_or(100_000), sizes.next().unwrap_or(10));
    let (x, labels) = rows(n, d);
    let data = 8.0 * (n * d) as f64;
    let ones = vec![1.0; n];
    let sweep = || (0..d).map(|k| black_box(numeric::dot(black_box(x.col_as_slice(k)), &ones))).sum::<f64>();
    let floor = (0..5).map(|_| seconds(sweep).0).fold(f64::INFINITY, f64::min);
    let target = LogisticRegression::new(x.as_ref(), &labels, 1.0).expect(GOOD);
    drop(x);
    let before = peak();
    let mut stream = Seed::new(5).stream(0, 0);
    let z = faer::Mat::from_fn(d, 10, |_, _| 0.1 * stream.normal());
    let mut work = vec![0.0; target.work_len(10)];
    let (mut out, mut gradients) = (vec![0.0; 10], faer::Mat::zeros(d, 10));
    let mut batch = || seconds(|| target.log_densities(z.as_ref(), &mut out, &mut work)).0;
    let density = (0..3).map(|_| batch()).fold(f64::INFINITY, f64::min) / 10.0;
    let mut batch =
        || seconds(|| target.gradients_into(z.as_ref(), &mut out, gradients.as_mut(), &mut work)).0;
    let gradient = (0..3).map(|_| batch()).fold(f64::INFINITY, f64::min) / 10.0;
    println!(
        "{n} rows, {d} columns: {:.0} MB of inputs, {:.1} times that with the model",
        data / 1e6,
        before / data
    );
    println!(
        "one core: sweep {:.3} ms, density {:.3} ms ({:.1} sweeps), gradient {:.3} ms ({:.1})",
        1e3 * floor,
        1e3 * density,
        density / floor,
        1e3 * gradient,
        gradient / floor
    );
    let (took, fitted) = seconds(|| mcsa::fit(&target, &Options::seeded(1)));
    let fitted = fitted.expect("a fit");
    let evaluations = fitted.evaluations;
    println!(
        "fit: {took:.1} s, {} densities and {} gradients, {:.1} times the data in memory; {}",
        evaluations.density,
        evaluations.gradient,
        peak() / data,
        if fitted.verdict.is_yes() { "yes" } else { "no" }
    );
    fitted.verdict.objections.iter().for_each(|objection| println!("  {objection}"));
}
