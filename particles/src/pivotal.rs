//! Pivotal sampling: unbiased rounding of expected numbers, pair by pair.

use mcsa_core::Stream;

/// Fractional part of an expected number of particles. Not `f64::fract`, which is a function call on older instruction sets.
pub(super) fn fraction(number: f64) -> f64 {
    number - (number as i64) as f64
}

/// Rounds the fractional parts `x_i` of expected numbers `S W_i` to 0 or 1, such that every mean and the total are
/// preserved (Srinivasan 2001):
///
/// ```text
/// x + y <= 1:   (x + y, 0) with probability x / (x + y),                 else (0, x + y)
/// x + y >  1:   (1, x + y - 1) with probability (1 - y) / (2 - x - y),   else (x + y - 1, 1)
/// ```
///
/// In each pair one number is settled, the other is paired with the next. Every `n_i + x_i` is a martingale. So the
/// distribution that weights outcomes in proportion to `n_r`, with r the retained particle, is obtained by multiplying the
/// probability of each decision about r by the ratio of `n_r + x_r` after to before it.
pub(super) fn settle(
    stream: &mut Stream,
    numbers: impl Iterator<Item = f64>,
    retained: Option<usize>,
    x: &mut [f64],
) {
    let mut certain = 0.0;
    for (k, (x, number)) in x.iter_mut().zip(numbers).enumerate() {
        *x = fraction(number);
        if retained == Some(k) {
            certain = number.floor();
        }
    }
    let mut open = 0;
    for next in 1..x.len() {
        let (a, b) = (x[open], x[next]);
        let sum = a + b;
        let (won, lost, mut odds) = match sum {
            0.0 => continue,
            sum if sum <= 1.0 => (sum, 0.0, a / sum),
            _ => (1.0, sum - 1.0, (1.0 - b) / (2.0 - sum)),
        };
        if retained == Some(open) {
            odds *= (certain + won) / (certain + a);
        } else if retained == Some(next) {
            odds *= (certain + lost) / (certain + b);
        }
        let wins = stream.uniform_between([odds]) < odds;
        (x[open], x[next]) = if wins { (won, lost) } else { (lost, won) };
        // The number settled at 0 or 1 stays; the other is paired with the next.
        let open_goes_on = wins == (sum <= 1.0);
        if !open_goes_on {
            open = next;
        }
    }
}
