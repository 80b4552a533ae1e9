//! Log densities that rounding decides.
//!
//! Sums that cancel lose their digits far out, as `ln_gamma(k + y) - ln_gamma(k)` does for k = 10^15. Their errors have either sign and grow
//! without bound, so that points far out may seem to have more density than all others. Such a point counts as outside the support.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use faer::{Mat, MatRef};
use mcsa_core::{LogDensity, batch, bits};
use serde::{Deserialize, Serialize};

/// The highest log density that is known, and a place on which rounding has no part: the first mode, with the scales around it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Known {
    #[serde(with = "bits::scalar")]
    pub(crate) top: f64,
    #[serde(with = "bits::scalar")]
    pub(crate) log_p: f64,
    #[serde(with = "bits::vector")]
    pub(crate) point: Vec<f64>,
    #[serde(with = "bits::vector")]
    pub(crate) scales: Vec<f64>,
}

/// Distances from a point in units of the scales, so short that a density is smooth over them: one far and, within a tenth of it, some near.
const FAR: f64 = 1e-7;
const NEAR: f64 = 1e-9;
/// Points around one, of which the first two are far, and those that are looked at before the others.
const AROUND: usize = 22;
const FIRST: usize = 6;
/// Smallest near distance, in units of a coordinate, so that it changes.
const LEAST: f64 = 1e-14;
/// Number of points as high that rounding does not decide, from which on a height is known: few errors may pass.
const HIGH: usize = 10;
/// Difference of log densities that matters, and that to the highest known one from which on a point is looked at.
const MATTERS: f64 = 1.0;
const ABOVE: f64 = 10.0;

/// Look at points that are far higher than all known ones.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The highest log density that is known.
    top: AtomicU64,
    /// The largest log densities so far of points that rounding does not decide, at most [`HIGH`], in ascending order.
    highest: Mutex<Vec<f64>>,
    known: RwLock<Option<(Known, OnceLock<bool>)>>,
    is_paused: AtomicBool,
}

impl Default for Guard {
    fn default() -> Self {
        let top = AtomicU64::new(f64::INFINITY.to_bits());
        Self { top, highest: Mutex::default(), known: RwLock::default(), is_paused: AtomicBool::default() }
    }
}

/// Evaluates log densities of columns; false if a limit forbids it.
type Evaluate<'e> = dyn FnMut(MatRef<'_, f64>, &mut [f64]) -> bool + 'e;

impl Guard {
    /// Begins a piece of work in which so much is known.
    pub(crate) fn watch(&self, known: Option<&Known>) {
        let top = known.map_or(f64::INFINITY, |known| known.top);
        self.top.store(top.to_bits(), Relaxed);
        self.highest().clear();
        let known = known.map(|known| (known.clone(), OnceLock::new()));
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    fn highest(&self) -> MutexGuard<'_, Vec<f64>> {
        self.highest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The highest log density that is known after the piece of work.
    pub(crate) fn top(&self) -> f64 {
        let (top, highest) = (f64::from_bits(self.top.load(Relaxed)), self.highest());
        if highest.len() < HIGH { top } else { highest[0].max(top) }
    }

    /// The log density above which points are looked at.
    fn limit(&self) -> f64 {
        f64::from_bits(self.top.load(Relaxed)) + ABOVE
    }

    /// True if one of the values is far above all known ones.
    pub(crate) fn is_exceeded(&self, values: &[f64]) -> bool {
        !self.is_paused.load(Relaxed) && values.iter().any(|value| *value > self.limit())
    }

    /// Does work without a look at any point.
    pub(crate) fn paused<T>(&self, work: impl FnOnce() -> T) -> T {
        let was_paused = self.is_paused.swap(true, Relaxed);
        let done = work();
        self.is_paused.store(was_paused, Relaxed);
        done
    }

    /// True if this log density is not far above all known ones, or rounding does not decide it. Then it is known.
    pub(crate) fn is_sound(&self, target: &dyn LogDensity, z: &[f64], log_p: f64) -> bool {
        let (mut values, is_above) = ([log_p], log_p > self.limit());
        if is_above {
            self.paused(|| {
                self.check(batch(z, z.len(), 1), &mut values, &mut |around, out| {
                    target.log_densities(around, out, &mut vec![0.0; target.work_len(around.ncols())]);
                    true
                });
            });
        }
        let is_sound = values[0] > f64::NEG_INFINITY;
        if is_above && is_sound {
            self.top.store(log_p.to_bits(), Relaxed);
        }
        is_sound
    }

    /// Sets values that are far above all known ones to minus infinity where rounding decides them. Where it decides the mode, too, it decides all,
    /// and nothing is cut off.
    pub(crate) fn check(&self, z: MatRef<'_, f64>, values: &mut [f64], evaluate: &mut Evaluate<'_>) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some((Known { log_p, point, scales, .. }, is_everywhere)) = &*known else { return };
        let limit = self.limit();
        let mut is_rough = |z: &dyn Fn(usize) -> f64, value: f64| {
            let (around, mut found) = (around(z, scales), [0.0; AROUND]);
            // Most errors show at the first points.
            for (first, count) in [(0, FIRST), (FIRST, AROUND - FIRST)] {
                let is_made = evaluate(around.subcols(first, count), &mut found[first..first + count]);
                if !is_made || is_decided_by_rounding(value, &found[..first + count]) {
                    return is_made.then_some(true);
                }
            }
            Some(false)
        };
        if *is_everywhere.get_or_init(|| is_rough(&|i| point[i], *log_p).unwrap_or(false)) {
            return;
        }
        for (j, value) in
            values.iter_mut().enumerate().filter(|(_, value)| value.is_finite() && **value > limit)
        {
            match is_rough(&|i| z[(i, j)], *value) {
                None => *value = f64::NAN,
                Some(true) => *value = f64::NEG_INFINITY,
                Some(false) => {
                    let mut highest = self.highest();
                    let place = highest.partition_point(|other| other < value);
                    highest.insert(place, *value);
                    if highest.len() > HIGH {
                        highest.remove(0);
                    }
                }
            }
        }
    }
}

/// Points around one, one step to either side in all coordinates.
fn around(z: &dyn Fn(usize) -> f64, scales: &[f64]) -> Mat<f64> {
    let distance = |c: usize| if c == 0 { FAR } else { NEAR * c as f64 };
    Mat::from_fn(scales.len(), AROUND, |i, c| {
        let step = scales[i].max(LEAST / NEAR * z(i).abs()) * distance(c / 2);
        z(i) + if c % 2 == 0 { step } else { -step }
    })
}

/// True if near points differ from the value as far ones do, the first two: of a smooth density the differences fall with the distance, to a
/// tenth or less, of rounding errors they do not. A border of the support is no rounding.
fn is_decided_by_rounding(value: f64, around: &[f64]) -> bool {
    if around.contains(&f64::NEG_INFINITY) {
        return false;
    }
    let (far, near) = around.split_at(2);
    let largest = |values: &[f64]| {
        values.iter().map(|x| (x - value).abs()).fold(0.0, |a, b| if b <= a { a } else { b })
    };
    !(largest(near) <= MATTERS.max(0.25 * largest(far)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value that a guard leaves of a log density at 3, and the number of evaluations. The mode 0 has the log density 0.
    fn left_of(density: &dyn Fn(f64) -> f64) -> (f64, usize) {
        let guard = Guard::default();
        guard.watch(Some(&Known { top: 0.0, log_p: 0.0, point: vec![0.0], scales: vec![1.0] }));
        let (mut values, mut made) = ([density(3.0)], 0);
        if guard.is_exceeded(&values) {
            guard.check(batch(&[3.0], 1, 1), &mut values, &mut |z, out| {
                made += z.ncols();
                out.iter_mut().enumerate().for_each(|(c, out)| *out = density(z[(0, c)]));
                true
            });
        }
        (values[0], made)
    }

    /// Digits of z beyond the seventh, from 0 to 1.
    fn noise(z: f64) -> f64 {
        (z * 1e11).sin().abs()
    }

    #[test]
    fn a_height_that_rounding_decides_is_cut_off_and_a_true_one_stays() {
        let narrow = |z: f64| if z < 1.0 { 0.0 } else { 50.0 - 0.5 * ((z - 3.0) / 1e-8).powi(2) };
        let border = |z: f64| if z > 3.0 + 1e-9 { f64::NEG_INFINITY } else { 20.0 * z };
        let rough = |z: f64| if z < 1.0 { 0.0 } else { 50.0 + 30.0 * noise(z) };
        let low = |z: f64| if z < 1.0 { 0.0 } else { 9.0 * noise(z) };
        let everywhere = |z: f64| 50.0 + 30.0 * noise(z);
        assert_eq!(left_of(&rough), (f64::NEG_INFINITY, 28));
        // Counterexamples: a mode of width 1e-8, a border of the support, errors below all that is known, and errors at the mode, too.
        assert_eq!(left_of(&narrow), (50.0, 44));
        assert_eq!(left_of(&border), (60.0, 44));
        assert_eq!(left_of(&low), (low(3.0), 0));
        assert_eq!(left_of(&everywhere), (everywhere(3.0), 6));
    }
}
