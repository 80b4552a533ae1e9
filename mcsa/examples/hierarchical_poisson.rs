//! Hierarchical Poisson regression from nothing to the verdict, without a gradient or a Jacobian by hand.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]
use mcsa::prelude::*;

/// Rows `(group, x, y)` with `y ~ Poisson(exp(a[group] + b x))`, `a[j] ~ N(mu, tau^2)`.
struct Counts([(usize, f64, f64); 12]);

impl GenericDensity for Counts {
    fn log_density<R: Real>(&self, theta: &[R]) -> R {
        let (mu, tau, b, a) = (theta[0], theta[1], theta[2], &theta[3..]);
        let prior = mu.log_normal(0.0, 5.0) + tau.log_normal(0.0, 1.0) + b.log_normal(0.0, 1.0);
        let effects: R = a.iter().map(|a| a.log_normal(mu, tau)).sum();
        let log_rates = self.0.iter().map(|&(group, x, y)| (a[group] + b * x, y));
        prior + effects + log_rates.map(|(log_rate, y)| log_rate * y - log_rate.exp()).sum::<R>()
    }
}

fn main() -> Result<(), Error> {
    let (x, y) = ([-1.0, 0.0, 1.0], [2.0, 4.0, 9.0, 6.0, 7.0, 15.0, 0.0, 3.0, 4.0, 9.0, 12.0, 24.0]);
    let rows = std::array::from_fn(|i| (i / 3, x[i % 3], y[i]));
    let parameters = Parameters::new().real("mu", 1).positive("tau").real("b", 1).real("a", 4);
    println!("{}", mcsa::fit(&Bounded::new(parameters, Counts(rows))?, &mcsa::Options::seeded(1))?);
    Ok(())
}
