//! Surrogate of a logistic regression and its ansaetze (SL-DAIS, Sec. 4).

use faer::{Mat, MatRef};
use mcsa_core::{Error, Stream, borrow, checksum, finite_matrix, numeric, same_length};

use super::{Along, Clusters, Coreset, PathPoint, Sizes, Surrogate};
use crate::minibatched::random_subset;
use mcsa_models::support::{positive, zeros_and_ones};
use mcsa_numeric::design::{Panels, View, pack_into, padded};
use mcsa_numeric::vectorised;

/// Surrogate of a Bayesian logistic regression: prior `N(0, s^2 I)` and a weighted log likelihood of a few points.
///
/// ```text
/// g(z; psi) = -|z|^2 / (2 s^2) + sum_n w+_n log sigmoid(x_n . z) + w-_n log sigmoid(-x_n . z)
/// ```
///
/// A labelled row has one weight, which belongs to its label. Weights are `exp(psi_n)`, or fixed; covariates are fixed or
/// learned (SL-DAIS, Sec. 4). The vector psi holds the logarithms of the weights of the rows, or of all w+ and then all w-; learned
/// covariates follow, column by column. A column of ones is learned like any other.
///
/// A gradient costs two products with the matrix of points and one exponential per point; the tape keeps the sigmoids, so that
/// [`add_second`](Surrogate::add_second) costs two products alone.
///
/// ```
/// use mcsa_annealed::surrogate::LogisticSurrogate;
/// use mcsa_core::Seed;
/// let x = faer::Mat::from_fn(100, 2, |i, k| if k == 0 { 1.0 } else { i as f64 / 50.0 - 1.0 });
/// let labels: Vec<f64> = (0..100).map(|i| f64::from(u8::from(i > 40))).collect();
/// let surrogate = LogisticSurrogate::rand(x.as_ref(), &labels, 10, 1.0, &mut Seed::new(1).stream(0, 0))?;
/// let psi = surrogate.initial();
/// assert!((psi[0].exp() - 10.0).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LogisticSurrogate {
    points: Panels,
    /// Labels of the rows; none if each point has two weights.
    labels: Option<Vec<f64>>,
    /// Weights w+ and then w- at the start, each on whole panels.
    weights: Vec<f64>,
    learns_weights: bool,
    learns_points: bool,
    precision: f64,
}

impl LogisticSurrogate {
    /// Labelled rows `x` with labels 0 or 1, and one learned weight per row that starts at `weights`.
    ///
    /// # Errors
    /// If there is no row or no column, lengths differ, a number is not finite, a label is neither 0 nor 1, or a weight or
    /// `prior_scale` is not positive.
    pub fn from_rows(
        x: MatRef<'_, f64>,
        labels: &[f64],
        weights: &[f64],
        prior_scale: f64,
    ) -> Result<Self, Error> {
        let within = |error: Error| error.within("LogisticSurrogate");
        same_length("labels", x.nrows(), labels.len()).map_err(within)?;
        same_length("weights", x.nrows(), weights.len()).map_err(within)?;
        zeros_and_ones(labels).map_err(within)?;
        weights.iter().try_for_each(|&weight| positive("weight", weight)).map_err(within)?;
        let of = |label: f64| {
            let weights = weights.iter().zip(labels);
            weights.map(move |(&weight, &y)| if y == label { weight } else { 0.0 })
        };
        Self::new(x, Some(labels.to_vec()), of(1.0), of(0.0), prior_scale).map_err(within)
    }

    /// Points `x` with two learned weights each, w+ for the label 1 and w- for the label 0, that start at these.
    ///
    /// # Errors
    /// If there is no point or no column, lengths differ, a number is not finite, or a weight or `prior_scale` is not positive.
    pub fn from_points(
        x: MatRef<'_, f64>,
        w_plus: &[f64],
        w_minus: &[f64],
        prior_scale: f64,
    ) -> Result<Self, Error> {
        let within = |error: Error| error.within("LogisticSurrogate");
        for weights in [w_plus, w_minus] {
            same_length("weights", x.nrows(), weights.len()).map_err(within)?;
            weights.iter().try_for_each(|&weight| positive("weight", weight)).map_err(within)?;
        }
        Self::new(x, None, w_plus.iter().copied(), w_minus.iter().copied(), prior_scale).map_err(within)
    }

    fn new(
        x: MatRef<'_, f64>,
        labels: Option<Vec<f64>>,
        w_plus: impl Iterator<Item = f64>,
        w_minus: impl Iterator<Item = f64>,
        prior_scale: f64,
    ) -> Result<Self, Error> {
        positive("prior scale", prior_scale)?;
        finite_matrix("points", x)?;
        if x.nrows() == 0 || x.ncols() == 0 {
            return Err(Error::invalid("a surrogate has at least one point and one column"));
        }
        let stride = padded(x.nrows());
        let mut weights = vec![0.0; 2 * stride];
        weights[..stride].iter_mut().zip(w_plus).for_each(|(to, weight)| *to = weight);
        weights[stride..].iter_mut().zip(w_minus).for_each(|(to, weight)| *to = weight);
        let points = Panels::from_fn(x.nrows(), x.ncols(), |n, k| x[(n, k)]);
        let precision = prior_scale.powi(-2);
        Ok(Self { points, labels, weights, learns_weights: true, learns_points: false, precision })
    }

    /// This surrogate with fixed weights.
    #[must_use]
    pub fn with_fixed_weights(self) -> Self {
        Self { learns_weights: false, ..self }
    }

    /// This surrogate with learned covariates, which start at its points.
    #[must_use]
    pub fn with_learned_points(self) -> Self {
        Self { learns_points: true, ..self }
    }

    /// This surrogate with the two weights of each point in the proportion `rate` to `1 - rate`, and with the same sum. `rate` is
    /// the share of the label 1 in the data. The weights of labelled rows do not change.
    ///
    /// # Errors
    /// If `rate` is not strictly between 0 and 1.
    pub fn with_class_rate(mut self, rate: f64) -> Result<Self, Error> {
        if !(rate > 0.0 && rate < 1.0) {
            return Err(Error::parameter("class rate", rate, "between 0 and 1").within("LogisticSurrogate"));
        }
        if self.labels.is_none() {
            let (w_plus, w_minus) = self.weights.split_at_mut(padded(self.points.rows()));
            for (plus, minus) in w_plus.iter_mut().zip(w_minus) {
                let both = *plus + *minus;
                (*plus, *minus) = (rate * both, (1.0 - rate) * both);
            }
        }
        Ok(self)
    }

    /// Number of points.
    pub fn num_points(&self) -> usize {
        self.points.rows()
    }

    /// Vector psi of the weights and the points that the surrogate was made with.
    pub fn initial(&self) -> Vec<f64> {
        let (n, d, stride) = (self.points.rows(), self.points.columns(), self.points.view().padded_rows());
        let (w_plus, w_minus) = (&self.weights[..n], &self.weights[stride..stride + n]);
        let mut psi = Vec::with_capacity(self.sizes().params);
        if self.learns_weights {
            match self.labels {
                Some(_) => psi.extend(w_plus.iter().zip(w_minus).map(|(plus, minus)| (plus + minus).ln())),
                None => psi.extend(w_plus.iter().chain(w_minus).map(|weight| weight.ln())),
            }
        }
        if self.learns_points {
            psi.extend((0..d * n).map(|at| self.points.by_row().row(at % n)[at / n]));
        }
        psi
    }

    /// Number of learned weights.
    fn num_weights(&self) -> usize {
        let each = if self.labels.is_some() { 1 } else { 2 };
        if self.learns_weights { each * self.points.rows() } else { 0 }
    }

    /// Length of the memory of the weights.
    fn weights_len(&self) -> usize {
        if self.learns_weights { self.weights.len() } else { 0 }
    }

    /// Weights and points of a path.
    fn parts<'a>(&'a self, memory: &'a [f64]) -> (Weights<'a>, View<'a>) {
        let (weights, points) = memory.split_at(self.weights_len());
        let weights = if self.learns_weights { weights } else { &self.weights };
        let (positive, negative) = weights.split_at(self.points.view().padded_rows());
        let points = if self.learns_points {
            View::new(points, self.points.rows(), self.points.columns())
        } else {
            self.points.view()
        };
        (Weights { positive, negative }, points)
    }
}

impl Surrogate for LogisticSurrogate {
    fn sizes(&self) -> Sizes {
        let (n, d, stride) = (self.points.rows(), self.points.columns(), self.points.view().padded_rows());
        let learned = if self.learns_points { d } else { 0 };
        Sizes {
            dim: d,
            params: self.num_weights() + n * learned,
            memory: self.weights_len() + stride * learned,
            tape: stride,
            work: self.points.view().multiply_work_len() + 4 * stride,
            ..Sizes::default()
        }
    }

    fn config(&self) -> String {
        let points = (0..self.points.rows()).flat_map(|n| self.points.by_row().row(n));
        let numbers = points.chain(&self.weights).chain(self.labels.iter().flatten());
        let data = checksum(numbers.chain([&self.precision]).flat_map(|x| x.to_le_bytes()));
        let (rows, learned) = (self.labels.is_some(), [self.learns_weights, self.learns_points]);
        format!("LogisticSurrogate(labelled {rows}, learned {learned:?}, data {data:016x})")
    }

    fn prepare(&self, psi: &[f64], _: &[f64], memory: &mut [f64]) {
        let n = self.points.rows();
        let (psi, covariates) = psi.split_at(self.num_weights());
        let (weights, points) = memory.split_at_mut(self.weights_len());
        if self.learns_weights {
            let (w_plus, w_minus) = weights.split_at_mut(self.points.view().padded_rows());
            w_plus[n..].fill(0.0);
            w_minus[n..].fill(0.0);
            numeric::exp_into(&psi[..n], &mut w_plus[..n]);
            match &self.labels {
                None => numeric::exp_into(&psi[n..], &mut w_minus[..n]),
                Some(labels) => {
                    for ((plus, minus), &label) in w_plus.iter_mut().zip(w_minus).zip(labels) {
                        (*plus, *minus) = if label == 1.0 { (*plus, 0.0) } else { (0.0, *plus) };
                    }
                }
            }
        }
        if self.learns_points {
            pack_into(covariates, n, points);
        }
    }

    fn gradient_into(&self, at: PathPoint<'_>, gradient: &mut [f64], tape: &mut [f64], mut work: &mut [f64]) {
        let PathPoint { memory, z, .. } = at;
        let (weights, points) = self.parts(memory);
        let packed = borrow(&mut work, points.multiply_work_len());
        let slopes = borrow(&mut work, points.padded_rows());
        points.multiply(std::iter::once(z), tape, packed);
        numeric::sigmoid(tape);
        weights.slopes_into(tape, slopes);
        points.pull_back(slopes, 1, gradient);
        numeric::axpy(-self.precision, z, gradient);
    }

    fn add_second(&self, along: Along<'_>, product: &mut [f64], psi_bar: &mut [f64], mut work: &mut [f64]) {
        let Along { at: PathPoint { memory, z, .. }, tape, u, scale } = along;
        let (n, stride) = (self.points.rows(), self.points.view().padded_rows());
        let (weights, points) = self.parts(memory);
        let packed = borrow(&mut work, points.multiply_work_len());
        let along = borrow(&mut work, stride);
        let gained = borrow(&mut work, stride);
        let lost = borrow(&mut work, stride);
        points.multiply(std::iter::once(u), along, packed);
        weights.seconds_into(tape, along, gained, lost);

        let pulled = &mut packed[..u.len()];
        points.pull_back(along, 1, pulled);
        numeric::axpy(scale, pulled, product);
        numeric::axpy(-scale * self.precision, u, product);

        let (of_weights, of_points) = psi_bar.split_at_mut(self.num_weights());
        if self.learns_weights {
            numeric::axpy(scale, &gained[..n], &mut of_weights[..n]);
            let at = if self.labels.is_some() { 0 } else { n };
            numeric::axpy(scale, &lost[..n], &mut of_weights[at..]);
        }
        if self.learns_points {
            let slopes = borrow(&mut work, stride);
            weights.slopes_into(tape, slopes);
            for ((column, u), z) in of_points.chunks_exact_mut(n).zip(u).zip(z) {
                numeric::axpy(scale * z, &along[..n], column);
                numeric::axpy(scale * u, &slopes[..n], column);
            }
        }
    }
}

/// Largest number of Lloyd iterations.
const PASSES: usize = 100;

/// Rows of a matrix.
fn rows_of(x: MatRef<'_, f64>, rows: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), x.ncols(), |n, k| x[(rows[n], k)])
}

/// Random rows without replacement.
fn random(x: MatRef<'_, f64>, count: usize, stream: &mut Stream) -> Result<Vec<usize>, Error> {
    random_subset(x.nrows(), count, stream).map_err(|error| error.within("LogisticSurrogate"))
}

/// Labelled rows whose learned weights start at N / count.
fn labelled(
    x: MatRef<'_, f64>,
    labels: &[f64],
    rows: &[usize],
    prior_scale: f64,
) -> Result<LogisticSurrogate, Error> {
    same_length("labels", x.nrows(), labels.len()).map_err(|error| error.within("LogisticSurrogate"))?;
    let weights = vec![x.nrows() as f64 / rows.len() as f64; rows.len()];
    let labels: Vec<f64> = rows.iter().map(|&n| labels[n]).collect();
    LogisticSurrogate::from_rows(rows_of(x, rows).as_ref(), &labels, &weights, prior_scale)
}

/// Points whose two learned weights start at N / (2 count).
fn both(points: MatRef<'_, f64>, data: usize, prior_scale: f64) -> Result<LogisticSurrogate, Error> {
    let weights = vec![0.5 * data as f64 / points.nrows() as f64; points.nrows()];
    LogisticSurrogate::from_points(points, &weights, &weights, prior_scale)
}

/// Constructors of [`LogisticSurrogate`], each with its own text.
macro_rules! ansaetze {
    ($(#[$attribute:meta])* ($x:ident, $labels:ident, $points:ident, $prior_scale:ident, $stream:ident);
     $($(#[$doc:meta])+ $name:ident = $make:expr;)+) => {
        $(#[$attribute])*
        impl LogisticSurrogate {
            $($(#[$doc])+
            ///
            /// # Errors
            /// If there are more points than data (a coreset may have more draws), no point, lengths differ, a number is not finite, a
            /// label is neither 0 nor 1, or `prior_scale` is not positive.
            pub fn $name(
                $x: MatRef<'_, f64>,
                $labels: &[f64],
                $points: usize,
                $prior_scale: f64,
                $stream: &mut Stream,
            ) -> Result<Self, Error> {
                // Not every ansatz uses labels.
                let _ = $labels;
                $make
            })+
        }
    };
}

ansaetze! {
    /// Ansaetze of (SL-DAIS, Sec. 4), from features `x` (one row per datum), labels 0 or 1 and the number of points.
    ///
    /// Learned weights start uniform, with the number N of data as their sum. The two of a point start equal, which the paper leaves
    /// open (see [`with_class_rate`](Self::with_class_rate)). The eighth ansatz is [`NeuralSurrogate`](super::NeuralSurrogate).
    (x, labels, points, prior_scale, stream);

    /// RAND: random rows, one learned weight each.
    rand = labelled(x, labels, &random(x, points, stream)?, prior_scale);

    /// RAND+-: covariates of random rows, two learned weights each. Labels are not used.
    rand_pm = both(rows_of(x, &random(x, points, stream)?).as_ref(), x.nrows(), prior_scale);

    /// CS-INIT: rows of a [coreset](Coreset::logistic), one learned weight each. A coreset of `points` draws may have fewer rows.
    cs_init = labelled(x, labels, &Coreset::logistic(x, labels, points, stream)?.rows, prior_scale);

    /// CS-INIT+-: covariates of the rows of a [coreset](Coreset::logistic), two learned weights each.
    cs_init_pm = {
        let rows = Coreset::logistic(x, labels, points, stream)?.rows;
        both(rows_of(x, &rows).as_ref(), x.nrows(), prior_scale)
    };

    /// CS-FIX: rows and weights of a [coreset](Coreset::logistic); nothing is learned.
    cs_fix = {
        let Coreset { rows, weights } = Coreset::logistic(x, labels, points, stream)?;
        let labels: Vec<f64> = rows.iter().map(|&n| labels[n]).collect();
        let learned = Self::from_rows(rows_of(x, &rows).as_ref(), &labels, &weights, prior_scale)?;
        Ok(learned.with_fixed_weights())
    };

    /// KM-FIX+-: [cluster centres](Clusters::k_means) of the covariates, two learned weights each. Labels are not used.
    km_fix_pm = both(Clusters::k_means(x, points, PASSES, stream)?.centres.as_ref(), x.nrows(), prior_scale);

    /// KM-INIT+-: [`km_fix_pm`](Self::km_fix_pm) with learned covariates, which start at the centres.
    km_init_pm = Ok(Self::km_fix_pm(x, labels, points, prior_scale, stream)?.with_learned_points());
}

/// Weights w+ and w- of the points, each on whole panels.
#[derive(Clone, Copy)]
struct Weights<'a> {
    positive: &'a [f64],
    negative: &'a [f64],
}

impl Weights<'_> {
    /// Slopes `r = w+ (1 - s) - w- s` of the points.
    fn slopes_into(self, sigmoids: &[f64], out: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                for (((out, s), positive), negative) in
                    out.iter_mut().zip(sigmoids).zip(self.positive).zip(self.negative)
                {
                    *out = (-s).mul_add(positive + negative, *positive);
                }
            },
        );
    }

    /// `along <- -(w+ + w-) s (1 - s) along`; from `along` as it was, `gained = w+ (1 - s) along` and `lost = -w- s along`.
    fn seconds_into(self, sigmoids: &[f64], along: &mut [f64], gained: &mut [f64], lost: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                let points = self.positive.iter().zip(self.negative).zip(sigmoids);
                let out = along.iter_mut().zip(gained.iter_mut()).zip(lost.iter_mut());
                for (((positive, negative), s), ((along, gained), lost)) in points.zip(out) {
                    let (rest, down) = (1.0 - s, s * *along);
                    *gained = positive * (rest * *along);
                    *lost = (-negative).mul_add(down, 0.0);
                    *along = (-(positive + negative)).mul_add(rest * down, 0.0);
                }
            },
        );
    }
}
