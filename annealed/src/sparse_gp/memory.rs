use mcsa_core::borrow;

use mcsa_numeric::design::RowsRef;

/// Sizes of the memory of a sparse process at one theta.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) inducing: usize,
    pub(crate) features: usize,
    pub(crate) rows: usize,
}

/// Quantities of a sparse process at one theta, as views of one slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory<'a> {
    /// `log det L`, `K_ZZ = L L'`.
    pub(crate) log_det: f64,
    pub(crate) rates: &'a [f64],
    pub(crate) scaled: &'a [f64],
    /// `L`.
    pub(crate) factor: RowsRef<'a>,
    /// `L^-1`.
    pub(crate) inverse: RowsRef<'a>,
    /// `A_n = K_ZZ^-1 k_Zn`, one row per datum.
    pub(crate) weights: RowsRef<'a>,
    /// `W_n = L^-1 k_Zn`, one row per datum.
    pub(crate) white: RowsRef<'a>,
    /// `v_n`.
    pub(crate) variances: &'a [f64],
}

/// The same memory, to be written.
pub(crate) struct MemoryMut<'a> {
    pub(crate) log_det: &'a mut f64,
    pub(crate) rates: &'a mut [f64],
    pub(crate) scaled: &'a mut [f64],
    pub(crate) factor: &'a mut [f64],
    pub(crate) inverse: &'a mut [f64],
    pub(crate) weights: &'a mut [f64],
    pub(crate) white: &'a mut [f64],
    pub(crate) variances: &'a mut [f64],
}

impl Layout {
    /// The lengths of the parts, in order.
    fn lengths(self) -> [usize; 8] {
        let Self { inducing: m, features: d, rows } = self;
        [1, d, d * m, m * m, m * m, rows * m, rows * m, rows]
    }

    /// The length of the whole.
    pub(crate) fn len(self) -> usize {
        self.lengths().iter().sum()
    }

    pub(crate) fn read(self, memory: &[f64]) -> Memory<'_> {
        let mut rest = memory;
        let parts = self.lengths().map(|len| {
            let (part, tail) = rest.split_at(len);
            rest = tail;
            part
        });
        let [log_det, rates, scaled, factor, inverse, weights, white, variances] = parts;
        let rows = |part| RowsRef::new(part, self.inducing);
        Memory {
            log_det: log_det[0],
            rates,
            scaled,
            factor: rows(factor),
            inverse: rows(inverse),
            weights: rows(weights),
            white: rows(white),
            variances,
        }
    }

    pub(crate) fn write(self, memory: &mut [f64]) -> MemoryMut<'_> {
        let mut rest = memory;
        let parts = self.lengths().map(|len| borrow(&mut rest, len));
        let [log_det, rates, scaled, factor, inverse, weights, white, variances] = parts;
        MemoryMut { log_det: &mut log_det[0], rates, scaled, factor, inverse, weights, white, variances }
    }
}
