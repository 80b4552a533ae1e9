//! Clusters of rows (k-means), and coresets of a logistic regression.

use faer::{Mat, MatRef};
use mcsa_core::{Error, Stream, finite_matrix, same_length};

use mcsa_models::support::{positive, zeros_and_ones};
use mcsa_numeric::design::{GROUP, Panels, ROWS, Rows};

/// Clusters of the rows of a matrix (k-means): each row belongs to one, and the centre of a cluster is the mean of its rows.
///
/// ```
/// use mcsa_core::Seed;
/// use mcsa_annealed::surrogate::Clusters;
/// let x = faer::mat![[0.0], [0.2], [5.0], [5.2]];
/// let clusters = Clusters::k_means(x.as_ref(), 2, 100, &mut Seed::new(1).stream(0, 0))?;
/// assert!((clusters.inertia(x.as_ref()) - 0.04).abs() < 1e-12);
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Clusters {
    /// Centres, one per row.
    pub centres: Mat<f64>,
    /// Cluster of each row.
    pub assignment: Vec<usize>,
    /// Number of rows of each cluster; none is 0.
    pub sizes: Vec<usize>,
}

/// The matrix row by row.
fn by_row(x: MatRef<'_, f64>) -> Rows {
    Rows::from_fn(x.nrows(), x.ncols(), |n, k| x[(n, k)])
}

/// `|a - b|^2`.
fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// First index of the largest `a_i - b_i`, on whole panels; 0 if every difference is NaN.
fn first_largest(a: &[f64], b: &[f64]) -> usize {
    let mut lanes = [f64::NEG_INFINITY; ROWS];
    for (a, b) in a.as_chunks::<ROWS>().0.iter().zip(b.as_chunks::<ROWS>().0) {
        for ((most, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *most = if a - b > *most { a - b } else { *most };
        }
    }
    let most = lanes.into_iter().fold(f64::NEG_INFINITY, f64::max);
    a.iter().zip(b).position(|(a, b)| a - b == most).unwrap_or(0)
}

/// Rows at which k-means++ places the first centres (Arthur & Vassilvitskii 2007).
///
/// The first is uniform; each further one is row n with a probability proportional to the squared distance to its nearest
/// centre, or uniform if all distances are 0.
///
/// # Errors
/// If there are fewer rows than clusters, no cluster, no column, or a number is not finite.
pub fn seed_clusters(x: MatRef<'_, f64>, clusters: usize, stream: &mut Stream) -> Result<Vec<usize>, Error> {
    let within = |error: Error| error.within("k-means");
    finite_matrix("rows", x).map_err(within)?;
    if x.ncols() == 0 {
        return Err(within(Error::invalid("the rows have no columns")));
    }
    if clusters == 0 || clusters > x.nrows() {
        return Err(within(Error::invalid(format!("{clusters} clusters of {} rows", x.nrows()))));
    }
    let rows = by_row(x);
    let mut seeds: Vec<usize> = stream.index(x.nrows()).into_iter().collect();
    let mut nearest = vec![f64::INFINITY; x.nrows()];
    while seeds.len() < clusters {
        let centre = rows.row(seeds[seeds.len() - 1]);
        for (n, nearest) in nearest.iter_mut().enumerate() {
            *nearest = nearest.min(square(rows.row(n), centre));
        }
        let total: f64 = nearest.iter().sum();
        let cumulated = nearest.iter().scan(0.0, |sum, &square| {
            *sum += square;
            Some(*sum)
        });
        if total > 0.0 {
            let u = total * stream.uniform_between(cumulated.clone().map(|sum| sum / total));
            // The last row with a positive distance, should rounding leave u above all sums.
            let last = nearest.iter().rposition(|&square| square > 0.0);
            seeds.extend(cumulated.into_iter().position(|sum| u < sum).or(last));
        } else {
            seeds.extend(stream.index(x.nrows()));
        }
    }
    Ok(seeds)
}

impl Clusters {
    /// Clusters by k-means++ and at most `passes` Lloyd iterations. An iteration assigns each row to the nearest centre, then
    /// moves each centre to the mean of its rows. In between, an empty cluster takes the row that is farthest from its centre
    /// among clusters of several rows. The iterations end as soon as no row changes its cluster.
    ///
    /// The sum of squared distances never rises. One pass costs one product of the rows with the centres.
    ///
    /// # Errors
    /// If there are fewer rows than clusters, no cluster, no column, no pass, or a number is not finite.
    pub fn k_means(
        x: MatRef<'_, f64>,
        clusters: usize,
        passes: usize,
        stream: &mut Stream,
    ) -> Result<Self, Error> {
        let seeds = seed_clusters(x, clusters, stream)?;
        if passes == 0 {
            return Err(Error::parameter("passes", 0.0, "at least 1").within("k-means"));
        }
        Ok(Self::lloyd(x, Mat::from_fn(clusters, x.ncols(), |c, k| x[(seeds[c], k)]), passes))
    }

    /// Lloyd iterations from these centres.
    fn lloyd(x: MatRef<'_, f64>, centres: Mat<f64>, passes: usize) -> Self {
        let rows = by_row(x);
        let sizes = vec![0; centres.nrows()];
        let mut clusters = Self { centres, assignment: vec![usize::MAX; x.nrows()], sizes };
        for _ in 0..passes {
            let before = clusters.assignment.clone();
            clusters.assign(&rows);
            clusters.fill_empty(&rows);
            if clusters.assignment == before {
                break;
            }
            clusters.move_centres(&rows);
        }
        clusters
    }

    /// Assigns each row to the nearest centre, the one of largest `c . x - |c|^2 / 2`.
    fn assign(&mut self, rows: &Rows) {
        let (count, d) = (self.centres.nrows(), self.centres.ncols());
        let centres = Panels::from_fn(count, d, |c, k| self.centres[(c, k)]);
        let stride = centres.view().padded_rows();
        let mut halves = vec![f64::INFINITY; stride];
        for (c, half) in halves.iter_mut().enumerate().take(count) {
            *half = 0.5 * mcsa_core::numeric::dot(centres.by_row().row(c), centres.by_row().row(c));
        }
        let (mut products, mut work) =
            (vec![0.0; stride * GROUP], vec![0.0; centres.view().multiply_work_len()]);
        self.sizes.fill(0);
        for (group, assignment) in self.assignment.chunks_mut(GROUP).enumerate() {
            let products = &mut products[..stride * assignment.len()];
            let points = (0..assignment.len()).map(|i| rows.row(group * GROUP + i));
            centres.view().multiply(points, products, &mut work);
            for (products, assignment) in products.chunks_exact(stride).zip(assignment) {
                let at = first_largest(products, &halves);
                *assignment = at;
                self.sizes[at] += 1;
            }
        }
    }

    /// Gives each empty cluster the row that is farthest from its centre, among clusters of several rows.
    fn fill_empty(&mut self, rows: &Rows) {
        while let Some(empty) = self.sizes.iter().position(|&size| size == 0) {
            let (mut far, mut farthest) = (-1.0, None);
            for (n, &own) in self.assignment.iter().enumerate() {
                let distance = self.square_to(own, rows.row(n));
                if self.sizes[own] > 1 && distance > far {
                    (far, farthest) = (distance, Some(n));
                }
            }
            // There are at least as many rows as clusters, so that a cluster of several rows exists.
            let Some(n) = farthest else { return };
            self.sizes[self.assignment[n]] -= 1;
            self.sizes[empty] = 1;
            self.assignment[n] = empty;
            rows.row(n).iter().enumerate().for_each(|(k, x)| self.centres[(empty, k)] = *x);
        }
    }

    fn move_centres(&mut self, rows: &Rows) {
        self.centres.fill(0.0);
        let d = self.centres.ncols();
        for (n, &c) in self.assignment.iter().enumerate() {
            (0..d).for_each(|k| self.centres[(c, k)] += rows.row(n)[k]);
        }
        for (c, &size) in self.sizes.iter().enumerate() {
            (0..d).for_each(|k| self.centres[(c, k)] /= size as f64);
        }
    }

    /// Squared distance of a row from a centre.
    fn square_to(&self, centre: usize, row: &[f64]) -> f64 {
        (0..row.len()).map(|k| (row[k] - self.centres[(centre, k)]).powi(2)).sum()
    }

    /// Inertia: the sum of squared distances of the rows from the centres of their clusters.
    pub fn inertia(&self, x: MatRef<'_, f64>) -> f64 {
        assert!(
            x.nrows() == self.assignment.len() && x.ncols() == self.centres.ncols(),
            "the rows of the clusters"
        );
        let rows = by_row(x);
        self.assignment.iter().enumerate().map(|(n, &own)| self.square_to(own, rows.row(n))).sum()
    }
}

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
        let within = |error: Error| error.within("Coreset");
        if sensitivities.is_empty() || draws == 0 {
            return Err(within(Error::invalid("a coreset needs at least one row and one draw")));
        }
        sensitivities.iter().try_for_each(|&m| positive("sensitivity", m)).map_err(within)?;
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
        let within = |error: Error| error.within("Coreset");
        same_length("labels", x.nrows(), labels.len()).map_err(within)?;
        zeros_and_ones(labels).map_err(within)?;
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
    let within = |error: Error| error.within("sensitivities");
    positive("radius", radius).map_err(within)?;
    same_length("assignment", signed.nrows(), clusters.assignment.len()).map_err(within)?;
    same_length("centre", signed.ncols(), clusters.centres.ncols()).map_err(within)?;
    let (n, count, rows) = (signed.nrows(), clusters.sizes.len(), by_row(signed));
    // Squared distances, one row after the other.
    let squares: Vec<f64> =
        (0..n * count).map(|at| clusters.square_to(at % count, rows.row(at / count))).collect();
    let nearest =
        squares.chunks_exact(count).map(|squares| squares.iter().copied().fold(f64::INFINITY, f64::min));
    let steepness = radius / (nearest.sum::<f64>() / n as f64).sqrt();
    let bound = |(squares, &own): (&[f64], &usize)| {
        let others = squares.iter().zip(&clusters.sizes).enumerate().map(|(c, (square, &size))| {
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
    Ok(squares.chunks_exact(count).zip(&clusters.assignment).map(bound).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A centre without rows takes the farthest row of a larger cluster.
    #[test]
    fn empty_clusters_are_filled() {
        let x = faer::mat![[0.0], [1.0], [2.0], [10.0]];
        let clusters = Clusters::lloyd(x.as_ref(), faer::mat![[1.0], [100.0]], 1);
        assert_eq!((&clusters.assignment[..], &clusters.sizes[..]), (&[0, 0, 0, 1][..], &[3, 1][..]));
        assert_eq!((clusters.centres[(0, 0)], clusters.centres[(1, 0)]), (1.0, 10.0));
    }
}
