//! Warming up a flow: `cargo run --release -p mcsa-estimators --example warming_up`.
//!
//! The target has two modes, eight apart, in ten dimensions; the start is away from both, nearer to the first. A flow
//! fitted to the target directly finds the first mode only; fitted first to a tempered target it finds both. The health
//! reports do not distinguish the two fits; the printed shares of draws near the second mode do.
#![expect(clippy::print_stdout, reason = "results for people")]

use mcsa_core::{Error, Family, LogDensity, Parametric, Seed, batch_mut};
use mcsa_estimators::{Ascent, pmcsa};
use mcsa_families::{Affine, Coupling, CouplingMap, Defence, Flow, Gauss, Layer, Mask, Tail};
use mcsa_models::{Mixture, Tempered};
use mcsa_optim::{Adam, Schedule};

const DIM: usize = 10;
const CHAINS: usize = 64;

/// A stage of the fit: steps, power of the target, and share of the defensive tail.
struct Stage {
    steps: u64,
    power: f64,
    defence: f64,
}

const PLAIN: [Stage; 2] =
    [Stage { steps: 1000, power: 1.0, defence: 0.5 }, Stage { steps: 3000, power: 1.0, defence: 0.1 }];

const TEMPERED: [Stage; 3] = [
    Stage { steps: 1000, power: 0.1, defence: 0.5 },
    Stage { steps: 1000, power: 0.3, defence: 0.3 },
    Stage { steps: 2000, power: 1.0, defence: 0.1 },
];

fn flow() -> Result<Flow, Error> {
    let map = CouplingMap::Affine(Affine::default());
    let bend = |mask| Layer::Coupling(Coupling { mask, hidden: vec![32], map });
    Flow::new(DIM, Gauss, Mask::alternating(DIM).take(6).map(bend).chain([Layer::Linear]).collect())
}

/// Share of draws on the side of the second mode.
fn share(flow: &Flow, params: &[f64]) -> f64 {
    let n = 2000;
    let (mut z, mut log_q) = (vec![0.0; DIM * n], vec![0.0; n]);
    let mut lane = [Seed::new(9).stream(0, 0)];
    let mut work = vec![0.0; flow.work_len(n)];
    flow.sample_into(params, &mut lane, batch_mut(&mut z, DIM, n), &mut log_q, &mut work);
    z.chunks_exact(DIM).filter(|z| z[0] > 0.0).count() as f64 / n as f64
}

fn climb(name: &str, stages: &[Stage]) -> Result<(), Error> {
    let target = Mixture::modes(DIM, 8.0, 0.3)?;
    let flow = flow()?;
    let place = vec![-4.0; DIM];
    let scales = vec![1.0; DIM];
    // The Gaussian with this mean and scale: a converged `MeanField` would do as well.
    let mut params = flow.start_at(&place, &scales, &mut Seed::new(1).stream(0, 0))?;
    println!("{name}");
    for (number, &Stage { steps, power, defence }) in stages.iter().enumerate() {
        let tempered = Tempered::new(&target, power)?;
        let guard = Defence::new(defence, Tail::cauchy(tempered.dim()).at(&place, &scales)?)?;
        let ascent = Ascent {
            target: &tempered,
            family: &flow,
            estimator: pmcsa(CHAINS).guarded(guard),
            optimizer: Adam::new(Schedule::power(0.03, 1.0, 0.5)?)?,
            seed: Seed::new(2).child(number as u64),
        };
        let mut fit = ascent.start(params)?;
        ascent.run(&mut fit, steps)?;
        let health = ascent.health(&fit)?;
        println!(
            "  power {power:.1}, tail {defence:.1}: acceptance {:.2}, log w* at least {:5.1}, k-hat {:5.2}, share {:.2} of 0.30",
            health.acceptance,
            health.log_weight_bound,
            health.shape,
            share(&flow, fit.params())
        );
        params = fit.params().to_vec();
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    climb("the target as it is", &PLAIN)?;
    climb("tempered first", &TEMPERED)
}
