//! Learning rate schedules `gamma_t`.

use std::fmt;

use mcsa_core::{Error, positive};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::rules::not_negative;

/// Learning rate schedule: the rate `gamma_t` as a function of the step `t = 1, 2, ..`.
///
/// | kind | `gamma_t` | fields |
/// |---|---|---|
/// | (a plain number) | `rate` | |
/// | `constant` | `rate` | `rate` |
/// | `inverse` | `gamma / t` | `gamma` |
/// | `power` | `gamma / (offset + t)^exponent` | `gamma`, `offset` (0), `exponent` |
/// | `drops` | `rate * factor^k`, where `k` counts the entries of `after` less than `t` | `rate`, `factor`, `after` |
///
/// Stochastic approximation converges if the steps can reach any distance and the noise averages out, `sum gamma_t = inf` and
/// `sum gamma_t^2 < inf` (Robbins & Monro 1951): `inverse`, and `power` with an exponent above 1/2. These conditions are also those for
/// Markov chains in place of independent draws (Gu & Kong 1998). With a constant rate lambda ends up fluctuating around the
/// optimum, with a spread that grows with the rate: average the iterates, or drop the rate.
///
/// Units: those of the rate of the optimiser that uses it: lambda squared for [`Sgd`](crate::Sgd) and momentum, lambda for
/// [`Adam`](crate::Adam), RMSProp and AdaGrad.
///
/// ```
/// use mcsa_optim::Schedule;
/// let power = Schedule::power(2.0, 1.0, 0.5)?;
/// assert_eq!(power.at(3), 1.0);
/// let from_file: Schedule = toml::from_str("kind = 'power'\ngamma = 2\noffset = 1\nexponent = 0.5").unwrap();
/// assert_eq!(from_file, power);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule(Shape);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Shape {
    Constant {
        rate: f64,
    },
    Inverse {
        gamma: f64,
    },
    Power {
        gamma: f64,
        #[serde(default)]
        offset: f64,
        exponent: f64,
    },
    Drops {
        rate: f64,
        factor: f64,
        after: Vec<u64>,
    },
}

impl Schedule {
    /// `gamma_t = rate`.
    ///
    /// # Errors
    /// If the rate is not positive and finite.
    pub fn constant(rate: f64) -> Result<Self, Error> {
        Self::checked(Shape::Constant { rate })
    }

    /// `gamma_t = gamma / t`.
    ///
    /// # Errors
    /// If `gamma` is not positive and finite.
    pub fn inverse(gamma: f64) -> Result<Self, Error> {
        Self::checked(Shape::Inverse { gamma })
    }

    /// `gamma_t = gamma / (offset + t)^exponent`.
    ///
    /// # Errors
    /// If `gamma` is not positive, `offset` is negative, or `exponent` is outside `(0, 1]`: with a larger exponent the sum of all
    /// rates is finite, and lambda may never reach the optimum.
    pub fn power(gamma: f64, offset: f64, exponent: f64) -> Result<Self, Error> {
        Self::checked(Shape::Power { gamma, offset, exponent })
    }

    /// `rate` for the first `after[0]` steps, then `rate * factor` until step `after[1]`, and so on.
    ///
    /// # Errors
    /// If the rate is not positive, the factor is outside `(0, 1)`, or `after` is not increasing.
    pub fn drops(rate: f64, factor: f64, after: Vec<u64>) -> Result<Self, Error> {
        Self::checked(Shape::Drops { rate, factor, after })
    }

    /// `gamma_t`, for `t` counted from 1.
    pub fn at(&self, t: u64) -> f64 {
        let steps = t as f64;
        match &self.0 {
            Shape::Constant { rate } => *rate,
            Shape::Inverse { gamma } => gamma / steps,
            Shape::Power { gamma, offset, exponent } => gamma / (offset + steps).powf(*exponent),
            Shape::Drops { rate, factor, after } => {
                after.iter().take_while(|last| **last < t).fold(*rate, |rate, _| rate * factor)
            }
        }
    }

    fn checked(shape: Shape) -> Result<Self, Error> {
        let within = |error: Error| error.within("Schedule");
        match &shape {
            Shape::Constant { rate } => positive("rate", *rate)?,
            Shape::Inverse { gamma } => positive("gamma", *gamma).map_err(within)?,
            Shape::Power { gamma, offset, exponent } => {
                positive("gamma", *gamma).and_then(|()| not_negative("offset", *offset)).map_err(within)?;
                if !(*exponent > 0.0 && *exponent <= 1.0) {
                    return Err(within(Error::parameter("exponent", *exponent, "positive and at most 1")));
                }
            }
            Shape::Drops { rate, factor, after } => {
                positive("rate", *rate).map_err(within)?;
                if !(*factor > 0.0 && *factor < 1.0) {
                    return Err(within(Error::parameter("factor", *factor, "between 0 and 1")));
                }
                if !after.is_sorted_by(|a, b| a < b) || after.first() == Some(&0) {
                    let reason = format!("after is {after:?}, expected increasing steps from 1 on");
                    return Err(within(Error::invalid(reason)));
                }
            }
        }
        Ok(Self(shape))
    }
}

/// Rate argument of a constructor: a number, for a constant rate, or a [`Schedule`].
pub trait IntoSchedule {
    /// The schedule; a number becomes a constant one.
    ///
    /// # Errors
    /// If the number is not positive and finite.
    fn into_schedule(self) -> Result<Schedule, Error>;
}

impl IntoSchedule for f64 {
    fn into_schedule(self) -> Result<Schedule, Error> {
        Schedule::constant(self)
    }
}

impl IntoSchedule for Schedule {
    fn into_schedule(self) -> Result<Schedule, Error> {
        Ok(self)
    }
}

impl Serialize for Schedule {
    /// Writes a constant schedule as a plain number, for compatibility with files that were written before schedules existed.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Shape::Constant { rate } => serializer.serialize_f64(*rate),
            shape => shape.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrTable)
    }
}

struct NumberOrTable;

impl<'de> Visitor<'de> for NumberOrTable {
    type Value = Schedule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a table with the kind of a schedule")
    }

    fn visit_f64<E: de::Error>(self, rate: f64) -> Result<Schedule, E> {
        Schedule::constant(rate).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, rate: u64) -> Result<Schedule, E> {
        self.visit_f64(rate as f64)
    }

    fn visit_i64<E: de::Error>(self, rate: i64) -> Result<Schedule, E> {
        self.visit_f64(rate as f64)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Schedule, A::Error> {
        let shape = Shape::deserialize(MapAccessDeserializer::new(map))?;
        Schedule::checked(shape).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_hand() {
        let power = |gamma, offset, exponent| Schedule::power(gamma, offset, exponent).unwrap();
        let drops = |after| Schedule::drops(8.0, 0.5, after).unwrap();
        for (schedule, expected) in [
            (Schedule::constant(0.3).unwrap(), [0.3; 4]),
            (Schedule::inverse(6.0).unwrap(), [6.0, 3.0, 2.0, 1.5]),
            (power(6.0, 0.0, 1.0), [6.0, 3.0, 2.0, 1.5]),
            (power(2.0, 0.0, 0.5), [2.0, std::f64::consts::SQRT_2, 2.0 / 3.0_f64.sqrt(), 1.0]),
            (drops(vec![1, 3]), [8.0, 4.0, 4.0, 2.0]),
            (drops(vec![]), [8.0; 4]),
        ] {
            for (t, expected) in (1..).zip(expected) {
                assert!((schedule.at(t) - expected).abs() < 1e-15, "{schedule:?} {t}");
            }
        }
        assert!((power(8.0, 7.0, 2.0 / 3.0).at(1) - 2.0).abs() < 1e-15);
        assert_eq!(drops(vec![1, 3]).at(1_000_000), 2.0);
    }

    #[test]
    fn impossible_schedules_are_errors() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            for schedule in [
                Schedule::constant(bad),
                Schedule::inverse(bad),
                Schedule::power(bad, 0.0, 1.0),
                Schedule::power(1.0, 0.0, bad),
                Schedule::drops(bad, 0.1, vec![]),
                Schedule::drops(1.0, bad, vec![]),
            ] {
                assert!(schedule.is_err(), "{bad} {schedule:?}");
            }
        }
        assert!(Schedule::power(1.0, -0.5, 1.0).is_err());
        assert!(Schedule::power(1.0, 0.0, 1.5).is_err());
        assert!(Schedule::drops(1.0, 1.0, vec![]).is_err());
        for after in [vec![0], vec![3, 3], vec![4, 2]] {
            assert!(Schedule::drops(1.0, 0.1, after).is_err());
        }
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder {
        rate: Schedule,
    }

    /// A number or a table, checked where it is read; what is written is read.
    #[test]
    fn schedules_in_files() {
        let read = |text: &str| toml::from_str::<Holder>(text).map(|holder| holder.rate);
        for (text, rate) in [
            ("1", Schedule::constant(1.0)),
            ("0.01", Schedule::constant(0.01)),
            ("{ kind = 'inverse', gamma = 0.5 }", Schedule::inverse(0.5)),
            ("{ kind = 'power', gamma = 0.1, offset = 0.2, exponent = 0.3 }", Schedule::power(0.1, 0.2, 0.3)),
            (
                "{ kind = 'drops', rate = 0.001, factor = 0.1, after = [15_000, 30_000] }",
                Schedule::drops(0.001, 0.1, vec![15_000, 30_000]),
            ),
        ] {
            let rate = rate.unwrap();
            assert_eq!(read(&format!("rate = {text}")).unwrap(), rate);
            let json = serde_json::to_string(&rate).unwrap();
            assert_eq!(serde_json::from_str::<Schedule>(&json).unwrap(), rate, "{json}");
            let holder = Holder { rate };
            assert_eq!(toml::from_str::<Holder>(&toml::to_string(&holder).unwrap()).unwrap(), holder);
        }
        assert_eq!(serde_json::to_string(&Schedule::constant(0.5).unwrap()).unwrap(), "0.5");
        for (text, error) in [
            ("-1", "rate is -1, expected positive and finite"),
            ("{ kind = 'inverse', gamma = 0 }", "Schedule: gamma is 0, expected positive and finite"),
            ("{ kind = 'inverse', gamma = 1, offset = 2 }", "offset"),
            ("{ kind = 'cosine', gamma = 1 }", "cosine"),
            ("'fast'", "expected a number, or a table"),
        ] {
            let found = read(&format!("rate = {text}")).unwrap_err().message().to_owned();
            assert!(found.contains(error), "{found}");
        }
    }
}
