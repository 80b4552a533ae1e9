//! Nelder-Mead simplex method: maximisation without gradients.

use std::cell::RefCell;

use argmin::core::{CostFunction, IterState, Problem, Solver, State, TerminationStatus};
use argmin::solver::neldermead::NelderMead as Simplex;
use mcsa_core::Error;

/// Simplex method of Nelder & Mead (1965) for maximisation, by argmin: for functions of a few arguments with kinks or plateaus,
/// such as the largest of several ratios.
///
/// The corners of the first simplex are the start and, for each coordinate, the start moved by `width`. The run ends when the
/// values at the corners have a standard deviation below `tolerance`, when the iterations are used up, or at a value of `+inf`.
/// Points at which the function is NaN or `-inf` are avoided. The result is a local maximum at best: use several starts.
///
/// ```
/// use mcsa_optim::deterministic::NelderMead;
/// let kinked = |x: &[f64]| -(x[0] - 1.0).abs() - (x[1] + 2.0).abs();
/// let top = NelderMead::default().maximise(kinked, &[0.0, 0.0])?;
/// assert!(top.value > -1e-6 && (top.point[1] + 2.0).abs() < 1e-6);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NelderMead {
    /// Distance of the other corners of the first simplex from the start, along each axis.
    pub width: f64,
    /// Standard deviation of the values at the corners below which the run ends.
    pub tolerance: f64,
    /// Largest number of iterations.
    pub iterations: u64,
}

impl Default for NelderMead {
    /// Width 0.5, tolerance `1e-12`, 1000 iterations.
    fn default() -> Self {
        Self { width: 0.5, tolerance: 1e-12, iterations: 1000 }
    }
}

/// Result of a [`NelderMead`] run: the best point evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Top {
    /// The point; the start if the function was nowhere finite.
    pub point: Vec<f64>,
    /// The value at the point; `-inf` if the function was nowhere finite.
    pub value: f64,
    /// The number of evaluations of the function.
    pub evaluations: u64,
}

/// Cost of forbidden points: larger than any other, but finite, because argmin computes means of costs.
const FORBIDDEN: f64 = 1e300;

/// Minus the function, as argmin's cost, and the best point so far.
struct Upside<'a>(RefCell<Climb<'a>>);

struct Climb<'a> {
    objective: &'a mut dyn FnMut(&[f64]) -> f64,
    top: Top,
}

/// State that argmin keeps for an iteration.
type Iterate = IterState<Vec<f64>, (), (), (), (), f64>;

impl CostFunction for &Upside<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, point: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        let Climb { objective, top } = &mut *self.0.borrow_mut();
        let value = objective(point);
        top.evaluations += 1;
        if value > top.value {
            top.value = value;
            top.point.copy_from_slice(point);
        }
        Ok(if value.is_nan() { FORBIDDEN } else { (-value).clamp(-FORBIDDEN, FORBIDDEN) })
    }
}

impl NelderMead {
    /// Maximises `objective` from `start`.
    ///
    /// # Errors
    /// If the start is empty or not finite, the width is not positive and finite, or the tolerance is negative or NaN.
    pub fn maximise(&self, mut objective: impl FnMut(&[f64]) -> f64, start: &[f64]) -> Result<Top, Error> {
        let within = |error: Error| error.within("NelderMead");
        let refused = |error: argmin::core::Error| within(Error::invalid(format!("argmin: {error}")));
        mcsa_core::all_finite("start", start).map_err(within)?;
        if start.is_empty() {
            return Err(within(Error::invalid("there is no coordinate to move")));
        }
        mcsa_core::positive("width", self.width).map_err(within)?;
        if !(self.tolerance >= 0.0) {
            return Err(within(Error::parameter("tolerance", self.tolerance, "not negative")));
        }
        let mut corners = vec![start.to_vec(); start.len() + 1];
        for (k, corner) in corners.iter_mut().skip(1).enumerate() {
            corner[k] += self.width;
        }
        let top = Top { point: start.to_vec(), value: f64::NEG_INFINITY, evaluations: 0 };
        let upside = Upside(RefCell::new(Climb { objective: &mut objective, top }));
        let mut problem = Problem::new(&upside);
        let mut simplex = Simplex::new(corners).with_sd_tolerance(self.tolerance).map_err(refused)?;
        let (mut state, _) = simplex.init(&mut problem, Iterate::new()).map_err(refused)?;
        for _ in 0..self.iterations {
            let is_done =
                Solver::<&Upside<'_>, _>::terminate(&mut simplex, &state) != TerminationStatus::NotTerminated;
            if is_done || upside.0.borrow().top.value == f64::INFINITY {
                break;
            }
            state = simplex.next_iter(&mut problem, state).map_err(refused)?.0;
        }
        drop(problem);
        Ok(upside.0.into_inner().top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_around_what_is_forbidden() {
        let cliff = |x: &[f64]| match x[0] {
            x if x > 0.9 => f64::NAN,
            x if x < -0.1 => f64::NEG_INFINITY,
            x => x,
        };
        let top = NelderMead::default().maximise(cliff, &[0.2]).unwrap();
        assert!(top.value > 0.899 && top.value <= 0.9, "{}", top.value);
    }

    #[test]
    fn a_pole_ends_the_climb() {
        let pole = |x: &[f64]| if x[0] > 3.0 { f64::INFINITY } else { x[0] };
        let top = NelderMead::default().maximise(pole, &[0.0]).unwrap();
        assert!(top.value == f64::INFINITY && top.evaluations < 30);
    }

    #[test]
    fn nothing_finite_is_told_and_nonsense_refused() {
        let nowhere = NelderMead::default().maximise(|_| f64::NAN, &[0.0]).unwrap();
        assert_eq!(nowhere.value, f64::NEG_INFINITY);
        assert!(NelderMead::default().maximise(|_| 0.0, &[]).is_err());
        assert!(NelderMead::default().maximise(|_| 0.0, &[f64::NAN]).is_err());
        assert!(NelderMead { width: 0.0, ..NelderMead::default() }.maximise(|_| 0.0, &[1.0]).is_err());
        assert!(
            NelderMead { tolerance: f64::NAN, ..NelderMead::default() }.maximise(|_| 0.0, &[1.0]).is_err()
        );
    }

    /// Negative control: without iterations only the first simplex is evaluated.
    #[test]
    fn iterations_are_what_climbs() {
        let hill = |x: &[f64]| -(x[0] - 5.0).powi(2) - (x[1] - 5.0).powi(2);
        let still =
            NelderMead { iterations: 0, ..NelderMead::default() }.maximise(hill, &[0.0, 0.0]).unwrap();
        assert_eq!(still.evaluations, 3);
        assert!(still.value < -40.0);
        assert!(NelderMead::default().maximise(hill, &[0.0, 0.0]).unwrap().value > -1e-8);
    }
}
