use faer::{Mat, MatRef};
use mcsa_core::{Error, Stream, same_length};

use super::clusters::Clusters;
use mcsa_models::support::{positive, zeros_and_ones};

/// Number of clusters and radius `a` of the ball, in units of the root mean squared distance (Huggins, Campbell & Broderick 2016).
const CLUSTERS: usize = 6;
const RADIUS: f64 = 6.0;

/// Coreset of a data set: a few of its rows, with weights that make their sum an unbiased estimate of the sum over all rows.
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_annealed::surrogate::Coreset;
/// let coreset = Coreset::draw(&[1.0, 1.0, 2.0], 1, &mut Seed::new(1).stream(0, 0))?;
/// let row = coreset.rows[0];
/// assert_eq!(coreset.weights, [[4.0, 4.0, 2.0][row]]);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Coreset {
    /// Rows, in increasing order.
    pub rows: Vec<usize>,
    /// Weight of each row.
    pub weights: Vec<f64>,
}

impl Coreset {
    /// Coreset by importance sampling: M draws of row n with probability `p_n = m_n / sum_i m_i`, of weight `count_n / (M p_n)`. A row
    /// that is drawn several times is listed once, so that there may be fewer than M rows.
    ///
    /// # Errors
    /// If there is no row or no draw, or a sensitivity is not positive and finite.
    pub fn draw(sensitivities: &[f64], draws: usize, stream: &mut Stream) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("Coreset");
        if sensitivities.is_empty() || draws == 0 {
            return Err(refuse(Error::invalid("a coreset needs at least one row and one draw")));
        }
        sensitivities.iter().try_for_each(|&m| positive("sensitivity", m)).map_err(refuse)?;
        let mut sums = Vec::with_capacity(sensitivities.len());
        let total = sensitivities.iter().fold(0.0, |sum, m| {
            sums.push(sum + m);
            sum + m
        });
        let mut counts = vec![0_usize; sensitivities.len()];
        for _ in 0..draws {
            let u = total * stream.uniform_between(sums.iter().map(|sum| sum / total));
            counts[sums.partition_point(|&sum| sum <= u).min(sums.len() - 1)] += 1;
        }
        let rows: Vec<usize> = (0..counts.len()).filter(|&n| counts[n] > 0).collect();
        let weight = |&n: &usize| counts[n] as f64 * total / (draws as f64 * sensitivities[n]);
        Ok(Self { weights: rows.iter().map(weight).collect(), rows })
    }

    /// Coreset of a logistic regression with labels 0 or 1, from [`sensitivities`] with six clusters after one Lloyd iteration and
    /// radius 6 (Huggins, Campbell & Broderick 2016). Unlike the source code of that paper, which seeds the clusters on a part of the
    /// rows, all rows can be seeds.
    ///
    /// # Errors
    /// If there are fewer than six rows, no draw, no column, lengths differ, a number is not finite, or a label is neither 0 nor 1.
    pub fn logistic(
        x: MatRef<'_, f64>,
        labels: &[f64],
        draws: usize,
        stream: &mut Stream,
    ) -> Result<Self, Error> {
        let refuse = |error: Error| error.within("Coreset");
        same_length("labels", x.nrows(), labels.len()).map_err(refuse)?;
        zeros_and_ones(labels).map_err(refuse)?;
        let signed = Mat::from_fn(x.nrows(), x.ncols(), |n, k| (2.0 * labels[n] - 1.0) * x[(n, k)]);
        let clusters = Clusters::k_means(signed.as_ref(), CLUSTERS, 1, stream)?;
        Self::draw(&sensitivities(signed.as_ref(), &clusters, RADIUS)?, draws, stream)
    }
}

/// Bounds `m_n` of the sensitivities of a logistic likelihood, for rows multiplied by the signs of their labels.
///
/// ```text
/// m_n = N / (1 + sum_i |G_i \ n| exp(-R |c_i - z_n|)),   R = radius / sqrt(mean_n min_i |c_i - z_n|^2)
/// ```
/// with `c_i` the mean of the rows of cluster `G_i` other than n (Huggins, Campbell & Broderick 2016, Lemma 3.1). Rows far from all
/// others count most.
///
/// # Errors
/// If the clusters are not those of these rows, or the radius is not positive.
pub fn sensitivities(signed: MatRef<'_, f64>, clusters: &Clusters, radius: f64) -> Result<Vec<f64>, Error> {
    let refuse = |error: Error| error.within("sensitivities");
    positive("radius", radius).map_err(refuse)?;
    same_length("assignment", signed.nrows(), clusters.assignment().len()).map_err(refuse)?;
    same_length("centre", signed.ncols(), clusters.centres().ncols()).map_err(refuse)?;
    let (n, count) = (signed.nrows(), clusters.sizes().len());
    // Squared distances, one row after the other.
    let mut squares = Vec::with_capacity(n * count);
    for i in 0..n {
        let row: Vec<f64> = (0..signed.ncols()).map(|k| signed[(i, k)]).collect();
        squares.extend((0..count).map(|c| clusters.square_to(c, &row)));
    }
    let nearest =
        squares.chunks_exact(count).map(|squares| squares.iter().copied().fold(f64::INFINITY, f64::min));
    let steepness = radius / (nearest.sum::<f64>() / n as f64).sqrt();
    let bound = |(squares, &own): (&[f64], &usize)| {
        let others = squares.iter().zip(clusters.sizes()).enumerate().map(|(c, (square, &size))| {
            // Without row n, the mean of its cluster moves away from it by the factor size / (size - 1).
            let (rest, shift) = match (c == own, size) {
                (true, 1) => return 0.0,
                (true, _) => (size as f64 - 1.0, size as f64 / (size as f64 - 1.0)),
                (false, _) => (size as f64, 1.0),
            };
            let distance = square.sqrt() * shift;
            if distance > 0.0 { rest * (-steepness * distance).exp() } else { rest }
        });
        n as f64 / (1.0 + others.sum::<f64>())
    };
    Ok(squares.chunks_exact(count).zip(clusters.assignment()).map(bound).collect())
}
