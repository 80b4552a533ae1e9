//! Synthetic stand-ins for data sets that are absent.
//!
//! A stand-in has the shape of a data set, so that code can run without the data. Results on it are no results on the data
//! set itself. Each row has its own random stream, so that a row does not depend on the number of rows.

use std::f64::consts::TAU;

use faer::Mat;
use mcsa_core::{Address, Seed, Stream};

use super::{DataError, Dataset, Entry, Series, StandIn};

/// The stand-in of a data set.
pub(super) fn stand_in(entry: &Entry, rows: Option<usize>, seed: Seed) -> Result<Dataset, DataError> {
    let Some(kind) = entry.stand_in else {
        return Err(DataError::of(&entry.name, "there is no synthetic stand-in for this set"));
    };
    let rows = rows.unwrap_or(entry.rows);
    if rows == 0 || rows > entry.rows {
        let problem = format!("{rows} rows asked for; a stand-in has 1 to {}", entry.rows);
        return Err(DataError::of(&entry.name, problem));
    }
    let inputs = entry.inputs();
    let root = seed.named("stand-in").named(&entry.name);
    let (x, y) = match kind {
        StandIn::SmoothRegression => cases(smooth(inputs, root), inputs, rows, root),
        StandIn::Susy => cases(collisions(8, inputs, root), inputs, rows, root),
        StandIn::Higgs => cases(collisions(21, inputs, root), inputs, rows, root),
        StandIn::Miniboone => cases(flashes(inputs, root), inputs, rows, root),
        StandIn::Covtype => cases(forest(inputs, root), inputs, rows, root),
        StandIn::Precipitation => precipitation(rows, root),
        StandIn::IndexLevels => return Err(entry.other_kind()),
    };
    Ok(Dataset::new(entry, x, y))
}

/// The stand-in of a time series: levels of a model of stochastic volatility.
///
/// ```text
/// h_t = 0.98 h_{t-1} + 0.2 eta_t,   log l_t = log l_{t-1} + 2e-4 + 0.01 exp(h_t / 2) eps_t,   l_0 = 1500
/// ```
pub(super) fn series(entry: &Entry, seed: Seed) -> Result<Series, DataError> {
    if entry.stand_in != Some(StandIn::IndexLevels) {
        return Err(DataError::of(&entry.name, "there is no synthetic stand-in for this series"));
    }
    let root = seed.named("stand-in").named(&entry.name);
    let (mut level, mut log_variance) = (1500.0, 0.0);
    let mut levels = Mat::zeros(entry.rows, 1);
    for day in 0..entry.rows {
        let mut stream = root.stream(0, day as u64);
        log_variance = 0.98 * log_variance + 0.2 * stream.normal();
        level *= (2e-4 + 0.01 * (0.5 * log_variance).exp() * stream.normal()).exp();
        levels[(day, 0)] = level;
    }
    Ok(Series { columns: entry.columns[1..].to_vec(), levels })
}

/// The first `rows` cases; a case, of its number, draws its inputs and returns its target.
fn cases(
    case: impl Fn(usize, &mut [f64], &mut Stream) -> f64,
    inputs: usize,
    rows: usize,
    root: Seed,
) -> (Mat<f64>, Vec<f64>) {
    let mut stream = root.named("rows").stream(0, 0);
    let (mut x, mut y) = (Mat::zeros(rows, inputs), Vec::with_capacity(rows));
    let mut values = vec![0.0; inputs];
    for row in 0..rows {
        stream.go_to(Address::of(row as u64, 0));
        y.push(case(row, &mut values, &mut stream));
        values.iter().enumerate().for_each(|(column, value)| x[(row, column)] = *value);
    }
    (x, y)
}

/// In the shape of energy, sml, gas and pol: correlated normal inputs; the target is a random sum of ten smooth steps, with
/// noise.
///
/// ```text
/// y = sum_k a_k tanh(w_k' x / sqrt(d) + b_k) / sqrt(10) + 0.1 eps
/// ```
fn smooth(inputs: usize, root: Seed) -> impl Fn(usize, &mut [f64], &mut Stream) -> f64 {
    const UNITS: usize = 10;
    let weights = weights(UNITS * (inputs + 2), root);
    move |_, x, stream| {
        correlated(x, stream);
        let step = |unit: &[f64]| {
            let (slopes, rest) = unit.split_at(inputs);
            rest[0] * (dot(slopes, x) / (inputs as f64).sqrt() + rest[1]).tanh()
        };
        let sum: f64 = weights.chunks_exact(inputs + 2).map(step).sum();
        sum / (UNITS as f64).sqrt() + 0.1 * stream.normal()
    }
}

/// In the shape of SUSY and HIGGS: correlated normal measurements, inputs derived from pairs of these, and a label that is
/// logistic in all inputs.
fn collisions(count: usize, inputs: usize, root: Seed) -> impl Fn(usize, &mut [f64], &mut Stream) -> f64 {
    let weights = scaled_weights(inputs, root);
    move |_, x, stream| {
        let (measured, derived) = x.split_at_mut(count);
        correlated(measured, stream);
        for (k, value) in derived.iter_mut().enumerate() {
            let (a, b) = (measured[k % count], measured[(k + 3) % count]);
            *value = match k % 3 {
                0 => (a * a + b * b).sqrt() - 1.25, // the mean length of two standard normals is about 1.25
                1 => a * b,
                _ => (a - b).tanh(),
            };
        }
        label(dot(x, &weights), stream)
    }
}

/// In the shape of MiniBooNE: inputs with the heavy tails of Student's t with 3 degrees of freedom, some rows without
/// measurement, and about 28 percent of labels 1.
fn flashes(inputs: usize, root: Seed) -> impl Fn(usize, &mut [f64], &mut Stream) -> f64 {
    /// One row in this number has no measurement: 468 of 130064.
    const MISSING_EVERY: usize = 278;
    /// Code for a missing measurement.
    const MISSING: f64 = -999.0;
    let weights = scaled_weights(inputs, root);
    move |row, x, stream| {
        for value in x.iter_mut() {
            let mut normals = [0.0; 4];
            stream.normals_into(&mut normals);
            let [a, rest @ ..] = normals;
            *value = a / (dot(&rest, &rest) / 3.0).sqrt();
        }
        // Inputs to the logit are bounded, so that a single tail value does not decide a label.
        let logit: f64 = x.iter().zip(&weights).map(|(x, weight)| weight * x.tanh()).sum();
        if row.is_multiple_of(MISSING_EVERY) {
            x.fill(MISSING);
        }
        label(logit - 1.2, stream)
    }
}

/// In the shape of CovType: correlated normals, then two categories in one-hot coding; category `k` has a probability
/// proportional to `1/k` (Zipf). The label is logistic in all inputs, and centred so that about half of the labels are 1.
fn forest(inputs: usize, root: Seed) -> impl Fn(usize, &mut [f64], &mut Stream) -> f64 {
    const MEASURED: usize = 10;
    /// First input of each category, and its number of values.
    const CATEGORIES: [(usize, usize); 2] = [(MEASURED, 4), (MEASURED + 4, 40)];
    let total = |count: usize| (1..=count).map(|k| 1.0 / k as f64).sum::<f64>();
    let weights = weights(inputs, root);
    let centre = CATEGORIES.map(|(start, count)| {
        (1..=count).map(|k| weights[start + k - 1] / k as f64).sum::<f64>() / total(count)
    });
    let centre = centre[0] + centre[1];
    move |_, x, stream| {
        let (measured, coded) = x.split_at_mut(MEASURED);
        correlated(measured, stream);
        coded.fill(0.0);
        for (start, count) in CATEGORIES {
            // The category whose interval of cumulative probability contains a uniform number.
            let mut left = stream.uniform() * total(count);
            let is_it = |k: &usize| {
                left -= 1.0 / *k as f64;
                left < 0.0
            };
            x[start + (1..count).find(is_it).unwrap_or(count) - 1] = 1.0;
        }
        label(dot(x, &weights) - centre, stream)
    }
}

/// Standard normals, each with a correlation of one half with the one before: an autoregression of order 1.
fn correlated(x: &mut [f64], stream: &mut Stream) {
    const CORRELATION: f64 = 0.5;
    stream.normals_into(x);
    let rest = (1.0 - CORRELATION * CORRELATION).sqrt();
    for k in 1..x.len() {
        x[k] = CORRELATION * x[k - 1] + rest * x[k];
    }
}

/// 1 with probability `1 / (1 + exp(-logit))`, else 0.
fn label(logit: f64, stream: &mut Stream) -> f64 {
    f64::from(u8::from(stream.uniform() < 1.0 / (1.0 + (-logit).exp())))
}

/// Standard normal weights.
fn weights(count: usize, root: Seed) -> Vec<f64> {
    let mut weights = vec![0.0; count];
    root.named("weights").stream(0, 0).normals_into(&mut weights);
    weights
}

/// Weights for which the logit has a standard deviation of about 2.
fn scaled_weights(inputs: usize, root: Seed) -> Vec<f64> {
    let scale = 2.0 / (inputs as f64).sqrt();
    weights(inputs, root).into_iter().map(|weight| scale * weight).collect()
}

/// `sum_i a_i b_i`.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Sum of random waves, which approaches a Gaussian process with the Matern-3/2 kernel as their number grows (Rahimi & Recht
/// 2007): frequencies have the kernel's spectral density, a bivariate t with 3 degrees of freedom.
///
/// ```text
/// k(r) = (1 + sqrt(3) r / l) exp(-sqrt(3) r / l)
/// ```
struct Field {
    /// Frequency by longitude, frequency by latitude, and phase.
    waves: Vec<[f64; 3]>,
}

impl Field {
    const WAVES: usize = 1024;

    fn new(length: f64, stream: &mut Stream) -> Self {
        let mut wave = || {
            let mut normals = [0.0; 5];
            stream.normals_into(&mut normals);
            let [a, b, rest @ ..] = normals;
            let scale = (3.0 / rest.iter().map(|x| x * x).sum::<f64>()).sqrt() / length;
            [a * scale, b * scale, TAU * stream.uniform()]
        };
        Self { waves: (0..Self::WAVES).map(|_| wave()).collect() }
    }

    fn at(&self, [longitude, latitude]: [f64; 2]) -> f64 {
        let wave = |[a, b, phase]: &[f64; 3]| (a * longitude + b * latitude + phase).cos();
        self.waves.iter().map(wave).sum::<f64>() * (2.0 / Self::WAVES as f64).sqrt()
    }
}

/// In the shape of the WASP precipitation: the `rows` highest places of a random relief on a grid of one degree, in the order
/// of the grid, with values of a second field and Student t noise, whose tails are heavy as the errors of the regression in
/// SL-DAIS are.
fn precipitation(rows: usize, root: Seed) -> (Mat<f64>, Vec<f64>) {
    /// Length scales of continents and of the values, in degrees.
    const LENGTHS: (f64, f64) = (25.0, 8.0);
    /// Scale of the noise, with the standard deviation of the signal as unit, and its degrees of freedom.
    const NOISE: (f64, usize) = (0.3, 3);
    /// Latitudes -59.5, -58.5, .. 74.5.
    const GRID: (usize, usize) = (135, 360);
    let relief = Field::new(LENGTHS.0, &mut root.named("land").stream(0, 0));
    let values = Field::new(LENGTHS.1, &mut root.named("values").stream(0, 0));
    let mut noise = root.named("noise").stream(0, 0);
    let place = |k: usize| [(k % GRID.1) as f64 - 179.5, (k / GRID.1) as f64 - 59.5];
    let heights: Vec<f64> = (0..GRID.0 * GRID.1).map(|k| relief.at(place(k))).collect();
    let mut land: Vec<usize> = (0..heights.len()).collect();
    land.sort_by(|a, b| heights[*b].total_cmp(&heights[*a]).then(a.cmp(b)));
    land.truncate(rows);
    land.sort_unstable();
    let x = Mat::from_fn(land.len(), 2, |row, column| place(land[row])[column]);
    let mut error = || {
        let square: f64 = (0..NOISE.1).map(|_| noise.normal().powi(2)).sum();
        NOISE.0 * noise.normal() / (square / NOISE.1 as f64).sqrt()
    };
    let y = land.iter().map(|k| values.at(place(*k)) + error()).collect();
    (x, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalogue, Kind};

    fn made(name: &str, rows: usize) -> Dataset {
        Catalogue::new(None).stand_in(name, Some(rows), Seed::new(1)).unwrap()
    }

    #[test]
    fn a_stand_in_has_the_shape_and_says_what_it_is() {
        let catalogue = Catalogue::new(None);
        for entry in
            catalogue.entries().iter().filter(|entry| entry.stand_in.is_some() && entry.kind != Kind::Series)
        {
            let data = made(&entry.name, 700);
            assert_eq!(
                (data.rows(), data.x.nrows(), data.inputs()),
                (700, 700, entry.inputs()),
                "{}",
                entry.name
            );
            assert!((0..700).all(|row| (0..data.inputs()).all(|column| data.x[(row, column)].is_finite())));
            if data.has_labels {
                let ones: f64 = data.y.iter().sum();
                assert!(
                    data.y.iter().all(|y| *y == 0.0 || *y == 1.0) && (100.0..600.0).contains(&ones),
                    "{ones}"
                );
            }
        }
    }

    #[test]
    fn rows_do_not_depend_on_their_number_and_the_seed_decides() {
        for name in ["susy", "higgs", "miniboone", "covtype", "sml"] {
            let (few, many) = (made(name, 20), made(name, 50));
            assert_eq!(few.y, many.y[..20], "{name}");
            assert!((0..20).all(|row| few.x.row(row) == many.x.row(row)), "{name}");
            let other = Catalogue::new(None).stand_in(name, Some(20), Seed::new(2)).unwrap();
            assert_ne!(few.x, other.x, "{name}");
        }
        assert_eq!(made("wasp_precipitation_2010", 100), made("wasp_precipitation_2010", 100));
    }

    #[test]
    fn categories_are_coded_by_a_single_one() {
        let data = made("covtype", 2_000);
        for row in 0..data.rows() {
            let ones = |from: usize, to: usize| (from..to).map(|column| data.x[(row, column)]).sum::<f64>();
            assert_eq!((ones(10, 14), ones(14, 54)), (1.0, 1.0));
        }
    }

    #[test]
    fn missing_rows_are_as_many_as_upstream() {
        let data = made("miniboone", 600);
        let missing: Vec<usize> = (0..600).filter(|row| data.x[(*row, 0)] == -999.0).collect();
        assert_eq!(missing, [0, 278, 556]);
        assert_eq!(130_064_usize.div_ceil(278), 468);
    }

    #[test]
    fn the_field_has_its_kernel() {
        // A mean of 1024 cosines has a standard error below 0.023: 0.1 is more than 4 standard errors, at each of 4 distances.
        let field = Field::new(8.0, &mut Seed::new(5).stream(0, 0));
        for distance in [0.0, 4.0, 8.0, 20.0] {
            let scaled = 3.0_f64.sqrt() * distance / 8.0;
            let kernel = (1.0 + scaled) * (-scaled).exp();
            for [longitude, latitude] in [[distance, 0.0], [0.6 * distance, 0.8 * distance]] {
                // The covariance of two places given the waves.
                let waves = field.waves.iter().map(|[a, b, _]| (a * longitude + b * latitude).cos());
                assert!((waves.sum::<f64>() / Field::WAVES as f64 - kernel).abs() < 0.1);
            }
        }
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        let catalogue = Catalogue::new(None);
        assert!(catalogue.stand_in("pima", None, Seed::new(1)).is_err());
        assert!(catalogue.stand_in("susy", Some(0), Seed::new(1)).is_err());
        let error = catalogue.stand_in("sml", Some(5_000), Seed::new(1)).unwrap_err().to_string();
        assert_eq!(error, "sml: 5000 rows asked for; a stand-in has 1 to 4137");
    }

    #[test]
    fn levels_are_a_series_with_clusters_of_volatility() {
        let catalogue = Catalogue::new(None);
        let levels = catalogue.series_stand_in("sp500_close_2007_2017", Seed::new(1)).unwrap();
        assert_eq!((levels.levels.nrows(), levels.columns.len()), (2519, 1));
        assert!(levels.levels.col(0).iter().all(|level| (100.0..20_000.0).contains(level)));
        let returns = levels.log_returns();
        let squares: Vec<f64> = returns.col(0).iter().map(|change| change * change).collect();
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        let lagged = |lag: usize| -> f64 {
            squares.iter().zip(&squares[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum()
        };
        // Independent returns of this law have an autocorrelation of squares of 0.02 at most.
        assert!(lagged(1) / lagged(0) > 0.1, "{}", lagged(1) / lagged(0));
        assert_eq!(levels, catalogue.series_stand_in("sp500_close_2007_2017", Seed::new(1)).unwrap());
        assert_ne!(
            levels.levels,
            catalogue.series_stand_in("sp500_close_2007_2017", Seed::new(2)).unwrap().levels
        );
        assert!(catalogue.series_stand_in("fx_ecb_18", Seed::new(1)).is_err());
        assert!(catalogue.stand_in("sp500_close_2007_2017", None, Seed::new(1)).is_err());
    }
}
