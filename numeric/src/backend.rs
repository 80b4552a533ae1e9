use super::lanes::Register;
use pulp::{NullaryFnOnce, Scalar};

/// Instruction set of a vector function.
///
/// The free functions of [`numeric`](crate) use [`Backend::best`]. Results of one backend are bit-identical on every
/// machine that has it; results of two backends differ in the last places wherever one of them fuses `a * b + c`. Use
/// [`Backend::Portable`], which is slower, if results must be reproduced on unknown machines.
///
/// A value of this type does not prove that the machine has the instructions: each call checks (one relaxed load) and
/// falls back on the portable code.
///
/// ```
/// use mcsa_numeric::Backend;
/// let mut x = [0.0, f64::NEG_INFINITY];
/// Backend::Portable.exp(&mut x);
/// assert_eq!(x, [1.0, 0.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Baseline instructions, one number at a time; `a * b + c` rounds twice.
    Portable,
    /// AVX2 with FMA, four numbers at a time.
    Avx2,
    /// AVX-512 (F, BW, CD, DQ, VL), eight numbers at a time.
    Avx512,
}

impl Backend {
    /// All backends, slowest first, including those that this machine does not have.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The fastest backend that this machine has.
    #[inline]
    pub fn best() -> Self {
        if Self::Avx512.is_available() {
            Self::Avx512
        } else if Self::Avx2.is_available() {
            Self::Avx2
        } else {
            Self::Portable
        }
    }

    /// True if this machine has the instructions.
    #[inline]
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => pulp::x86::V3::is_available(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => pulp::x86::V4::is_available(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    #[inline(always)]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                if let Some(lanes) = pulp::x86::V4::try_new() {
                    return lanes.vectorize(Call { kernel, lanes });
                }
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                if let Some(lanes) = pulp::x86::V3::try_new() {
                    return lanes.vectorize(Call { kernel, lanes });
                }
            }
            _ => {}
        }
        kernel.run(Scalar)
    }
}

/// Computation that is generic over the vector register, [`Register`].
pub(crate) trait Kernel {
    type Output;
    fn run<L: Register>(self, lanes: L) -> Self::Output;
}

struct Call<K, L> {
    kernel: K,
    lanes: L,
}

impl<K: Kernel, L: Register> NullaryFnOnce for Call<K, L> {
    type Output = K::Output;

    #[inline(always)]
    fn call(self) -> K::Output {
        self.kernel.run(self.lanes)
    }
}
