//! Starting points for a fit: mode, Laplace approximation and Pathfinder on a bent target:
//! `cargo run --release -p mcsa-optim --example starts`.
#![expect(clippy::print_stdout, reason = "results for people")]

use mcsa_core::{Error, LogDensity, Seed};
use mcsa_models::{Banana, GroundTruth};
use mcsa_optim::deterministic::{Laplace, Lbfgs, Pathfinder};

fn main() -> Result<(), Error> {
    let target = Banana::new(1.0, 0.5)?;
    let peak = Lbfgs::default().mode(&target, &[3.0, 5.0])?.converged()?;
    let laplace = Laplace::by_differences(&target, &peak.point)?.gaussian;
    let found = Pathfinder::default().run(&target, &[3.0, 5.0], &mut Seed::new(1).stream(0, 0))?;
    println!("mode {:.3?}, log density {:.3}", peak.point, target.log_density(&peak.point, &mut []));
    println!("{:>10} {:>18} {:>18}", "", "mean", "standard deviations");
    println!(
        "{:>10} {:>18} {:>18}",
        "Laplace",
        format!("{:.2?}", laplace.mean),
        format!("{:.2?}", laplace.scales())
    );
    let gaussian = &found.gaussian;
    println!(
        "{:>10} {:>18} {:>18}",
        "Pathfinder",
        format!("{:.2?}", gaussian.mean),
        format!("{:.2?}", gaussian.scales())
    );
    if let (Some(mean), Some(covariance)) = (target.mean(), target.covariance()) {
        let scales = [0, 1].map(|i| covariance[(i, i)].sqrt());
        println!("{:>10} {:>18} {:>18}", "exact", format!("{mean:.2?}"), format!("{scales:.2?}"));
    }
    Ok(())
}
