//! Bias of one update (MCMC-SE, Sec. 4).

use crate::bounds::mcmc_se as bounds;
use crate::claims::{Bound, Claim, Instance, MCMC_SE, Setting, Sides};
use crate::closed;
use crate::moments::after;

pub(super) fn claims() -> Vec<Claim> {
    vec![parallel()]
}

/// The least `L` of the paper, `|s| <= L / 2`.
fn range(case: &Instance) -> f64 {
    2.0 * case.largest_score()
}

/// `Bias[g_par] <= L (1 - 1 / w*)` (MCMC-SE, Thm. 2). In eq. 37 an equality sign stands for "at most".
fn parallel() -> Claim {
    let printed = Bound::<Instance>::new("Bias[g_par] <= L (1 - 1/w*)", Setting::atoms(&[2, 3, 4]), |case| {
        case.rate_to(1)?;
        let reached = after(&closed::imh(&case.target, &case.guide), &case.score, 1)[case.start];
        let bias = (reached - case.mean(&case.score)).abs();
        Some(Sides::at_most(bias, bounds::parallel_bias(range(case), case.w_star())))
    });
    Claim::new("000-T2", MCMC_SE, "Theorem 2", printed.twin_times(0.95)).assuming("IMH, |s| <= L/2")
}
