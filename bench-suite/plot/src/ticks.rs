//! Ticks of an axis: positions and labels.

use super::scale::Scale;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ticks {
    /// Positions of ticks with a label and a grid line, and labels, with markup.
    pub(super) major: Vec<(f64, String)>,
    /// Short ticks without labels.
    pub(super) minor: Vec<f64>,
    /// Factor or offset common to all labels; empty if there is none.
    pub(super) common: String,
}

impl Ticks {
    /// One tick per category.
    pub(super) fn of_names(scale: &Scale, names: &[String]) -> Self {
        let ticks = names.iter().enumerate().map(|(at, name)| (scale.fraction(at as f64), name.clone()));
        Self { major: ticks.filter(|(fraction, _)| is_on_axis(*fraction)).collect(), ..Self::default() }
    }

    /// Ticks of a numerical scale, as many as `fits` accepts.
    pub(super) fn fitting(scale: &Scale, fits: impl Fn(&Self) -> bool) -> Self {
        let of = |most| if scale.is_log { logarithmic(scale, most) } else { linear(scale, most) };
        (3..=9).rev().map(of).find(fits).unwrap_or_else(|| of(2))
    }
}

/// Returns true if a fraction is on the axis, up to rounding.
pub(super) fn is_on_axis(fraction: f64) -> bool {
    (-1e-9..=1.0 + 1e-9).contains(&fraction)
}

/// Ticks at multiples of 1, 2 or 5 times a power of ten; of any digit times a power of ten if there would be one tick alone.
fn linear(scale: &Scale, most: usize) -> Ticks {
    let Grid { mantissa, exponent, first, last } = Grid::of(scale.low, scale.high, most);
    let magnitude = scale.low.abs().max(scale.high.abs());
    let top = magnitude.log10().floor() as i32;
    let digits = top - exponent;
    let is_shifted = digits > 6;
    let (base, top) = if is_shifted {
        (first, exponent + (last - first).abs().max(1.0).log10() as i32)
    } else {
        (0.0, top)
    };
    let shared = if top >= 5 || top <= -4 { top } else { 0 };
    let decimals = (shared - exponent).max(0) as usize;
    let unit = exponent - shared; // every label is a multiple of mantissa * 10^unit
    let mut ticks = Ticks::default();
    let mut index = first;
    while index <= last {
        let value = times_power(index * mantissa, exponent);
        let shown = times_power((index - base) * mantissa, unit);
        let fraction = scale.fraction(value);
        if is_on_axis(fraction) {
            ticks.major.push((fraction, fixed(shown, decimals)));
        }
        index += 1.0;
    }
    if shared != 0 {
        ticks.common = format!("×10^{{{}}}", integer(shared));
    }
    if is_shifted {
        let value = times_power(base * mantissa, exponent);
        let sign = if value < 0.0 { "−" } else { "+" };
        ticks.common = format!("{} {sign} {}", ticks.common, value.abs()).trim_start().into();
    }
    ticks
}

/// Multiples `first..=last` of `mantissa * 10^exponent`.
struct Grid {
    mantissa: f64,
    exponent: i32,
    first: f64,
    last: f64,
}

impl Grid {
    /// The finest grid with at most `most` points from `low` to `high`.
    fn of(low: f64, high: f64, most: usize) -> Self {
        let grid = Self::with(&[1.0, 2.0, 5.0], low, high, most);
        if grid.last > grid.first {
            return grid;
        }
        Self::with(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], low, high, most)
    }

    /// The finest of the grids with these mantissas.
    fn with(mantissas: &[f64], low: f64, high: f64, most: usize) -> Self {
        let rough = (high / 2.0 - low / 2.0) / most as f64;
        let start = (rough.log10().floor() as i32).max(-300);
        let mut grid = Self { mantissa: 1.0, exponent: start, first: 0.0, last: 0.0 };
        for step in 0..4 * mantissas.len() {
            grid.mantissa = mantissas[step % mantissas.len()];
            grid.exponent = (start + (step / mantissas.len()) as i32).min(308);
            let position = |value: f64| times_power(value, -grid.exponent) / grid.mantissa;
            grid.first = (position(low) - 1e-6).ceil();
            grid.last = (position(high) + 1e-6).floor();
            if grid.last - grid.first + 1.0 <= most as f64 {
                break;
            }
        }
        grid
    }
}

/// `value * 10^exponent` without the rounding error of a negative power: 3 and -1 give 0.3.
fn times_power(value: f64, exponent: i32) -> f64 {
    if exponent >= 0 {
        value * 10f64.powi(exponent)
    } else if exponent >= -300 {
        value / 10f64.powi(-exponent)
    } else {
        value / 10f64.powi(300) / 10f64.powi(-exponent - 300)
    }
}

/// An integer, written with a minus sign instead of a hyphen.
fn integer(value: i32) -> String {
    value.to_string().replace('-', "−")
}

/// A number with `decimals` decimals and a minus sign; zero has no sign.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let is_zero = text.chars().all(|c| c == '0' || c == '.');
    if value < 0.0 && !is_zero { format!("−{text}") } else { text }
}

/// Powers of ten, thinned out evenly if there are more than `most`, with minor ticks at 2 to 9 between them.
///
/// If fewer than two powers are in range, multiples of 1, 2 and 5 are labelled too; if fewer than three of those are in
/// range, the round numbers of a linear axis, at their logarithmic positions.
fn logarithmic(scale: &Scale, most: usize) -> Ticks {
    let (first, last) = ((scale.low - 1e-9).ceil() as i32, (scale.high + 1e-9).floor() as i32);
    if last - first >= 1 {
        return decades(scale, first, last, most);
    }
    let between = multiples(scale, &[1, 2, 5]);
    if between.len() >= 3 {
        let major =
            between.into_iter().map(|(digit, decade)| (place(scale, digit, decade), number(digit, decade)));
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
            ticks.major.push((fraction, format!("10^{{{}}}", integer(decade))));
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
    let mut ticks = linear(&Scale::linear(low, high), most);
    ticks.major.iter_mut().for_each(|(at, _)| *at = scale.fraction(low + *at * (high - low)));
    ticks.major.retain(|(fraction, _)| is_on_axis(*fraction));
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

    fn linear_labels(low: f64, high: f64, most: usize) -> (Vec<String>, String) {
        let ticks = linear(&Scale::linear(low, high), most);
        (ticks.major.into_iter().map(|(_, label)| label).collect(), ticks.common)
    }

    #[test]
    fn steps_are_one_two_five() {
        assert_eq!(linear_labels(0.0, 1.0, 6).0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(linear_labels(-0.31, 0.72, 4).0, ["0.0", "0.5"]);
        assert_eq!(linear_labels(-0.31, 0.72, 5).0, ["−0.2", "0.0", "0.2", "0.4", "0.6"]);
        assert_eq!(linear_labels(0.0, 3000.0, 4).0, ["0", "1000", "2000", "3000"]);
    }

    /// A range about zero in which a step of 5 leaves one tick alone has steps of another digit.
    #[test]
    fn a_tick_is_not_alone() {
        assert_eq!(linear_labels(-4.95, 4.5, 3).0, ["−3", "0", "3"]);
        assert_eq!(linear_labels(-9.95, 5.0, 2).0, ["−6", "0"]);
        for low in -200..0 {
            for high in 1..200 {
                for most in 3..9 {
                    let found = linear_labels(f64::from(low) / 20.0, f64::from(high) / 20.0, most).0;
                    assert!(found.len() > 1, "{low} {high} {most}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn large_and_small_labels_share_an_exponent() {
        assert_eq!(
            linear_labels(0.0, 3e6, 4),
            (["0", "1", "2", "3"].map(String::from).into(), "×10^{6}".into())
        );
        let (small, common) = linear_labels(0.0, 2.5e-7, 6);
        assert_eq!((small.join(" "), common.as_str()), ("0.0 0.5 1.0 1.5 2.0 2.5".into(), "×10^{−7}"));
        assert_eq!(linear_labels(-32_500.0, -22_000.0, 4).0, ["−30000", "−25000"]);
    }

    #[test]
    fn a_far_away_range_shares_an_offset() {
        let (near, common) = linear_labels(1e10, 1e10 + 4.0, 5);
        assert_eq!((near.join(" "), common.as_str()), ("0 1 2 3 4".into(), "+ 10000000000"));
    }

    #[test]
    fn every_range_has_ticks_on_it() {
        for (low, high) in
            [(-1e308, 1e308), (1e-300, 1e300), (0.0, 1e-289), (-5e-280, 7e-281), (1.0, 1.0 + 1e-11)]
        {
            for most in 2..9 {
                let scale = Scale::linear(low, high);
                let ticks = linear(&scale, most);
                assert!((1..=most).contains(&ticks.major.len()), "{low} {high} {most}: {ticks:?}");
                assert!(ticks.major.iter().all(|(at, label)| is_on_axis(*at) && label.len() < 12));
            }
        }
    }

    fn log_labels(low: f64, high: f64, most: usize) -> Vec<String> {
        logarithmic(&Scale::log(low, high), most).major.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn many_decades_are_thinned_out_evenly() {
        assert_eq!(log_labels(1e-12, 1e3, 5), ["10^{−10}", "10^{−5}", "10^{0}"]);
        assert!(log_labels(1e-300, 1e300, 5).len() <= 5);
        assert!(log_labels(1e-300, 1e300, 5).len() >= 3);
    }

    #[test]
    fn within_a_decade_numbers_are_labelled() {
        assert_eq!(log_labels(1.5, 60.0, 9), ["2", "5", "10", "20", "50"]);
        assert_eq!(log_labels(0.015, 0.07, 9), ["0.02", "0.03", "0.04", "0.05", "0.06", "0.07"]);
        assert_eq!(log_labels(1.1e-7, 3e-6, 9), ["2×10^{−7}", "5×10^{−7}", "10^{−6}", "2×10^{−6}"]);
        let ticks = logarithmic(&Scale::log(3.0, 4.0), 6);
        let half_way = ticks.major.iter().find(|(_, label)| label == "3.6").map(|(at, _)| *at);
        assert!(half_way.is_some_and(|at| (at - (3.6f64 / 3.0).ln() / (4.0f64 / 3.0).ln()).abs() < 1e-9));
    }
}
