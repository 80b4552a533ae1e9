//! SL-DAIS: a logistic regression with many rows, fitted from minibatches along short annealed paths with a learned surrogate.
//!
//! The bounds of a mean-field Gaussian and of SL-DAIS with the same base are compared with the log evidence, which weighted draws
//! enclose from below.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use mcsa::annealed::Minibatched;
use mcsa::annealed::dais::{Annealed, Shape, Slope};
use mcsa::annealed::surrogate::LogisticSurrogate;
use mcsa::core::{Estimator, Parametric, Pushforward};
use mcsa::estimators::{Draws, Elbo, FlowElbo};
use mcsa::families::Link;
use mcsa::models::LogisticRegression;
use mcsa::prelude::*;

const ROWS: usize = 1_000;
const DIM: usize = 3;

fn main() -> Result<(), Error> {
    // Two correlated features and an intercept; one label in ten is 1.
    let mut stream = Seed::new(1).stream(0, 0);
    let mut x = Mat::from_fn(ROWS, DIM, |_, k| if k == 0 { 1.0 } else { stream.normal() });
    (0..ROWS).for_each(|i| x[(i, 2)] = 0.9 * x[(i, 1)] + 0.44 * x[(i, 2)]);
    let odds = |i: usize| x[(i, 1)] - x[(i, 2)] - 2.5;
    let labels: Vec<f64> =
        (0..ROWS).map(|i| f64::from(u8::from(stream.uniform() * (1.0 + (-odds(i)).exp()) < 1.0))).collect();
    let target = LogisticRegression::new(x.as_ref(), &labels, 1.0)?;

    let base = MeanField::new(DIM).with_link(Link::Exp);
    let start = base.at(&[0.0; DIM], &[0.1; DIM])?;
    let mean_field = fit(&target, &base, Minibatched::new(100, Elbo::closed(1)), start.clone())?;
    let plain = Draws::of(&target, &base, &mean_field, Seed::new(4).stream(0, 0), 4_000)?;
    report("mean field", &plain);

    // Four steps along 50 rows, whose weights are learned; the bound is evaluated on minibatches of 100 rows.
    let surrogate = LogisticSurrogate::rand(x.as_ref(), &labels, 50, 1.0, &mut stream)?;
    let psi = surrogate.initial();
    // kappa in units of the largest step size: as a number of its own (`Slope::Plain`) it drives step sizes of this fit to zero.
    let family = Annealed { slope: Slope::Scaled, ..Annealed::new(surrogate, Shape::Diagonal, 4) };
    let start = family.at(&mean_field, 0.1, &psi)?;
    let params = fit(&target, &family, Minibatched::new(100, FlowElbo::new(1)), start)?;
    let draws = Draws::pushed(&target, &family, &params, Seed::new(4).stream(0, 0), 4_000)?;
    report("SL-DAIS", &draws);
    println!("{}", family.step_sizes(&params, &mut vec![0.0; family.work_len(1)]));
    println!("SL-DAIS gains {:.3} nats", bound(&draws) - bound(&plain));
    Ok(())
}

/// Parameters after 20 000 steps of Adam on minibatches.
fn fit<F, E>(
    target: &LogisticRegression,
    family: &F,
    estimator: E,
    start: Vec<f64>,
) -> Result<Vec<f64>, Error>
where
    E: Estimator<LogisticRegression, F>,
{
    let ascent = Ascent { target, family, estimator, optimizer: Adam::new(2e-3)?, seed: Seed::new(2) };
    let mut fit = ascent.start(start)?;
    println!("{}", ascent.run(&mut fit, 20_000)?);
    Ok(fit.params().to_vec())
}

/// Mean of `log p - log q`: a lower bound of the log evidence.
fn bound(draws: &Draws) -> f64 {
    draws.log_ratios().iter().sum::<f64>() / draws.len() as f64
}

fn report(name: &str, draws: &Draws) {
    println!(
        "{name}: bound {:.3}, log evidence {:.3}, k-hat {:.2}, effective sample size {:.0}",
        bound(draws),
        draws.log_evidence(),
        draws.shape,
        draws.sample_size
    );
}
