//! A regression with many rows, fitted by the call: `cargo run --release -p mcsa-speed --example many_rows -- 1000000 50 poisson f32`,
//! or `logistic`, or `f64`.
//!
//! The floor of a log density at a point of a batch is measured: the time of a product of the same shape on inputs that stay in the first
//! cache and of the sums of as many terms, or the share of a sweep that reads all inputs once. A gradient takes two products.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::hint::black_box;
use std::time::Instant;

use faer::Mat;
use mcsa::Options;
use mcsa_core::numeric::design::{Entry, GROUP, Panels};
use mcsa_core::{AllCores, Gradient, LogDensity, Seed, numeric};
use mcsa_models::{LogisticRegression, PoissonRegression};
use mcsa_speed::GOOD;

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

/// The least of five times of some work, in seconds.
fn least(mut work: impl FnMut()) -> f64 {
    (0..5).map(|_| seconds(&mut work).0).fold(f64::INFINITY, f64::min)
}

/// Times of one core in seconds: of a sweep over the inputs, and of products and terms for a point.
struct Floor {
    sweep: f64,
    product: f64,
    terms: f64,
}

impl Floor {
    fn new(n: usize, d: usize, inputs: &[f64], sums: fn(&[f64], usize, usize, &mut [f64])) -> Self {
        const ROWS: usize = 64;
        let ones = vec![1.0; 1 << 14];
        let sweep = least(|| {
            for part in black_box(inputs).chunks_exact(ones.len()) {
                black_box(numeric::dot(part, &ones));
            }
        });
        let few = Panels::from_fn(ROWS, d, |i, k| ((i + k) % 7) as f64 / 10.0 - 0.3);
        let weights = vec![0.1; d];
        let (mut out, mut work) = (vec![0.0; ROWS * GROUP], vec![0.0; few.view().multiply_work_len()]);
        let times = (n / ROWS) as f64 / GROUP as f64;
        let product = times
            * least(|| {
                (0..1000)
                    .for_each(|_| few.view().multiply([&weights[..]; GROUP].into_iter(), &mut out, &mut work))
            })
            / 1000.0;
        let mut ten = [0.0; GROUP];
        let terms =
            times * least(|| (0..1000).for_each(|_| sums(black_box(&out), ROWS, ROWS, &mut ten))) / 1000.0;
        Self { sweep, product, terms }
    }

    /// Seconds per point of a batch of so many, each with these products.
    fn of(&self, products: f64, columns: usize) -> f64 {
        (self.sweep / columns as f64).max(products * self.product + self.terms)
    }
}

/// Seconds of a density and of a gradient per point of a batch, by some threads.
fn per_point(target: &impl Gradient, columns: usize, threads: usize) -> [f64; 2] {
    let mut stream = Seed::new(5).stream(0, 0);
    let z = Mat::from_fn(target.dim(), columns, |_, _| 0.1 * stream.normal());
    let (mut out, mut gradients) = (vec![0.0; columns], Mat::zeros(target.dim(), columns));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect(GOOD);
    pool.install(|| {
        let target = AllCores(target);
        let mut work = vec![0.0; target.work_len(columns)];
        let density = least(|| target.log_densities(z.as_ref(), &mut out, &mut work));
        let gradient = least(|| target.gradients_into(z.as_ref(), &mut out, gradients.as_mut(), &mut work));
        [density, gradient].map(|seconds| seconds / columns as f64)
    })
}

/// Prints the times of densities and gradients, and of the fit.
fn report(target: &impl Gradient, data: f64, floor: &Floor) {
    println!("{:.0} MB of inputs, {:.1} times that with the model", data / 1e6, peak() / data);
    let [sweep, product, terms] = [floor.sweep, floor.product, floor.terms].map(|seconds| 1e3 * seconds);
    println!(
        "one core: sweep {sweep:.3} ms, and for each point product {product:.3} ms, terms {terms:.3} ms"
    );
    for (columns, threads) in [(10, 1), (50, 1), (50, rayon::current_num_threads())] {
        let [density, gradient] = per_point(target, columns, threads);
        println!(
            "{columns} points, {threads} threads: density {:.3} ms ({:.2} of the floor of one core), gradient {:.3} ms ({:.2})",
            1e3 * density,
            density / floor.of(1.0, columns),
            1e3 * gradient,
            gradient / floor.of(2.0, columns)
        );
    }
    let (took, fitted) = seconds(|| mcsa::fit(target, &Options::seeded(1)));
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

/// The number of events of a Poisson distribution with a mean and a uniform number.
fn count(mean: f64, uniform: f64) -> f64 {
    let (mut k, mut term) = (0.0, (-mean).exp());
    let mut sum = term;
    while sum < uniform && term > 0.0 {
        k += 1.0;
        term *= mean / k;
        sum += term;
    }
    k
}

/// A model of rows whose responses depend on the first two columns and on noise that the model does not have.
fn run<E: Entry>([n, d]: [usize; 2], is_poisson: bool, narrow: fn(f64) -> E) {
    let mut stream = Seed::new(1).stream(0, 0);
    let data = (size_of::<E>() * n * d) as f64;
    let inputs = vec![1.0; n * d * size_of::<E>() / 8];
    let sums = if is_poisson { numeric::sums_minus_exp } else { numeric::sums_log_sigmoid };
    let floor = Floor::new(n, d, &inputs, sums);
    drop(inputs);
    let x = Mat::from_fn(n, d, |_, _| narrow(stream.normal()));
    let noisy: Vec<f64> =
        (0..n).map(|i| 0.5 * (x[(i, 0)].into() - x[(i, d.min(2) - 1)].into() + stream.normal())).collect();
    if is_poisson {
        let counts: Vec<f64> = noisy.iter().map(|line| count(line.exp(), stream.uniform())).collect();
        let target = PoissonRegression::new(x.as_ref(), &counts, 1.0).expect(GOOD);
        drop(x);
        report(&target, data, &floor);
    } else {
        let labels: Vec<f64> = noisy.iter().map(|&line| f64::from(u8::from(line > 0.0))).collect();
        let target = LogisticRegression::new(x.as_ref(), &labels, 1.0).expect(GOOD);
        drop(x);
        report(&target, data, &floor);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let size = |at: usize| words.get(at).map(|word| word.parse::<usize>().expect("a number"));
    let sizes = [size(0).unwrap_or(100_000), size(1).unwrap_or(10)];
    let has = |word: &str| words.iter().any(|given| given == word);
    if has("f32") {
        run(sizes, has("poisson"), |x| x as f32);
    } else {
        run(sizes, has("poisson"), |x| x);
    }
}
