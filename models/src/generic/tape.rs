//! Reverse accumulation of gradients (Griewank and Walther 2008, chapter 3): a tape of partial derivatives, read backwards.

use std::cell::Cell;
use std::iter::Sum;
use std::mem::take;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::real::Real;

/// Number on the tape: a value, and its derivative `slope` in one node of the tape.
///
/// A function of one variable has the node of its argument and a larger product of slopes: only what joins two nodes makes a third.
#[derive(Debug, Clone, Copy)]
pub(super) struct Variable<'t> {
    value: f64,
    slope: f64,
    node: u32,
    /// `None` for a constant, whose node is [`CONSTANT`].
    tape: Option<&'t Tape>,
}

const CONSTANT: u32 = u32::MAX;

/// Derivative of a node in an earlier one.
#[derive(Debug, Clone, Copy, Default)]
struct Edge {
    slope: f64,
    of: u32,
    by: u32,
}

/// In place of `by`: one edge to each of many nodes that follow each other. Their slopes are in a row; the bits of `slope` are the
/// first node and the number of nodes.
const ROW: u32 = u32::MAX;

/// Edges of all nodes, those of a node before those of any node that depends on it. A node has the index of its first edge; the
/// inputs have the first indices, without edges.
///
/// Lengths go on where there is no room. The formula is then evaluated again, with room.
#[derive(Debug, Default)]
struct Tape {
    len: Cell<usize>,
    edges: Vec<Cell<Edge>>,
    slopes_len: Cell<usize>,
    slopes: Vec<Cell<f64>>,
}

/// Memory of gradients on one thread. Its length depends on the formula and on the point, so that no caller can lend it.
#[derive(Default)]
struct Memory {
    tape: Tape,
    adjoints: Vec<f64>,
    arguments: Vec<Variable<'static>>,
}

thread_local! {
    static MEMORY: Cell<Option<Box<Memory>>> = const { Cell::new(None) };
}

impl Tape {
    #[inline]
    fn node(&self) -> u32 {
        self.len.get() as u32
    }

    #[inline]
    fn push(&self, edge: Edge) {
        let len = self.len.replace(self.len.get() + 1);
        if let Some(place) = self.edges.get(len) {
            place.set(edge);
        }
    }

    /// Adds a node with an edge to each of two others.
    #[inline]
    fn join(&self, [by_x, by_y]: [(u32, f64); 2]) -> u32 {
        let of = self.node();
        self.len.set(self.len.get() + 2);
        if let Some([x, y]) = self.edges.get(of as usize..).and_then(<[_]>::first_chunk) {
            x.set(Edge { slope: by_x.1, of, by: by_x.0 });
            y.set(Edge { slope: by_y.1, of, by: by_y.0 });
        }
        of
    }

    /// Adds a node with an edge to each of the numbers, which are in nodes that follow each other.
    #[inline]
    fn row(&self, coefficients: &[f64], x: &[Variable<'_>]) -> u32 {
        let start = self.slopes_len.replace(self.slopes_len.get() + x.len());
        if let Some(row) = self.slopes.get(start..start + x.len()) {
            row.iter().zip(coefficients).zip(x).for_each(|((slope, c), x)| slope.set(c * x.slope));
        }
        let of = self.node();
        self.push(Edge { slope: f64::from_bits(u64::from(x[0].node) << 32 | x.len() as u64), of, by: ROW });
        of
    }

    /// Adjoints of all nodes, from the last edge to the first: `adjoint(by) += slope adjoint(of)`.
    fn pull_back(&self, inputs: usize, adjoints: &mut [f64]) {
        let mut end = self.slopes_len.get();
        for edge in self.edges[inputs..self.len.get()].iter().rev() {
            let Edge { slope, of, by } = edge.get();
            let adjoint = adjoints[of as usize];
            if by == ROW {
                let (first, len) = ((slope.to_bits() >> 32) as usize, slope.to_bits() as u32 as usize);
                let row = &self.slopes[end - len..end];
                adjoints[first..][..len].iter_mut().zip(row).for_each(|(sum, s)| *sum += s.get() * adjoint);
                end -= len;
            } else {
                adjoints[by as usize] += slope * adjoint;
            }
        }
    }
}

/// Writes the gradient at `z` of a function of `z` and of memory for `len` more numbers; returns its value.
pub(super) fn gradient_into(
    z: &[f64],
    len: usize,
    gradient: &mut [f64],
    f: impl for<'t> Fn(&[Variable<'t>], &mut [Variable<'t>]) -> Variable<'t>,
) -> f64 {
    let mut memory = MEMORY.take().unwrap_or_default();
    let Memory { tape, adjoints, arguments } = &mut *memory;
    let result = loop {
        let result = evaluate(tape, z, len, arguments, &f);
        let (edges, slopes) = (tape.len.get(), tape.slopes_len.get());
        if edges <= tape.edges.len() && slopes <= tape.slopes.len() {
            break result;
        }
        tape.edges.resize(edges.next_power_of_two(), Cell::default());
        tape.slopes.resize(slopes.next_power_of_two(), Cell::default());
    };
    adjoints.clear();
    adjoints.resize(tape.len.get(), 0.0);
    if result.node != CONSTANT {
        adjoints[result.node as usize] = result.slope;
    }
    tape.pull_back(z.len(), adjoints);
    gradient.copy_from_slice(&adjoints[..z.len()]);
    MEMORY.set(Some(memory));
    result.value
}

/// Value of the function on an empty tape; the result has lost its tape.
fn evaluate(
    tape: &Tape,
    z: &[f64],
    len: usize,
    memory: &mut Vec<Variable<'static>>,
    f: impl for<'t> Fn(&[Variable<'t>], &mut [Variable<'t>]) -> Variable<'t>,
) -> Variable<'static> {
    tape.len.set(z.len());
    tape.slopes_len.set(0);
    let mut arguments: Vec<Variable<'_>> = take(memory);
    let input = |(&value, node)| Variable { value, slope: 1.0, node, tape: Some(tape) };
    arguments.extend(z.iter().zip(0..).map(input));
    arguments.resize(z.len() + len, 0.0.into());
    let (inputs, rest) = arguments.split_at_mut(z.len());
    let result = f(inputs, rest);
    // Collected in place: the memory is kept, the lifetime is not.
    arguments.clear();
    *memory = arguments.into_iter().map(|x| Variable { tape: None, ..x }).collect();
    Variable { tape: None, ..result }
}

impl From<f64> for Variable<'_> {
    #[inline]
    fn from(value: f64) -> Self {
        Self { value, slope: 0.0, node: CONSTANT, tape: None }
    }
}

impl Variable<'_> {
    #[inline(always)]
    fn of_two(value: f64, (x, by_x): (Self, f64), (y, by_y): (Self, f64)) -> Self {
        let (x_slope, y_slope) = (by_x * x.slope, by_y * y.slope);
        match (x.tape, y.tape) {
            (Some(_), Some(_)) if x.node == y.node => Self { value, slope: x_slope + y_slope, ..x },
            (Some(tape), Some(_)) => {
                Self { value, slope: 1.0, node: tape.join([(x.node, x_slope), (y.node, y_slope)]), ..x }
            }
            (Some(_), None) => Self { value, slope: x_slope, ..x },
            (None, _) => Self { value, slope: y_slope, ..y },
        }
    }
}

impl Real for Variable<'_> {
    #[inline]
    fn value(self) -> f64 {
        self.value
    }

    #[inline]
    fn map(self, f: impl FnOnce(f64) -> f64, slope: impl FnOnce(f64, f64) -> f64) -> Self {
        let value = f(self.value);
        Self { value, slope: slope(self.value, value) * self.slope, ..self }
    }

    #[inline(always)]
    fn function(value: f64, partials: impl IntoIterator<Item = (Self, f64)>) -> Self {
        let mut result = Self::from(value);
        let mut is_new = false;
        // By `for_each`, which is unrolled where the number of partials is fixed.
        partials.into_iter().for_each(|(x, partial)| {
            let Some(tape) = x.tape else { return };
            let slope = partial * x.slope;
            if is_new {
                tape.push(Edge { slope, of: result.node, by: x.node });
            } else if result.tape.is_none() {
                result = Self { value, slope, ..x };
            } else if result.node == x.node {
                result.slope += slope;
            } else {
                let node = tape.join([(result.node, result.slope), (x.node, slope)]);
                result = Self { value, slope: 1.0, node, ..x };
                is_new = true;
            }
        });
        result
    }

    #[inline]
    fn dot(coefficients: &[f64], x: &[Self]) -> Self {
        assert_eq!(coefficients.len(), x.len(), "a coefficient per number");
        let (first, tape) = x.first().map_or((CONSTANT, None), |x| (x.node, x.tape));
        let (mut value, mut follow) = (0.0, true);
        for (k, (c, x)) in coefficients.iter().zip(x).enumerate() {
            value += c * x.value;
            follow &= x.node == first.wrapping_add(k as u32);
        }
        match tape.filter(|_| follow) {
            Some(tape) => Self { value, slope: 1.0, node: tape.row(coefficients, x), tape: Some(tape) },
            None => Self::function(value, x.iter().copied().zip(coefficients.iter().copied())),
        }
    }
}

/// Operators, each with its value and its partial derivatives.
macro_rules! arithmetic {
    ($($op:ident $call:ident $assign:ident $assigned:ident = |$x:ident, $y:ident| $value:expr, $by_x:expr, $by_y:expr;)*) => {$(
        impl $op for Variable<'_> {
            type Output = Self;
            #[inline]
            fn $call(self, other: Self) -> Self {
                let ($x, $y) = (self.value, other.value);
                Self::of_two($value, (self, $by_x), (other, $by_y))
            }
        }
        impl $op<f64> for Variable<'_> {
            type Output = Self;
            #[inline]
            fn $call(self, $y: f64) -> Self {
                self.map(|$x| $value, |$x, _| { let _ = $x; $by_x })
            }
        }
        impl $assign for Variable<'_> {
            #[inline]
            fn $assigned(&mut self, other: Self) {
                *self = (*self).$call(other);
            }
        }
    )*};
}

arithmetic! {
    Add add AddAssign add_assign = |x, y| x + y, 1.0, 1.0;
    Sub sub SubAssign sub_assign = |x, y| x - y, 1.0, -1.0;
    Mul mul MulAssign mul_assign = |x, y| x * y, y, x;
    Div div DivAssign div_assign = |x, y| x / y, 1.0 / y, -x / (y * y);
}

impl Neg for Variable<'_> {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        self.map(|x| -x, |_, _| -1.0)
    }
}

impl Sum for Variable<'_> {
    /// One node, whatever the number of terms; the terms may add nodes in between.
    #[inline]
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        let mut value = 0.0;
        let add = |term: Self| {
            value += term.value;
            (term, 1.0)
        };
        let sum = Self::function(0.0, terms.map(add));
        Self { value, ..sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges and slopes on the tape after a gradient.
    fn lengths(d: usize, f: impl for<'t> Fn(&[Variable<'t>]) -> Variable<'t>) -> (usize, usize) {
        gradient_into(&vec![0.5; d], 0, &mut vec![0.0; d], |z, _| f(z));
        let memory = MEMORY.take().expect("a gradient leaves its memory");
        let lengths = (memory.tape.len.get() - d, memory.tape.slopes_len.get());
        MEMORY.set(Some(memory));
        lengths
    }

    /// The cost of a gradient is that of the density plus an edge per term and a slope per coefficient.
    #[test]
    fn a_regression_has_two_edges_a_row() {
        let row: Vec<f64> = (0..20).map(f64::from).collect();
        fn term(eta: Variable<'_>) -> Variable<'_> {
            eta * 3.0 - (eta + 1.0).exp()
        }
        let (edges, slopes) = lengths(20, |z| (0..50).map(|_| term(Real::dot(&row, z))).sum());
        assert_eq!((edges, slopes), (2 * 50, 20 * 50));
        // Counterexample: products one by one are 20 edges a row.
        fn product<'t>(row: &[f64], z: &[Variable<'t>]) -> Variable<'t> {
            row.iter().zip(z).map(|(&c, &z)| z * c).sum()
        }
        assert_eq!(lengths(20, |z| (0..50).map(|_| term(product(&row, z))).sum()), (21 * 50, 0));
    }

    #[test]
    fn functions_of_one_variable_need_no_edge() {
        assert_eq!(lengths(2, |z| (z[0] * z[0] + z[0].exp() * 2.0 - 1.0).sqrt()), (0, 0));
        assert_eq!(lengths(2, |z| z[0] * z[1]), (2, 0));
    }

    #[test]
    fn a_gradient_within_a_density_has_its_own_tape() {
        let mut gradient = [0.0; 2];
        let value = gradient_into(&[2.0, 3.0], 0, &mut gradient, |z, _| {
            let mut inner = [0.0; 2];
            gradient_into(&[5.0, 7.0], 0, &mut inner, |z, _| z[0] * z[1]);
            assert_eq!(inner, [7.0, 5.0]);
            z[0] * z[1]
        });
        assert_eq!((value, gradient), (6.0, [3.0, 2.0]));
    }
}
