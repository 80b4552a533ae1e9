//! Synthetic data of the shape of the WASP precipitation: a field on a grid.

use std::f64::consts::TAU;

use faer::Mat;
use mcsa_core::{Seed, Stream};

/// Number of waves that a field is made of.
const WAVES: usize = 1024;
/// Length scale of the values, in degrees.
const LENGTH: f64 = 8.0;
/// Length scale of continents, in degrees.
const LAND_LENGTH: f64 = 25.0;
/// Scale of the noise; the standard deviation of the signal is 1.
const NOISE: f64 = 0.3;
/// Degrees of freedom of the noise, whose tails are heavy, as the errors of the regression in SL-DAIS are.
const FREEDOM: usize = 3;
/// Latitudes of the grid: -59.5, -58.5, .. 74.5.
const LATITUDES: usize = 135;
const LONGITUDES: usize = 360;

/// Sum of random waves, which approaches a Gaussian process with the Matern-3/2 kernel as their number grows (Rahimi & Recht
/// 2007): frequencies have the kernel's spectral density, a bivariate t with 3 degrees of freedom.
///
/// ```text
/// k(r) = (1 + sqrt(3) r / l) exp(-sqrt(3) r / l)
/// ```
pub(super) struct Field {
    /// Frequency by longitude, frequency by latitude, and phase.
    waves: Vec<[f64; 3]>,
}

impl Field {
    pub(super) fn new(length: f64, stream: &mut Stream) -> Self {
        let mut wave = || {
            let mut normals = [0.0; 5];
            stream.normals_into(&mut normals);
            let [a, b, rest @ ..] = normals;
            let scale = (3.0 / rest.iter().map(|x| x * x).sum::<f64>()).sqrt() / length;
            [a * scale, b * scale, TAU * stream.uniform()]
        };
        Self { waves: (0..WAVES).map(|_| wave()).collect() }
    }

    fn at(&self, [longitude, latitude]: [f64; 2]) -> f64 {
        let wave = |[a, b, phase]: &[f64; 3]| (a * longitude + b * latitude + phase).cos();
        self.waves.iter().map(wave).sum::<f64>() * (2.0 / WAVES as f64).sqrt()
    }

    /// Covariance of two places with this difference in longitude and latitude, given the waves.
    #[cfg(test)]
    pub(super) fn covariance(&self, [longitude, latitude]: [f64; 2]) -> f64 {
        let wave = |[a, b, _]: &[f64; 3]| (a * longitude + b * latitude).cos();
        self.waves.iter().map(wave).sum::<f64>() / WAVES as f64
    }
}

/// The `rows` highest places of a random relief, in the order of the grid, with values of a second field and Student t noise.
pub(super) fn draw(rows: usize, root: Seed) -> (Mat<f64>, Vec<f64>) {
    let relief = Field::new(LAND_LENGTH, &mut root.named("land").stream(0, 0));
    let values = Field::new(LENGTH, &mut root.named("values").stream(0, 0));
    let mut noise = root.named("noise").stream(0, 0);
    let place = |k: usize| [(k % LONGITUDES) as f64 - 179.5, (k / LONGITUDES) as f64 - 59.5];
    let heights: Vec<f64> = (0..LATITUDES * LONGITUDES).map(|k| relief.at(place(k))).collect();
    let mut land: Vec<usize> = (0..heights.len()).collect();
    land.sort_by(|a, b| heights[*b].total_cmp(&heights[*a]).then(a.cmp(b)));
    land.truncate(rows);
    land.sort_unstable();
    let x = Mat::from_fn(land.len(), 2, |row, column| place(land[row])[column]);
    let mut error = || {
        let square: f64 = (0..FREEDOM).map(|_| noise.normal().powi(2)).sum();
        NOISE * noise.normal() / (square / FREEDOM as f64).sqrt()
    };
    let y = land.iter().map(|k| values.at(place(*k)) + error()).collect();
    (x, y)
}
