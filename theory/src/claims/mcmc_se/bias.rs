//! Bias of one update (MCMC-SE, Sec. 4).

use crate::bounds::mcmc_se as bounds;
use crate::claims::{Atoms, Bound, Claim, MCMC_SE, Setting, Sides};

pub(super) fn claims() -> Vec<Claim> {
    vec![parallel()]
}

/// `Bias[g_par] <= L (1 - 1 / w*)` (MCMC-SE, Thm. 2). In eq. 37 an equality sign stands for "at most".
fn parallel() -> Claim {
    let printed = Bound::<Atoms>::new("Bias[g_par] <= L (1 - 1/w*)", Setting::atoms(&[2, 3, 4]), |case| {
        case.rate_to(1)?;
        let bias = case.bias_under(case.problem.imh().row(case.start));
        Some(Sides::at_most(bias, bounds::parallel_bias(case.range(), case.w_star())))
    });
    Claim::new("000-T2", MCMC_SE, "Theorem 2", printed.twin_times(0.95)).assuming("IMH, |s| <= L/2")
}
