//! Origin of the numbers of a data set.

use std::fmt;
use std::path::PathBuf;

use mcsa_core::Seed;

/// Origin of the numbers of a data set; determines them, and is stated wherever the data set is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// A file compiled into the program, its bytes verified.
    Carried {
        /// SHA-256 of the file.
        sha256: String,
    },
    /// A file of the user's data folder.
    Imported {
        /// Path of the file.
        path: PathBuf,
        /// SHA-256 of the file.
        sha256: String,
    },
    /// Synthetic numbers in the shape of a data set.
    Synthetic {
        /// Name of the data set of this shape.
        stands_for: String,
        /// Seed from which they were drawn.
        seed: Seed,
    },
}

impl Origin {
    /// Returns true if the numbers are synthetic.
    pub fn is_synthetic(&self) -> bool {
        matches!(self, Self::Synthetic { .. })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Carried { .. } => f.write_str("carried"),
            Self::Imported { path, .. } => write!(f, "imported, {}", path.display()),
            Self::Synthetic { stands_for, .. } => write!(f, "SYNTHETIC, in the shape of {stands_for}"),
        }
    }
}
