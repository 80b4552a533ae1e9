//! Bisection line search for the weak Wolfe conditions, for functions that may be infinite.

use argmin::core::{
    ArgminError, CostFunction, Error, Gradient, IterState, KV, LineSearch, Problem, Solver, State,
    TerminationReason,
};

/// Line search for the weak Wolfe conditions by doubling and bisection (Lewis & Overton 2013, Alg. 2.6).
///
/// ```text
/// cost(x + t d) <= cost(x) + c1 t slope        slope(x + t d) >= c2 slope,        slope = gradient . d
/// ```
/// A step that violates the first condition, or has an infinite cost, is too long; one that violates the second is too short. Line
/// searches that interpolate costs instead compute NaN from an infinite cost. Near the optimum, where costs differ by rounding
/// alone, a cost that is equal up to rounding is accepted if the slope has not grown (Hager & Zhang 2005).
#[derive(Debug, Clone, Default)]
pub(crate) struct Bisection {
    start: Vec<f64>,
    direction: Vec<f64>,
    first: Option<f64>,
    cost: f64,
    slope: f64,
    step: f64,
    low: f64,
    high: f64,
    trials: u32,
}

/// Constants of the sufficient decrease and the curvature condition (Nocedal & Wright 2006, ch. 3).
const C1: f64 = 1e-4;
const C2: f64 = 0.9;

/// Largest number of trial steps: enough to double or halve a step through every scale that matters.
const MOST_TRIALS: u32 = 100;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl LineSearch<Vec<f64>, f64> for Bisection {
    fn search_direction(&mut self, direction: Vec<f64>) {
        self.direction = direction;
    }

    fn initial_step_length(&mut self, step: f64) -> Result<(), Error> {
        self.first = Some(step);
        Ok(())
    }
}

type Iterate = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;

impl<O> Solver<O, Iterate> for Bisection
where
    O: CostFunction<Param = Vec<f64>, Output = f64> + Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
{
    fn name(&self) -> &str {
        "bisection for the weak Wolfe conditions"
    }

    fn init(
        &mut self,
        problem: &mut Problem<O>,
        mut iterate: Iterate,
    ) -> Result<(Iterate, Option<KV>), Error> {
        let no_start = || ArgminError::NotInitialized { text: "a line search needs a start".into() };
        self.start = iterate.take_param().ok_or_else(no_start)?;
        self.cost = problem.cost(&self.start)?;
        let gradient = problem.gradient(&self.start)?;
        self.slope = dot(&gradient, &self.direction);
        if !(self.slope < 0.0 && self.slope.is_finite() && self.cost.is_finite()) {
            let text = format!("the slope along the direction is {}", self.slope);
            return Err(ArgminError::ConditionViolated { text }.into());
        }
        // Along the plain gradient, without curvature from earlier steps, the first trial step has a length of at most 1.
        let is_plain = gradient.iter().zip(&self.direction).all(|(g, d)| -g == *d);
        let unit = if is_plain { (-self.slope).sqrt().recip().min(1.0) } else { 1.0 };
        self.step = self.first.unwrap_or(unit);
        (self.low, self.high, self.trials) = (0.0, f64::INFINITY, 0);
        Ok((iterate, None))
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<O>,
        iterate: Iterate,
    ) -> Result<(Iterate, Option<KV>), Error> {
        let param: Vec<f64> =
            self.start.iter().zip(&self.direction).map(|(x, d)| x + self.step * d).collect();
        let cost = problem.cost(&param)?;
        let gradient = problem.gradient(&param)?;
        let slope = dot(&gradient, &self.direction);
        let rounding = 8.0 * f64::EPSILON * self.cost.abs();
        let falls = cost <= self.cost + C1 * self.step * self.slope;
        let stays = cost <= self.cost + rounding && slope <= (2.0 * C1 - 1.0) * self.slope;
        if !(cost.is_finite() && (falls || stays)) {
            self.high = self.step;
        } else if slope < C2 * self.slope {
            self.low = self.step;
        } else {
            let iterate = iterate.param(param).cost(cost).gradient(gradient);
            return Ok((iterate.terminate_with(TerminationReason::SolverConverged), None));
        }
        self.step = if self.high.is_finite() { 0.5 * (self.low + self.high) } else { 2.0 * self.step };
        self.trials += 1;
        if self.trials == MOST_TRIALS || self.step == self.low || self.step == self.high {
            let text = format!("no step among {} fulfils the Wolfe conditions", self.trials);
            return Err(ArgminError::ConditionViolated { text }.into());
        }
        Ok((iterate, None))
    }
}
