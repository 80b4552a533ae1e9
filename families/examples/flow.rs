//! Flow fitted to a banana-shaped target, saved as text and loaded again: `cargo run --release -p mcsa-families --example flow`.
//!
//! Draws of the target itself replace a chain here: the score averaged over them is a gradient of `-KL(p || q)`.
#![expect(clippy::print_stdout, reason = "results for people")]

use faer::Mat;
use mcsa_core::{Error, ExactDraws, Family, LogDensity, Optimizer, Parametric, Seed};
use mcsa_families::{Fixed, Flow};
use mcsa_models::Banana;
use mcsa_optim::Adam;

const POINTS: usize = 256;

/// `KL(p || q)`, estimated from draws of the target.
fn divergence(target: &Banana, q: &Flow, params: &[f64], z: &Mat<f64>) -> f64 {
    let (mut log_q, mut work) = (vec![0.0; z.ncols()], vec![0.0; q.work_len(z.ncols())]);
    q.log_probs(params, z.as_ref(), &mut log_q, &mut work);
    let terms = (0..z.ncols()).map(|j| target.log_density(z.col_as_slice(j), &mut []) - log_q[j]);
    terms.sum::<f64>() / z.ncols() as f64
}

fn main() -> Result<(), Error> {
    let target = Banana::new(1.0, 1.0)?;
    let mut stream = Seed::new(1).stream(0, 0);
    // Student t tails, so that weights p/q stay bounded.
    let q = Flow::real_nvp(2, Fixed::new(5.0)?, 6, &[32])?;
    let mut params = q.start_at(&[0.0, 0.0], &[1.0, 2.0], &mut stream)?;

    let (optimizer, mut z) = (Adam::new(0.002)?, Mat::zeros(2, POINTS));
    let mut state = optimizer.init(params.len());
    let (mut gradient, mut work) = (vec![0.0; params.len()], vec![0.0; q.work_len(POINTS)]);
    for step in 0..=2000 {
        (0..POINTS).for_each(|j| target.draw_into(&mut stream, z.col_as_slice_mut(j)));
        if step % 500 == 0 {
            println!("step {step:4}: KL(p||q) is about {:.4}", divergence(&target, &q, &params, &z));
        }
        gradient.fill(0.0);
        q.add_scores(&params, z.as_ref(), &[1.0 / POINTS as f64; POINTS], &mut gradient, &mut work);
        optimizer.ascend(&mut state, &mut params, &gradient);
    }

    let text = q.save(&params)?;
    let (again, loaded) = <Flow>::load(&text)?;
    println!(
        "{} params in {} bytes of text; every bit came back: {}",
        loaded.len(),
        text.len(),
        loaded == params
    );

    let (mut draws, mut log_q) = (Mat::zeros(2, 5), [0.0; 5]);
    let mut work = vec![0.0; again.work_len(5)];
    again.sample_into(&loaded, &mut Seed::new(2).streams(5, 0), draws.as_mut(), &mut log_q, &mut work);
    for (j, log_q) in log_q.iter().enumerate() {
        let z = draws.col_as_slice(j);
        println!("{:7.3} {:7.3}   log p - log q {:7.3}", z[0], z[1], target.log_density(z, &mut []) - log_q);
    }
    Ok(())
}
