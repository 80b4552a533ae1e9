//! Declared parameters: names, bounds, and the transforms from unconstrained space with their log-Jacobians.

use mcsa_core::{Error, Named, square_fits_in_memory};

use super::{Real, tape};
use crate::Transform;

/// Parameters of a model in the order of their declaration: names, and the sets that they lie in.
///
/// | declaration | set | numbers | free coordinates |
/// |---|---|---|---|
/// | [`real`](Self::real) | the line | `n` | `n` |
/// | [`positive`](Self::positive), [`interval`](Self::interval), [`unit`](Self::unit) | a half line, an interval, `(0, 1)` | 1 | 1 |
/// | [`each`](Self::each) | the range of a [`Transform`], `n` times | `n` | `n` |
/// | [`simplex`](Self::simplex) | positive numbers with sum one | `n` | `n - 1` |
/// | [`ordered`](Self::ordered) | increasing numbers | `n` | `n` |
/// | [`correlation`](Self::correlation) | correlation matrices | `n n`, by rows | `n (n - 1) / 2` |
///
/// The free coordinates are what methods move on `R^d`. The log-Jacobian that [`constrain_into`](Self::constrain_into) returns
/// turns a density of the parameters into one of the free coordinates. It follows Stan (Reference Manual, "Constraint
/// Transforms"): the density of a simplex is with respect to its first `n - 1` numbers, and that of a correlation matrix with
/// respect to the entries below its diagonal.
///
/// ```
/// use mcsa_models::Parameters;
/// let parameters = Parameters::new().real("alpha", 3).positive("sigma").simplex("w", 4);
/// assert_eq!((parameters.dim(), parameters.len()), (7, 8));
/// let mut theta = [0.0; 8];
/// let log_jacobian = parameters.constrain_into(&[0.0; 7], &mut theta);
/// assert_eq!(theta[..4], [0.0, 0.0, 0.0, 1.0]);
/// assert!(theta[4..].iter().all(|w| (w - 0.25).abs() < 1e-15));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq)]
struct Block {
    name: String,
    count: usize,
    set: Set,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Set {
    Each(Transform),
    Simplex,
    Ordered,
    Correlation,
}

/// Magnitude of a real number from which NaN is a matter of range.
const HUGE: f64 = 1e100;

impl Parameters {
    /// No parameter yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `count` real numbers; one alone has the name without an index.
    #[must_use]
    pub fn real(self, name: &str, count: usize) -> Self {
        self.each(name, Transform::Real, count)
    }

    /// Adds a positive number.
    #[must_use]
    pub fn positive(self, name: &str) -> Self {
        self.each(name, Transform::Positive, 1)
    }

    /// Adds a number between `low` and `high`.
    #[must_use]
    pub fn interval(self, name: &str, low: f64, high: f64) -> Self {
        self.each(name, Transform::Interval { low, high }, 1)
    }

    /// Adds a number between 0 and 1.
    #[must_use]
    pub fn unit(self, name: &str) -> Self {
        self.interval(name, 0.0, 1.0)
    }

    /// Adds `count` numbers in the range of a transform; one alone has the name without an index.
    #[must_use]
    pub fn each(self, name: &str, transform: Transform, count: usize) -> Self {
        self.and(name, count, Set::Each(transform))
    }

    /// Adds `count` positive numbers with sum one.
    ///
    /// ```text
    /// w_k = r_k s(y_k),   r_{k+1} = r_k s(-y_k),   r_1 = 1,   w_n = r_n,   y_k = z_k - log(n - k),   s the logistic function
    /// log |det| = sum_{k < n} log r_k + log s(y_k) + log s(-y_k)
    /// ```
    #[must_use]
    pub fn simplex(self, name: &str, count: usize) -> Self {
        self.and(name, count, Set::Simplex)
    }

    /// Adds `count` increasing numbers, `c_1 = z_1`, `c_k = c_{k-1} + exp(z_k)`; `log |det| = sum_{k > 1} z_k`.
    #[must_use]
    pub fn ordered(self, name: &str, count: usize) -> Self {
        self.and(name, count, Set::Ordered)
    }

    /// Adds a correlation matrix of this many rows, from its canonical partial correlations (Lewandowski, Kurowicka, Joe 2009).
    ///
    /// ```text
    /// R = L L',   L_ij = t_ij c_i1 .. c_i(j-1)  (j < i),   L_ii = c_i1 .. c_i(i-1),   t = tanh(z),   c = sqrt(1 - t^2)
    /// log |det| = sum_{j < i} (n - j + 1) log c_ij
    /// ```
    /// Reports have the entries below the diagonal, `name[i,j]`.
    #[must_use]
    pub fn correlation(self, name: &str, rows: usize) -> Self {
        self.and(name, rows, Set::Correlation)
    }

    fn and(mut self, name: &str, count: usize, set: Set) -> Self {
        self.blocks.push(Block { name: name.to_owned(), count, set });
        self
    }

    /// The number of free coordinates.
    pub fn dim(&self) -> usize {
        self.blocks.iter().map(Block::dim).sum()
    }

    /// The length of `theta`: the number of scalars in all parameters.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(Block::len).sum()
    }

    /// Whether there is no number.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the parameters at `z`, and returns the log-Jacobian of the map. Panics if a length is not that of the declaration.
    pub fn constrain_into<R: Real>(&self, z: &[R], theta: &mut [R]) -> R {
        assert!(z.len() == self.dim() && theta.len() == self.len(), "a point of the declared parameters");
        let (mut z, mut theta) = (z, theta);
        let parts = self.blocks.iter().map(|block| {
            let (now, rest) = z.split_at(block.dim());
            z = rest;
            block.constrain_into(now, theta.split_off_mut(..block.len()).expect("the lengths add up"))
        });
        parts.sum()
    }

    /// Writes the gradient at `z` of `sum_k slope_k theta_k(z) + log |det dtheta/dz|`. This is the gradient of a target whose log
    /// density has the derivatives `slope` in the parameters. Panics if a length is not that of the declaration.
    ///
    /// ```
    /// use mcsa_models::Parameters;
    /// let (z, mut gradient) = ([0.5], [0.0]);
    /// Parameters::new().positive("sigma").pull_back_into(&z, &[-2.0], &mut gradient);
    /// assert!((gradient[0] - (1.0 - 2.0 * 0.5_f64.exp())).abs() < 1e-15);
    /// ```
    pub fn pull_back_into(&self, z: &[f64], slope: &[f64], gradient: &mut [f64]) {
        assert!(slope.len() == self.len() && gradient.len() == z.len(), "a point of the declared parameters");
        tape::gradient_into(z, self.len(), gradient, |z, theta| self.linear(z, theta, slope));
    }

    fn linear<R: Real>(&self, z: &[R], theta: &mut [R], slope: &[f64]) -> R {
        let log_jacobian = self.constrain_into(z, theta);
        theta.iter().zip(slope).map(|(&theta, &slope)| theta * slope).sum::<R>() + log_jacobian
    }

    /// Appends names and values at `z`, for reports.
    pub(super) fn report(&self, z: &[f64], out: &mut Named) {
        let mut theta = vec![0.0; self.len()];
        self.constrain_into(z, &mut theta);
        let mut theta = theta.as_slice();
        for block in &self.blocks {
            let Block { name, count, set } = block;
            let (now, rest) = theta.split_at(block.len());
            theta = rest;
            match set {
                Set::Correlation => (0..*count).for_each(|i| {
                    out.each(|j| format!("{name}[{i},{j}]"), now[i * count..][..i].iter().copied());
                }),
                Set::Each(_) if *count == 1 => out.push(name, now[0]),
                _ => out.vector(name, now.iter().copied()),
            }
        }
    }

    /// True if a coordinate is beyond this magnitude whose parameter has a border, or depends on others, or one of a real number
    /// beyond `HUGE`, whose powers leave the range of doubles.
    pub(super) fn is_far(&self, z: &[f64], most: f64) -> bool {
        let mut z = z;
        self.blocks.iter().any(|block| {
            let (now, rest) = z.split_at(block.dim());
            z = rest;
            let most = if block.set == Set::Each(Transform::Real) { HUGE } else { most };
            now.iter().any(|z| z.abs() > most)
        })
    }

    /// `Ok` if every set exists and the names differ.
    ///
    /// # Errors
    /// If two parameters have the same name, an interval is empty or infinite, a simplex has no number, or a correlation matrix
    /// is too large for memory.
    pub fn check(&self) -> Result<(), Error> {
        for Block { name, count, set } in &self.blocks {
            let refuse = |reason: &str| Err(Error::invalid(format!("parameter {name:?}: {reason}")));
            match *set {
                Set::Each(Transform::Interval { low, high }) if !(low < high && (high - low).is_finite()) => {
                    return refuse(&format!("no interval from {low} to {high}"));
                }
                Set::Simplex if *count == 0 => return refuse("a simplex has at least one number"),
                Set::Correlation => square_fits_in_memory("a correlation matrix", *count)?,
                _ => {}
            }
        }
        let mut names = Named::default();
        self.report(&vec![0.0; self.dim()], &mut names);
        names.check_distinct()
    }
}

impl Block {
    fn dim(&self) -> usize {
        match self.set {
            Set::Each(_) | Set::Ordered => self.count,
            Set::Simplex => self.count.saturating_sub(1),
            Set::Correlation => self.count * self.count.saturating_sub(1) / 2,
        }
    }

    fn len(&self) -> usize {
        if self.set == Set::Correlation { self.count * self.count } else { self.count }
    }

    fn constrain_into<R: Real>(&self, z: &[R], theta: &mut [R]) -> R {
        match self.set {
            Set::Each(Transform::Real) => {
                theta.copy_from_slice(z);
                0.0.into()
            }
            Set::Each(transform) => {
                theta.iter_mut().zip(z).for_each(|(theta, &z)| *theta = transform.constrain(z));
                z.iter().map(|&z| transform.log_slope(z)).sum()
            }
            Set::Simplex => simplex(z, theta),
            Set::Ordered => {
                theta.copy_from_slice(z);
                for k in 1..z.len() {
                    theta[k] = theta[k - 1] + z[k].exp();
                }
                z.iter().skip(1).copied().sum()
            }
            Set::Correlation => correlation(self.count, z, theta),
        }
    }
}

/// In logarithms, so that no number is lost next to one.
fn simplex<R: Real>(z: &[R], w: &mut [R]) -> R {
    let mut log_rest = R::from(0.0);
    let mut log_jacobian = R::from(0.0);
    for (k, &z) in z.iter().enumerate() {
        let y = z - ((w.len() - 1 - k) as f64).ln();
        let log_share = y.log_sigmoid();
        let log_left = (-y).log_sigmoid();
        w[k] = (log_rest + log_share).exp();
        log_jacobian += log_rest + log_share + log_left;
        log_rest += log_left;
    }
    w[z.len()] = log_rest.exp();
    log_jacobian
}

fn correlation<R: Real>(n: usize, z: &[R], r: &mut [R]) -> R {
    let (mut z, mut log_jacobian) = (z.iter(), R::from(0.0));
    for i in 0..n {
        // Row i of L, below and on the diagonal.
        let mut log_rest = R::from(0.0);
        for j in 0..i {
            let z = *z.next().expect("a coordinate per pair");
            // log c = log sqrt(1 - tanh(z)^2).
            let log_c = ((z * 2.0).log_sigmoid() + (z * -2.0).log_sigmoid()) * 0.5 + std::f64::consts::LN_2;
            r[i * n + j] = z.tanh() * log_rest.exp();
            log_rest += log_c;
            log_jacobian += log_c * (n - j) as f64;
        }
        r[i * n + i] = log_rest.exp();
    }
    for i in (0..n).rev() {
        for j in (0..i).rev() {
            r[j * n + i] = (0..=j).map(|k| r[i * n + k] * r[j * n + k]).sum();
        }
    }
    for i in 0..n {
        for j in 0..i {
            r[i * n + j] = r[j * n + i];
        }
        r[i * n + i] = 1.0.into();
    }
    log_jacobian
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;
    use mcsa_testing::law::{ROUNDING, is_slope, slope, slopes};

    /// `log |det|` of the map to the numbers that determine the others, by finite differences.
    fn log_det(parameters: &Parameters, z: &[f64]) -> f64 {
        let d = z.len();
        let numbers = |z: &[f64]| {
            let mut theta = vec![0.0; parameters.len()];
            parameters.constrain_into(z, &mut theta);
            let is_correlation = |block: &Block| block.set == Set::Correlation;
            match parameters.blocks.iter().find(|block| is_correlation(block)) {
                Some(&Block { count: n, .. }) => {
                    (0..n).flat_map(|i| theta[i * n..][..i].to_vec()).collect::<Vec<_>>()
                }
                None => theta[..d].to_vec(),
            }
        };
        let column = |j: usize| {
            let moved =
                |t: f64| numbers(&(0..d).map(|i| if i == j { z[i] + t } else { z[i] }).collect::<Vec<_>>());
            slopes(d, 0.0, |t| Some(moved(t)))
        };
        let columns: Vec<_> = (0..d).map(column).collect();
        Mat::from_fn(d, d, |i, j| columns[j][i].0).determinant().abs().ln()
    }

    #[test]
    fn log_jacobians_are_log_determinants() {
        let of = Parameters::new;
        for parameters in [
            of().real("a", 2).positive("b").interval("c", -1.0, 2.5).unit("d"),
            of().simplex("w", 4),
            of().each("s", Transform::Positive, 2).simplex("w", 1),
            of().ordered("c", 5),
            of().correlation("R", 2),
            of().correlation("R", 4),
        ] {
            for scale in [0.1, 1.0, -1.4] {
                let z: Vec<f64> = (0..parameters.dim()).map(|i| scale * (1.0 + i as f64).sin()).collect();
                let mut theta = vec![0.0; parameters.len()];
                let found = parameters.constrain_into(&z, &mut theta);
                let expected = log_det(&parameters, &z);
                assert!((found - expected).abs() < 1e-8, "{parameters:?}: {found}, expected {expected}");
                // Counterexample: another point's Jacobian.
                let other: Vec<f64> = z.iter().map(|z| z + 0.01).collect();
                assert!((found - log_det(&parameters, &other)).abs() > 1e-5);
            }
        }
    }

    #[test]
    fn pulled_back_slopes_are_those_of_the_sum() {
        let few = Parameters::new().interval("p", -1.0, 2.0).simplex("w", 3).correlation("R", 3);
        for parameters in [few.clone(), few.ordered("c", 4).each("s", Transform::Positive, 2)] {
            let z: Vec<f64> = (0..parameters.dim()).map(|i| (1.0 + i as f64).sin()).collect();
            let weights: Vec<f64> = (0..parameters.len()).map(|k| (2.0 + k as f64).cos()).collect();
            let [mut found, mut other] = [(); 2].map(|()| vec![0.0; z.len()]);
            parameters.pull_back_into(&z, &weights, &mut found);
            parameters.pull_back_into(&z, &vec![0.0; weights.len()], &mut other);
            for i in 0..z.len() {
                let known = slope(ROUNDING, |t| {
                    let mut moved = z.clone();
                    moved[i] += t;
                    parameters.linear(&moved, &mut vec![0.0; parameters.len()], &weights)
                });
                let is = |found: f64| is_slope("pull back", || format!("coordinate {i}"), found, known);
                assert_eq!(is(found[i]), Ok(()));
                // Counterexample: slopes of another density.
                assert!(is(other[i]).is_err());
            }
        }
    }

    #[test]
    fn parameters_lie_in_their_sets_and_have_names() {
        let parameters =
            Parameters::new().real("a", 2).unit("p").simplex("w", 3).ordered("c", 2).correlation("R", 3);
        let z: Vec<f64> = (0..parameters.dim()).map(|i| 3.0 * (2.0 + i as f64).cos()).collect();
        let mut named = Named::default();
        parameters.report(&z, &mut named);
        let names = "a[0] a[1] p w[0] w[1] w[2] c[0] c[1] R[1,0] R[2,0] R[2,1]";
        assert_eq!(named.names().join(" "), names);
        let row = named.row();
        assert!(row[2] > 0.0 && row[2] < 1.0);
        assert!((row[3..6].iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!(row[6] < row[7]);
        let mut theta = vec![0.0; parameters.len()];
        parameters.constrain_into(&z, &mut theta);
        let r = Mat::from_fn(3, 3, |i, j| theta[8 + 3 * i + j]);
        assert!((0..3).all(|i| r[(i, i)] == 1.0 && (0..3).all(|j| r[(i, j)] == r[(j, i)])));
        assert!(r.determinant() > 0.0 && r[(0, 1)].abs() < 1.0);
    }

    #[test]
    fn bad_declarations_are_named() {
        let refused = |parameters: Parameters| parameters.check().unwrap_err().to_string();
        let interval = refused(Parameters::new().interval("p", 1.0, f64::NAN));
        assert!(interval.contains("parameter \"p\": no interval from 1 to NaN"), "{interval}");
        assert!(refused(Parameters::new().simplex("w", 0)).contains("\"w\": a simplex"));
        assert!(refused(Parameters::new().real("a", 1).unit("a")).contains("the name \"a\""));
        assert!(refused(Parameters::new().correlation("R", 1 << 40)).contains("1099511627776"));
    }
}
