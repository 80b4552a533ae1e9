//! Where numbers come from.

use std::fmt;
use std::path::PathBuf;

use mcsa::Seed;

/// Where the numbers of a set come from; determines them, and says so wherever the set is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// A file compiled into the program, its bytes verified.
    Carried {
        /// SHA-256 of the file.
        sha256: String,
    },
    /// A file of the user's data folder.
    Imported {
        /// Its place.
        path: PathBuf,
        /// SHA-256 of the file.
        sha256: String,
    },
    /// Not data: numbers drawn in the shape of a set.
    Synthetic {
        /// The set whose shape it has.
        stands_for: String,
        /// What it was drawn from.
        seed: Seed,
    },
}

impl Origin {
    /// Whether these numbers were drawn and not measured.
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
