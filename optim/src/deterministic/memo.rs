//! Objective function in the form that argmin needs, with a cache of the last evaluation.

use std::cell::RefCell;

use argmin::core::{CostFunction, Error, Gradient};

/// Function to be maximised: writes its gradient and returns its value.
pub(crate) type Objective<'a> = &'a mut dyn FnMut(&[f64], &mut [f64]) -> f64;

/// Minus the objective, with a cache of the last point: argmin asks for cost and gradient in separate calls, and twice at the
/// points of a line search.
pub(crate) struct Memo<'a>(RefCell<Last<'a>>);

struct Last<'a> {
    objective: Objective<'a>,
    point: Vec<f64>,
    cost: f64,
    gradient: Vec<f64>,
    evaluations: u64,
    has_pole: bool,
}

impl<'a> Memo<'a> {
    pub(crate) fn new(objective: Objective<'a>) -> Self {
        let last = Last {
            objective,
            point: Vec::new(),
            cost: f64::INFINITY,
            gradient: Vec::new(),
            evaluations: 0,
            has_pole: false,
        };
        Self(RefCell::new(last))
    }

    /// Cost and gradient at a point. If the value or its gradient is not finite, the cost is infinite and the gradient zero.
    pub(crate) fn at(&self, point: &[f64]) -> (f64, Vec<f64>) {
        let last = &mut *self.0.borrow_mut();
        if last.evaluations == 0 || last.point != point {
            last.point = point.to_vec();
            last.gradient.clear();
            last.gradient.resize(point.len(), 0.0);
            let value = (last.objective)(point, &mut last.gradient);
            last.evaluations += 1;
            last.has_pole |= value == f64::INFINITY;
            last.gradient.iter_mut().for_each(|g| *g = -*g);
            last.cost = -value;
            if !(value.is_finite() && last.gradient.iter().all(|g| g.is_finite())) {
                last.cost = f64::INFINITY;
                last.gradient.fill(0.0);
            }
        }
        (last.cost, last.gradient.clone())
    }

    pub(crate) fn evaluations(&self) -> u64 {
        self.0.borrow().evaluations
    }

    /// True if the value was `+inf` at any point so far.
    pub(crate) fn has_pole(&self) -> bool {
        self.0.borrow().has_pole
    }

    /// The point of the last evaluation.
    pub(crate) fn last(&self) -> Vec<f64> {
        self.0.borrow().point.clone()
    }
}

impl CostFunction for &Memo<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, point: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.at(point).0)
    }
}

impl Gradient for &Memo<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, point: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.at(point).1)
    }
}
