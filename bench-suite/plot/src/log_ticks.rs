//! Ticks of a logarithmic axis.

use super::linear_ticks::{self, fixed, integer};
use super::scale::Scale;
use super::ticks::{Tick, Ticks, is_on_axis};

/// Powers of ten, thinned out evenly if there are more than `most`, with minor ticks at 2 to 9 between them.
///
/// If fewer than two powers are in range, multiples of 1, 2 and 5 are labelled too; if fewer than three of those are in
/// range, the round numbers of a linear axis, at their logarithmic positions.
pub(super) fn of(scale: &Scale, most: usize) -> Ticks {
    let (first, last) = ((scale.low - 1e-9).ceil() as i32, (scale.high + 1e-9).floor() as i32);
    if last - first >= 1 {
        return decades(scale, first, last, most);
    }
    let between = multiples(scale, &[1, 2, 5]);
    if between.len() >= 3 {
        let major = between.into_iter().map(|(digit, decade)| Tick {
            fraction: place(scale, digit, decade),
            label: number(digit, decade),
        });
        let minor = multiples(scale, &[3, 4, 6, 7, 8, 9]);
        let minor = minor.into_iter().map(|(digit, decade)| place(scale, digit, decade)).collect();
        return Ticks { major: major.collect(), minor, common: String::new() };
    }
    narrow(scale, most)
}

fn decades(scale: &Scale, first: i32, last: i32, most: usize) -> Ticks {
    let stride = [1, 2, 5, 10, 20, 50, 100, 200, 500]
        .into_iter()
        .find(|stride| last.div_euclid(*stride) - (first - 1).div_euclid(*stride) <= most as i32)
        .unwrap_or(1000);
    let mut ticks = Ticks::default();
    for decade in first..=last {
        let fraction = place(scale, 1, decade);
        if decade.rem_euclid(stride) == 0 {
            ticks.major.push(Tick { fraction, label: format!("10^{{{}}}", integer(decade)) });
        } else if stride <= 10 {
            ticks.minor.push(fraction);
        }
    }
    if scale.span() <= 8.0 && stride == 1 {
        let minor = multiples(scale, &[2, 3, 4, 5, 6, 7, 8, 9]);
        ticks.minor.extend(minor.into_iter().map(|(digit, decade)| place(scale, digit, decade)));
    }
    ticks
}

/// Ticks of a range shorter than from 1 to 5, over which the logarithm is almost linear.
fn narrow(scale: &Scale, most: usize) -> Ticks {
    let (low, high) = (10f64.powf(scale.low), 10f64.powf(scale.high));
    let mut ticks = linear_ticks::of(&Scale::linear(low, high), most);
    for tick in &mut ticks.major {
        let value = low + tick.fraction * (high - low);
        tick.fraction = scale.fraction(value);
    }
    ticks.major.retain(|tick| is_on_axis(tick.fraction));
    ticks
}

/// The multiples `digit * 10^decade` on the axis, in order.
fn multiples(scale: &Scale, digits: &[i32]) -> Vec<(i32, i32)> {
    let (first, last) = (scale.low.floor() as i32, scale.high.ceil() as i32);
    let all = (first..=last).flat_map(|decade| digits.iter().map(move |digit| (*digit, decade)));
    all.filter(|(digit, decade)| is_on_axis(place(scale, *digit, *decade))).collect()
}

fn place(scale: &Scale, digit: i32, decade: i32) -> f64 {
    let log = f64::from(decade) + f64::from(digit).log10();
    (log - scale.low) / scale.span()
}

fn number(digit: i32, decade: i32) -> String {
    match decade {
        0..=3 => fixed(f64::from(digit) * 10f64.powi(decade), 0),
        -3..=-1 => fixed(f64::from(digit) / 10f64.powi(-decade), -decade as usize),
        _ if digit == 1 => format!("10^{{{}}}", integer(decade)),
        _ => format!("{digit}×10^{{{}}}", integer(decade)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, most: usize) -> Vec<String> {
        of(&Scale::log(low, high), most).major.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn decades_are_labelled_and_minor_ticks_lie_between() {
        let ticks = of(&Scale::log(1e1, 1e4), 9);
        assert_eq!(labels(1e1, 1e4, 9), ["10^{1}", "10^{2}", "10^{3}", "10^{4}"]);
        assert_eq!(ticks.minor.len(), 24);
        let fifty = (50f64.log10() - 1.0) / 3.0;
        assert!(ticks.minor.iter().any(|at| (at - fifty).abs() < 1e-12));
        // Counterexample: a minor tick of a linear decade would be here.
        let linear = (50.0 - 10.0) / 90.0 / 3.0;
        assert!(ticks.minor.iter().all(|at| (at - linear).abs() > 1e-3));
    }

    #[test]
    fn many_decades_are_thinned_out_evenly() {
        assert_eq!(labels(1e-12, 1e3, 5), ["10^{−10}", "10^{−5}", "10^{0}"]);
        assert!(labels(1e-300, 1e300, 5).len() <= 5);
        assert!(labels(1e-300, 1e300, 5).len() >= 3);
    }

    #[test]
    fn within_a_decade_numbers_are_labelled() {
        assert_eq!(labels(1.5, 60.0, 9), ["2", "5", "10", "20", "50"]);
        assert_eq!(labels(0.015, 0.07, 9), ["0.02", "0.03", "0.04", "0.05", "0.06", "0.07"]);
        assert_eq!(labels(1.1e-7, 3e-6, 9), ["2×10^{−7}", "5×10^{−7}", "10^{−6}", "2×10^{−6}"]);
        let ticks = of(&Scale::log(3.0, 4.0), 6);
        let half_way = ticks.major.iter().find(|tick| tick.label == "3.6").map(|tick| tick.fraction);
        assert!(half_way.is_some_and(|at| (at - (3.6f64 / 3.0).ln() / (4.0f64 / 3.0).ln()).abs() < 1e-9));
    }
}
