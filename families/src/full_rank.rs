//! Full-rank Gaussian family, parametrised by mean and Cholesky factor, and the update of a packed factor by weighted points.

use faer::{MatMut, MatRef};
use mcsa_core::{
    Columns, ColumnsMut, Error, Family, Parametric, Reparameterised, Stream, all_finite, batch, batch_mut,
    borrow, each_column, same_length,
};
use mcsa_numeric::linear::few::{Place, Whiten};
use mcsa_numeric::linear::packed::{AddOuters, MultiplyAdd, PANEL, Solve, SolveTransposed, start};
use mcsa_numeric::linear::{few, packed, standard};
use pulp::{Arch, NullaryFnOnce};

use crate::Link;
use crate::gaussian::LN_SQRT_2PI;

/// Full-rank Gaussian `N(m, L L^T)`, parametrised by mean and Cholesky factor.
///
/// ```text
/// q(z) = N(z; m, L L^T),   L lower triangular, L_kk = link(rho_k),   eps = L^-1 (z - m),   y = L^-T eps
/// d/dm     log q = y
/// d/dL_ik  log q = y_i eps_k                      (i > k)
/// d/drho_k log q = (y_k eps_k - 1/L_kk) link'(rho_k)
/// ```
/// Packing: `[m; L column by column]`, column `k` being `rho_k, L_{k+1,k}, .., L_{d-1,k}`. In three dimensions:
/// `m_0 m_1 m_2 | rho_0 L_10 L_20 | rho_1 L_21 | rho_2`.
///
/// KL(p || q) is least at the target's mean and covariance. The triangle has `d (d + 1) / 2` parameters;
/// one column of it is read once for all points of a batch, so a batch costs little more than a point once the
/// triangle does not fit into the cache.
///
/// `check` refuses a `rho` whose scale is not a positive normal number. Where `L^-1 (z - m)` or a number on the way to it
/// overflows, the log density is `-inf`. Dimension 0 is the point mass on the empty vector.
///
/// ```
/// use mcsa_families::FullRank;
/// let q = FullRank::new(2);
/// let params = q.at(&[0.0, 0.0], faer::mat![[1.0, 0.0], [0.5, 1.0]].as_ref())?;
/// assert_eq!((params.len(), params[3]), (5, 0.5));
/// # Ok::<(), mcsa_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullRank {
    /// The dimension.
    pub dim: usize,
    /// The map from `rho` to the diagonal of the factor.
    pub link: Link,
}

/// Diagonal of the factor: scales and `rho`, and room for a third vector of length `d`.
pub(crate) struct Diagonal<'a> {
    pub(crate) scales: &'a mut [f64],
    pub(crate) rho: &'a mut [f64],
    pub(crate) room: &'a mut [f64],
}

impl FullRank {
    /// Family in `dim` dimensions with the softplus link.
    pub const fn new(dim: usize) -> Self {
        Self { dim, link: Link::Softplus }
    }

    /// This family with another link.
    #[must_use]
    pub const fn with_link(self, link: Link) -> Self {
        Self { link, ..self }
    }

    /// Parameters with this mean and this lower Cholesky factor. A covariance instead of its factor is refused, except a diagonal
    /// one, which cannot be told apart from a factor.
    ///
    /// # Errors
    /// If a shape differs, a number is not finite, the diagonal is not positive, or an entry above the diagonal is not zero.
    pub fn at(&self, mean: &[f64], factor: MatRef<'_, f64>) -> Result<Vec<f64>, Error> {
        same_length("mean", self.dim, mean.len())?;
        same_length("rows of the factor", self.dim, factor.nrows())?;
        same_length("columns of the factor", self.dim, factor.ncols())?;
        for (i, k) in (0..self.dim).flat_map(|k| (0..k).map(move |i| (i, k))) {
            let above = factor[(i, k)];
            if above != 0.0 {
                return Err(Error::invalid(format!(
                    "factor[{i}, {k}] is {above}, above the diagonal: expected the lower Cholesky factor L of a covariance L L^T, with \
                     zeros there; of a covariance take the factor first"
                )));
            }
        }
        let mut params = Vec::with_capacity(self.num_params());
        params.extend_from_slice(mean);
        for k in 0..self.dim {
            let rho = self.link.inverse(factor[(k, k)]);
            params.push(rho.map_err(|error| error.within(format!("diagonal {k} of the factor")))?);
            params.extend((k + 1..self.dim).map(|i| factor[(i, k)]));
        }
        all_finite("params", &params)?;
        Ok(params)
    }

    fn parts<'a>(&self, params: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        assert_eq!(params.len(), self.num_params(), "mean and triangle");
        params.split_at(self.dim)
    }

    pub(crate) fn diagonal<'a>(&self, triangle: &[f64], work: &mut &'a mut [f64]) -> Diagonal<'a> {
        let [scales, rho, room] = [(); 3].map(|()| borrow(work, self.dim));
        packed::take_diagonal(triangle, rho);
        self.link.scales_into(rho, scales);
        Diagonal { scales, rho, room }
    }

    fn log_normalizer(&self, scales: &[f64], logs: &mut [f64]) -> f64 {
        -(standard::sum_of_logs(scales, logs) + self.dim as f64 * LN_SQRT_2PI)
    }

    /// Whitened points `eps = L^-1 (z - m)`, one per column of `z`.
    pub(crate) fn whiten(
        &self,
        params: &[f64],
        inverse: &[f64],
        z: MatRef<'_, f64>,
        eps: &mut [f64],
        work: &mut [f64],
    ) {
        let (mean, triangle) = self.parts(params);
        if self.dim > 0 && few::are_few(self.dim, eps.len()) {
            return Whiten { triangle, inverse, mean, z, squares: &mut [], points: eps, work }.run();
        }
        for j in 0..z.ncols() {
            let eps = &mut eps[j * self.dim..][..self.dim];
            for ((eps, z), mean) in eps.iter_mut().zip(z.column(j)).zip(mean) {
                *eps = z - mean;
            }
        }
        if self.dim > 0 {
            Solve { triangle, inverse, points: eps }.run();
        }
    }

    /// Squared lengths of the whitened points, `|L^-1 (z - m)|^2`, one per column of `z`.
    pub(crate) fn squares(
        &self,
        params: &[f64],
        inverse: &[f64],
        z: MatRef<'_, f64>,
        squares: &mut [f64],
        mut work: &mut [f64],
    ) {
        let eps = borrow(&mut work, self.dim * z.ncols());
        if self.dim > 0 && few::are_few(self.dim, eps.len()) {
            let (mean, triangle) = self.parts(params);
            return Whiten { triangle, inverse, mean, z, squares, points: &mut [], work }.run();
        }
        self.whiten(params, inverse, z, eps, work);
        standard::sums_squares(batch(eps, self.dim, z.ncols()), squares);
    }

    /// Points `z = m + L eps`, one per column, and squared lengths of the eps, unless `squares` is empty.
    pub(crate) fn place(
        &self,
        params: &[f64],
        scales: &[f64],
        eps: &[f64],
        mut z: MatMut<'_, f64>,
        squares: &mut [f64],
        mut work: &mut [f64],
    ) {
        let (mean, triangle) = self.parts(params);
        if !squares.is_empty() {
            standard::sums_squares(batch(eps, self.dim, z.ncols()), squares);
        }
        if self.dim > 0 && few::are_few(self.dim, eps.len()) {
            return Place { triangle, scales, mean, eps, z }.run();
        }
        let room = borrow(&mut work, eps.len());
        if self.dim > 0 {
            room.chunks_exact_mut(self.dim).for_each(|out| out.copy_from_slice(mean));
            MultiplyAdd { triangle, diagonal: scales, points: eps, out: room }.run();
        }
        for (j, room) in room.chunks_exact(self.dim.max(1)).enumerate() {
            z.column_mut(j).copy_from_slice(room);
        }
    }
}

pub(crate) fn invert(scales: &mut [f64]) {
    scales.iter_mut().for_each(|scale| *scale = 1.0 / *scale);
}

impl Parametric for FullRank {
    fn config(&self) -> String {
        format!("{self:?}")
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn num_params(&self) -> usize {
        self.dim + packed::len(self.dim)
    }

    fn work_len(&self, columns: usize) -> usize {
        self.dim * (3 + 2 * columns) + few::work_len(self.dim)
    }

    fn check(&self, params: &[f64]) -> Result<(), Error> {
        same_length("params", self.num_params(), params.len())?;
        all_finite("params", params)?;
        for k in 0..self.dim {
            let rho = params[self.dim + packed::start(self.dim, k)];
            self.link.check(&[rho]).map_err(|error| error.within(format!("column {k} of the factor")))?;
        }
        Ok(())
    }
}

impl Family for FullRank {
    fn log_probs(&self, params: &[f64], z: MatRef<'_, f64>, log_q: &mut [f64], mut work: &mut [f64]) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let Diagonal { scales, room, .. } = self.diagonal(self.parts(params).1, &mut work);
        let log_normalizer = self.log_normalizer(scales, room);
        invert(scales);
        self.squares(params, scales, z, log_q, work);
        for (j, log_q) in log_q.iter_mut().enumerate() {
            *log_q = standard::log_density(log_normalizer, *log_q, z.column(j));
        }
    }

    fn sample_into(
        &self,
        params: &[f64],
        lanes: &mut [Stream],
        z: MatMut<'_, f64>,
        log_q: &mut [f64],
        mut work: &mut [f64],
    ) {
        assert_eq!((z.nrows(), z.ncols()), (self.dim, log_q.len()), "a density per column");
        let Diagonal { scales, room, .. } = self.diagonal(self.parts(params).1, &mut work);
        let log_normalizer = self.log_normalizer(scales, room);
        let noise = borrow(&mut work, self.dim * z.ncols());
        each_column(lanes, batch_mut(noise, self.dim, z.ncols()), |lane, _, noise| lane.normals_into(noise));
        self.place(params, scales, noise, z, log_q, work);
        log_q.iter_mut().for_each(|log_q| *log_q = log_normalizer - 0.5 * *log_q);
    }

    fn add_scores(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weights: &[f64],
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let dim = self.dim;
        assert_eq!((z.nrows(), z.ncols()), (dim, weights.len()), "a weight per column");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        if dim == 0 {
            return;
        }
        let (_, triangle) = self.parts(params);
        let Diagonal { scales: inverse, rho, room: slope } = self.diagonal(triangle, &mut work);
        self.link.derivatives_into(rho, slope);
        invert(inverse);
        let (eps, y) = (borrow(&mut work, dim * z.ncols()), borrow(&mut work, dim * z.ncols()));
        self.whiten(params, inverse, z, eps, work);
        y.copy_from_slice(eps);
        SolveTransposed { triangle, inverse, points: y }.run();

        let (d_mean, d_triangle) = gradient.split_at_mut(dim);
        // Diagonal entries are scattered over the packed triangle: they are gathered once per batch, not once per point.
        let d_rho = rho;
        packed::take_diagonal(d_triangle, d_rho);
        for ((eps, y), &weight) in eps.chunks_exact_mut(dim).zip(y.chunks_exact(dim)).zip(weights) {
            for k in 0..dim {
                d_mean[k] += weight * y[k];
                d_rho[k] += weight * ((y[k] * eps[k] - inverse[k]) * slope[k]);
                eps[k] *= weight;
            }
        }
        packed::put_diagonal(d_triangle, d_rho);
        AddOuters { dim, rows: y, columns: eps, triangle: d_triangle }.run();
    }

    fn reflect(&self, params: &[f64], z: &mut [f64]) -> bool {
        standard::reflect(&params[..self.dim], z);
        true
    }
}

impl Reparameterised for FullRank {
    fn transport(&self, params: &[f64], noise: MatRef<'_, f64>, z: MatMut<'_, f64>, mut work: &mut [f64]) {
        assert_eq!((noise.nrows(), noise.ncols()), (self.dim, z.ncols()), "a noise per column");
        assert_eq!(z.nrows(), self.dim, "a point has the dimension of the family");
        let Diagonal { scales, .. } = self.diagonal(self.parts(params).1, &mut work);
        let eps = borrow(&mut work, self.dim * z.ncols());
        for j in 0..noise.ncols() {
            eps[j * self.dim..][..self.dim].copy_from_slice(noise.column(j));
        }
        self.place(params, scales, eps, z, &mut [], work);
    }

    fn add_pullbacks(
        &self,
        params: &[f64],
        noise: MatRef<'_, f64>,
        cotangents: MatRef<'_, f64>,
        gradient: &mut [f64],
        mut work: &mut [f64],
    ) {
        let dim = self.dim;
        assert_eq!((noise.nrows(), noise.ncols()), (dim, cotangents.ncols()), "a noise per column");
        assert_eq!(cotangents.nrows(), dim, "a cotangent has the dimension of z");
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        if dim == 0 {
            return;
        }
        let Diagonal { rho, room: slope, .. } = self.diagonal(self.parts(params).1, &mut work);
        self.link.derivatives_into(rho, slope);
        let (eps, rows) = (borrow(&mut work, dim * noise.ncols()), borrow(&mut work, dim * noise.ncols()));
        let (d_mean, d_triangle) = gradient.split_at_mut(dim);
        for j in 0..noise.ncols() {
            let (noise, cotangent) = (noise.column(j), cotangents.column(j));
            eps[j * dim..][..dim].copy_from_slice(noise);
            rows[j * dim..][..dim].copy_from_slice(cotangent);
            for k in 0..dim {
                d_mean[k] += cotangent[k];
                d_triangle[packed::start(dim, k)] += cotangent[k] * (noise[k] * slope[k]);
            }
        }
        AddOuters { dim, rows, columns: eps, triangle: d_triangle }.run();
    }

    fn add_slopes(
        &self,
        params: &[f64],
        z: MatRef<'_, f64>,
        weight: f64,
        mut slopes: MatMut<'_, f64>,
        mut work: &mut [f64],
    ) {
        let dim = self.dim;
        standard::assert_slopes(dim, z, slopes.as_ref());
        if dim == 0 {
            return;
        }
        let (_, triangle) = self.parts(params);
        let Diagonal { scales: inverse, .. } = self.diagonal(triangle, &mut work);
        invert(inverse);
        let y = borrow(&mut work, dim * z.ncols());
        self.whiten(params, inverse, z, y, work);
        SolveTransposed { triangle, inverse, points: y }.run();
        for (j, y) in y.chunks_exact(dim).enumerate() {
            mcsa_core::numeric::axpy(-weight, y, slopes.column_mut(j));
        }
    }

    fn entropy(&self, params: &[f64], mut work: &mut [f64]) -> f64 {
        let Diagonal { scales, room, .. } = self.diagonal(self.parts(params).1, &mut work);
        0.5 * self.dim as f64 - self.log_normalizer(scales, room)
    }

    fn add_entropy_gradient(&self, params: &[f64], weight: f64, gradient: &mut [f64], mut work: &mut [f64]) {
        assert_eq!(gradient.len(), params.len(), "a gradient per param");
        let Diagonal { scales, rho, room: slope } = self.diagonal(self.parts(params).1, &mut work);
        self.link.log_derivatives_into(rho, scales, slope);
        for (k, slope) in slope.iter().enumerate() {
            gradient[self.dim + packed::start(self.dim, k)] += weight * slope;
        }
    }
}

/// Factor of `L L^T + X X^T` in the place of L, by one Householder reflection per column (Golub & Van Loan 2013). X has `dim` rows
/// of [`width`] numbers and is overwritten. A zero on the diagonal is no harm, and the diagonal stays non-negative.
///
/// ```text
/// v = (L_kk, X_k),   u = v + |v| e_0,   row i of (L_ik, X_i):  r - u (u.r) / (|v| u_0),   and column k of L changes its sign
/// ```
pub(crate) struct AddSquare<'a> {
    pub(crate) dim: usize,
    pub(crate) triangle: &'a mut [f64],
    pub(crate) rows: &'a mut [f64],
}

/// Length of the rows of [`AddSquare`] for so many columns: unused entries are zero.
pub(crate) const fn width(columns: usize) -> usize {
    columns.next_multiple_of(PANEL)
}

/// Points about a centre, times a number each: entry `(i, j)` of `rows` becomes `scale(w_j) (z_ij - m_i)`, and the entries after the last
/// point zero. The rows have [`width`] numbers of at least one more than the points.
pub(crate) struct Centre<'a, S> {
    pub(crate) points: MatRef<'a, f64>,
    pub(crate) weights: &'a [f64],
    pub(crate) scale: S,
    pub(crate) mean: &'a [f64],
    pub(crate) rows: &'a mut [f64],
}

impl<S: Fn(f64) -> f64> Centre<'_, S> {
    pub(crate) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl<S: Fn(f64) -> f64> NullaryFnOnce for Centre<'_, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (dim, count) = (self.mean.len(), self.weights.len());
        let width = width(count + 1);
        for first in (0..width).step_by(PANEL) {
            let scales: [f64; PANEL] = std::array::from_fn(|l| {
                self.weights.get(first + l).map_or(0.0, |weight| (self.scale)(*weight))
            });
            let [a, b, c, d] = [0, 1, 2, 3].map(|l| &self.points.column((first + l).min(count - 1))[..dim]);
            let of_points = a.iter().zip(b).zip(c).zip(d).zip(self.mean);
            for (row, ((((a, b), c), d), mean)) in self.rows.chunks_exact_mut(width).zip(of_points) {
                let row = &mut row[first..first + PANEL];
                let centred = [a - mean, b - mean, c - mean, d - mean];
                for ((entry, centred), scale) in row.iter_mut().zip(centred).zip(scales) {
                    *entry = centred * scale;
                }
            }
        }
    }
}

impl AddSquare<'_> {
    pub(crate) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl NullaryFnOnce for AddSquare<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        // Constant widths make loops of known length: ten chains have 12 columns.
        match self.rows.len() / self.dim.max(1) {
            4 => self.reflect(4),
            8 => self.reflect(8),
            12 => self.reflect(12),
            16 => self.reflect(16),
            width => self.reflect(width),
        }
    }
}

impl AddSquare<'_> {
    #[inline(always)]
    fn reflect(self, width: usize) {
        let mut rows = self.rows;
        for k in 0..self.dim {
            let (pivot, tail) = rows.split_at_mut(width);
            rows = tail;
            let column = &mut self.triangle[start(self.dim, k)..start(self.dim, k + 1)];
            let (diagonal, below) = column.split_first_mut().expect("a column has a diagonal");
            let mut length = (*diagonal * *diagonal + dot_panels(pivot, pivot)).sqrt();
            if !(1e-140..1e140).contains(&length) {
                length = pivot.iter().fold(diagonal.abs(), |length, x| length.hypot(*x));
            }
            if length == 0.0 {
                continue;
            }
            let top = *diagonal + length;
            let (inverse, twice) = (1.0 / top, top / length);
            *diagonal = length;
            pivot.iter_mut().for_each(|x| *x *= inverse);
            let pivot = &*pivot;
            for (entry, row) in below.iter_mut().zip(rows.chunks_exact_mut(width)) {
                let sum = twice * (*entry + dot_panels(row, pivot));
                *entry = sum - *entry;
                let (row, _) = row.as_chunks_mut::<PANEL>();
                for (x, u) in row.iter_mut().zip(pivot.as_chunks::<PANEL>().0) {
                    for l in 0..PANEL {
                        x[l] -= sum * u[l];
                    }
                }
            }
        }
    }
}

/// Dot product of two rows whose length is a multiple of the panel, as four interleaved partial sums.
#[inline(always)]
fn dot_panels(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; PANEL];
    for (a, b) in a.as_chunks::<PANEL>().0.iter().zip(b.as_chunks::<PANEL>().0) {
        for l in 0..PANEL {
            sums[l] += a[l] * b[l];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcsa_core::Seed;
    use mcsa_numeric::linear::packed::len;

    /// A factor and the rows of some points, row i times the i-th scale.
    fn factor(dim: usize, columns: usize, scales: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut stream = Seed::new(1).stream(0, dim as u64);
        let (mut triangle, mut rows) = (vec![0.0; len(dim)], vec![0.0; dim * width(columns)]);
        for k in 0..dim {
            for i in k..dim {
                triangle[start(dim, k) + i - k] = scales[i] * if i == k { 1.5 } else { stream.normal() };
            }
        }
        for (row, scale) in rows.chunks_exact_mut(width(columns)).zip(scales) {
            row[..columns].iter_mut().for_each(|x| *x = scale * stream.normal());
        }
        (triangle, rows)
    }

    /// The factor with the square of the points, row i divided by the i-th scale.
    fn updated(dim: usize, columns: usize, scales: &[f64]) -> Vec<f64> {
        let (mut triangle, mut rows) = factor(dim, columns, scales);
        AddSquare { dim, triangle: &mut triangle, rows: &mut rows }.run();
        for k in 0..dim {
            (k..dim).for_each(|i| triangle[start(dim, k) + i - k] /= scales[i]);
        }
        triangle
    }

    /// `(L L^T)_ij` of a packed factor.
    fn entry(triangle: &[f64], dim: usize, i: usize, j: usize) -> f64 {
        (0..=i.min(j)).map(|k| triangle[start(dim, k) + i - k] * triangle[start(dim, k) + j - k]).sum()
    }

    #[test]
    fn the_square_is_added() {
        for (dim, columns) in [(1, 3), (2, 1), (5, 11), (11, 11), (12, 20)] {
            let (found, (before, x)) =
                (updated(dim, columns, &vec![1.0; dim]), factor(dim, columns, &vec![1.0; dim]));
            let x: Vec<&[f64]> = x.chunks_exact(width(columns)).collect();
            for i in 0..dim {
                for j in 0..=i {
                    let square: f64 = x[i].iter().zip(x[j]).map(|(a, b)| a * b).sum();
                    let expected = entry(&before, dim, i, j) + square;
                    let error = (entry(&found, dim, i, j) - expected).abs();
                    assert!(error < 1e-13 * (columns + dim) as f64, "{dim} {columns} {i} {j}: {error}");
                    // Twin: without the points the factor is another.
                    assert!(i != j || entry(&before, dim, i, j) < expected);
                }
            }
        }
    }

    /// Products of rows with such scales overflow and underflow; their quotients do not.
    #[test]
    fn rows_may_have_any_scales() {
        for scales in
            [[1e-130, 1e250, 1.0, 1e-250], [1e250, 1e-250, 1e139, 1e-139], [1e139, 1e200, 1e-200, 1.0]]
        {
            let (found, known) = (updated(4, 7, &scales), updated(4, 7, &[1.0; 4]));
            let apart = found.iter().zip(&known).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-13, "{scales:?}: {found:?} {known:?}");
        }
    }
}
