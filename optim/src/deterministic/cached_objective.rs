//! Objective function in the form that argmin needs, with a cache of the last evaluation.

use std::cell::RefCell;
use std::rc::Rc;

use argmin::core::{CostFunction, Error, Gradient};

use super::metric::Metric;

/// Function to be maximised: writes its gradient and returns its value.
pub(crate) type Objective<'a> = &'a mut dyn FnMut(&[f64], &mut [f64]) -> f64;

/// Minus the objective, with a cache of the last point: argmin asks for cost and gradient in separate calls, and twice at the
/// points of a line search. Argmin's points are in the coordinates of a metric, if there is one.
pub(crate) struct CachedObjective<'a>(RefCell<Last<'a>>);

struct Last<'a> {
    objective: Objective<'a>,
    metric: Option<Rc<Metric>>,
    /// Argmin's point, and the gradient there.
    point: Vec<f64>,
    slopes: Vec<f64>,
    place: Place,
    evaluations: u64,
    has_pole: bool,
}

/// Point in the coordinates of the objective, with the signs of a minimisation: cost is minus the value.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) point: Vec<f64>,
    pub(crate) cost: f64,
    pub(crate) gradient: Vec<f64>,
}

impl Last<'_> {
    /// If the value or its gradient is not finite, the cost is infinite and the gradient zero.
    fn evaluate(&mut self, point: Vec<f64>) -> Place {
        let mut gradient = vec![0.0; point.len()];
        let value = (self.objective)(&point, &mut gradient);
        self.evaluations += 1;
        self.has_pole |= value == f64::INFINITY;
        gradient.iter_mut().for_each(|g| *g = -*g);
        let mut cost = -value;
        if !(value.is_finite() && gradient.iter().all(|g| g.is_finite())) {
            cost = f64::INFINITY;
            gradient.fill(0.0);
        }
        Place { point, cost, gradient }
    }

    fn pulled(&self, gradient: &[f64]) -> Vec<f64> {
        self.metric.as_ref().map_or_else(|| gradient.to_vec(), |metric| metric.pulled(gradient))
    }
}

impl<'a> CachedObjective<'a> {
    /// The objective, evaluated at a start.
    pub(crate) fn new(objective: Objective<'a>, start: &[f64]) -> Self {
        let place = Place { point: Vec::new(), cost: f64::INFINITY, gradient: Vec::new() };
        let (point, slopes) = (start.to_vec(), Vec::new());
        let mut last =
            Last { objective, metric: None, point, slopes, place, evaluations: 0, has_pole: false };
        last.place = last.evaluate(start.to_vec());
        last.slopes.clone_from(&last.place.gradient);
        Self(RefCell::new(last))
    }

    /// Cost and gradient at a point of argmin's.
    fn at(&self, point: &[f64]) -> (f64, Vec<f64>) {
        let last = &mut *self.0.borrow_mut();
        if last.point != point {
            last.point = point.to_vec();
            let place = last.metric.as_ref().map_or_else(|| point.to_vec(), |metric| metric.place(point));
            last.place = last.evaluate(place);
            last.slopes = last.pulled(&last.place.gradient);
        }
        (last.place.cost, last.slopes.clone())
    }

    /// The place of the last point of argmin's.
    pub(crate) fn last(&self) -> Place {
        self.0.borrow().place.clone()
    }

    /// Cost and gradient at a point in the coordinates of the objective, not kept.
    pub(crate) fn aside(&self, point: &[f64]) -> Place {
        self.0.borrow_mut().evaluate(point.to_vec())
    }

    /// Argmin's point and gradient at a place, at which coordinates of a new metric begin; without one the coordinates stay.
    pub(crate) fn begin(&self, here: &Place, metric: Option<Rc<Metric>>) -> (Vec<f64>, Vec<f64>) {
        let last = &mut *self.0.borrow_mut();
        last.point = if metric.is_some() { vec![0.0; here.point.len()] } else { here.point.clone() };
        (last.metric, last.place) = (metric, here.clone());
        last.slopes = last.pulled(&here.gradient);
        (last.point.clone(), last.slopes.clone())
    }

    pub(crate) fn evaluations(&self) -> u64 {
        self.0.borrow().evaluations
    }

    /// True if the value was `+inf` at any point so far.
    pub(crate) fn has_pole(&self) -> bool {
        self.0.borrow().has_pole
    }

    /// The gradient at a place, in the coordinates of the metric.
    pub(crate) fn pulled(&self, place: &Place) -> Vec<f64> {
        self.0.borrow().pulled(&place.gradient)
    }
}

impl CostFunction for &CachedObjective<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, point: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.at(point).0)
    }
}

impl Gradient for &CachedObjective<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, point: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.at(point).1)
    }
}
