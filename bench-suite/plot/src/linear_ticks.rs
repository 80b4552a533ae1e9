//! Ticks of a linear axis.

use super::scale::Scale;
use super::ticks::{Tick, Ticks, is_on_axis};

/// Ticks at multiples of 1, 2 or 5 times a power of ten; of any digit times a power of ten if there would be one tick alone.
pub(super) fn of(scale: &Scale, most: usize) -> Ticks {
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
            ticks.major.push(Tick { fraction, label: fixed(shown, decimals) });
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
pub(super) fn integer(value: i32) -> String {
    value.to_string().replace('-', "−")
}

/// A number with `decimals` decimals and a minus sign; zero has no sign.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let is_zero = text.chars().all(|c| c == '0' || c == '.');
    if value < 0.0 && !is_zero { format!("−{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, most: usize) -> (Vec<String>, String) {
        let ticks = of(&Scale::linear(low, high), most);
        (ticks.major.into_iter().map(|tick| tick.label).collect(), ticks.common)
    }

    #[test]
    fn steps_are_one_two_five() {
        assert_eq!(labels(0.0, 1.0, 6).0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(-0.31, 0.72, 4).0, ["0.0", "0.5"]);
        assert_eq!(labels(-0.31, 0.72, 5).0, ["−0.2", "0.0", "0.2", "0.4", "0.6"]);
        assert_eq!(labels(0.0, 3000.0, 4).0, ["0", "1000", "2000", "3000"]);
    }

    /// A range about zero in which a step of 5 leaves one tick alone has steps of another digit.
    #[test]
    fn a_tick_is_not_alone() {
        assert_eq!(labels(-4.95, 4.5, 3).0, ["−3", "0", "3"]);
        assert_eq!(labels(-9.95, 5.0, 2).0, ["−6", "0"]);
        for low in -200..0 {
            for high in 1..200 {
                for most in 3..9 {
                    let found = labels(f64::from(low) / 20.0, f64::from(high) / 20.0, most).0;
                    assert!(found.len() > 1, "{low} {high} {most}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn large_and_small_labels_share_an_exponent() {
        assert_eq!(labels(0.0, 3e6, 4), (["0", "1", "2", "3"].map(String::from).into(), "×10^{6}".into()));
        let (small, common) = labels(0.0, 2.5e-7, 6);
        assert_eq!((small.join(" "), common.as_str()), ("0.0 0.5 1.0 1.5 2.0 2.5".into(), "×10^{−7}"));
        assert_eq!(labels(-32_500.0, -22_000.0, 4).0, ["−30000", "−25000"]);
    }

    #[test]
    fn a_far_away_range_shares_an_offset() {
        let (near, common) = labels(1e10, 1e10 + 4.0, 5);
        assert_eq!((near.join(" "), common.as_str()), ("0 1 2 3 4".into(), "+ 10000000000"));
    }

    #[test]
    fn every_range_has_ticks_on_it() {
        for (low, high) in
            [(-1e308, 1e308), (1e-300, 1e300), (0.0, 1e-289), (-5e-280, 7e-281), (1.0, 1.0 + 1e-11)]
        {
            for most in 2..9 {
                let scale = Scale::linear(low, high);
                let ticks = of(&scale, most);
                assert!((1..=most).contains(&ticks.major.len()), "{low} {high} {most}: {ticks:?}");
                assert!(ticks.major.iter().all(|tick| is_on_axis(tick.fraction) && tick.label.len() < 12));
            }
        }
    }
}
