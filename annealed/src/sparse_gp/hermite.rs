/// Number of nodes of the quadrature.
pub(crate) const NODES: usize = 16;

/// Positive nodes `x_q` of the Gauss-Hermite rule for the weight `e^(-x^2)`, and `log(w_q / sqrt(pi))`. Newton's method in 50 digits.
const HALF: [(f64, f64); NODES / 2] = [
    (0.27348104613815244, -1.2497776047982965),
    (0.8229514491446559, -1.843020936221368),
    (1.3802585391988809, -3.051567395833779),
    (1.9517879909162539, -4.924420313983549),
    (2.5462021578474814, -7.55023800234077),
    (3.176999161979956, -11.087655627444743),
    (3.869447904860123, -15.848470719591079),
    (4.688738939305819, -22.621843735297286),
];

/// Nodes `sqrt(2) x_q`: `E f(e) = sum_q e^LOG_WEIGHTS_q f(POINTS_q)` for `e ~ N(0, 1)` and polynomials of degree 31 or less.
pub(crate) const POINTS: [f64; NODES] = both(true);

/// Logarithms of the weights, which add up to 1.
pub(crate) const LOG_WEIGHTS: [f64; NODES] = both(false);

const fn both(points: bool) -> [f64; NODES] {
    let mut out = [0.0; NODES];
    let mut k = 0;
    while k < NODES / 2 {
        let (x, log_weight) = HALF[k];
        let x = std::f64::consts::SQRT_2 * x;
        (out[NODES / 2 + k], out[NODES / 2 - 1 - k]) =
            if points { (x, -x) } else { (log_weight, log_weight) };
        k += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `E e^k` is 0 for odd k and `(k - 1)!!` for even k; degree 32 is beyond the rule.
    #[test]
    fn moments_of_the_normal() {
        let moment = |k: i32| -> f64 {
            POINTS.iter().zip(LOG_WEIGHTS).map(|(x, log_weight)| log_weight.exp() * x.powi(k)).sum()
        };
        let mut exact = 1.0;
        for k in (0..32).step_by(2) {
            assert!((moment(k) / exact - 1.0).abs() < 2e-14, "{k}: {}", moment(k));
            assert!(moment(k + 1).abs() < 1e-13 * exact * f64::from(k + 1));
            exact *= f64::from(k + 1);
        }
        assert!((moment(32) / exact - 1.0).abs() > 1e-4);
    }
}
