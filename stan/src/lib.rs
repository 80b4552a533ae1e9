//! Stan programs as targets: log density, gradient, and constrained parameters by name, through the interface of BridgeStan.
//!
//! ```no_run
//! use mcsa_stan::StanProgram;
//! let data = r#"{"schools": 2, "effects": [28, 8], "errors": [15, 10]}"#;
//! let schools = StanProgram::open("eight_schools.so", data, 1)?;
//! println!("{}", mcsa::fit(&schools, &mcsa::Options::seeded(1))?);
//! # Ok::<(), mcsa_core::Error>(())
//! ```
//!
//! The library comes from `bridgestan.compile_model` or CmdStan's users; `python/mcsa/stan/compile.py` makes one from
//! packages of PyPI and a C++ compiler alone. The crate is outside the workspace, because its build needs libclang.

use std::ffi::CString;
use std::path::Path;
use std::sync::Arc;

use bridgestan::{Model, StanLibrary, open_library};
use mcsa_core::{Error, Gradient, LogDensity, Named};

/// Posterior of a compiled Stan program with data: its log density on Stan's unconstrained scale, all constants included.
///
/// Reports name parameters and transformed parameters, `theta[0]` for Stan's `theta[1]`. A point that the program rejects has density
/// zero. Copies share the library.
///
/// Cost: Stan's reverse sweep per point; batches have no gain. Other threads may evaluate the same program.
#[derive(Clone)]
pub struct StanProgram {
    model: Arc<Model<Arc<StanLibrary>>>,
    dim: usize,
    names: Vec<String>,
}

impl StanProgram {
    /// The program in a library that BridgeStan compiled; `data` are JSON, or the path of a file that ends in `.json`. `seed` is that of
    /// random numbers in the block `transformed data`.
    ///
    /// # Errors
    /// If the library cannot be opened, was compiled by a BridgeStan older than 2.7, or the program does not accept the data or has no
    /// parameters.
    pub fn open(library: impl AsRef<Path>, data: &str, seed: u32) -> Result<Self, Error> {
        let library = library.as_ref();
        let refuse = |reason: &dyn std::fmt::Display| {
            Error::invalid(format!("{}: {reason}", library.display())).within("StanProgram")
        };
        let path = library.canonicalize().map_err(|error| refuse(&error))?;
        let data = CString::new(data).map_err(|error| refuse(&error))?;
        let opened = Arc::new(open_library(path).map_err(|error| refuse(&error))?);
        let model = Model::new(opened, Some(data), seed).map_err(|error| refuse(&error))?;
        let dim = model.param_unc_num();
        if dim == 0 {
            return Err(refuse(&"the program has no parameters"));
        }
        let names = model.param_names(true, false).split(',').map(name).collect();
        Ok(Self { model: Arc::new(model), dim, names })
    }

    /// Names of parameters and transformed parameters.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// Name with indices from 0 in brackets, of one with indices from 1 after points.
fn name(stan: &str) -> String {
    let mut parts = stan.split('.');
    let stem = parts.next().unwrap_or_default();
    let indices: Option<Vec<String>> =
        parts.map(|part| Some(part.parse::<usize>().ok()?.checked_sub(1)?.to_string())).collect();
    match indices {
        Some(indices) if !indices.is_empty() => format!("{stem}[{}]", indices.join(",")),
        Some(_) => stem.to_owned(),
        // Entries of tuples have names instead of indices.
        None => stan.to_owned(),
    }
}

impl LogDensity for StanProgram {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
        self.model.log_density(z, false, true).unwrap_or(f64::NEG_INFINITY)
    }

    fn constrain(&self, z: &[f64], out: &mut Named) {
        let mut values = vec![f64::NAN; self.names.len()];
        // Values that cannot be computed stay NaN.
        let _ = self.model.param_constrain(
            z,
            true,
            false,
            &mut values,
            None::<&mut bridgestan::Rng<&StanLibrary>>,
        );
        self.names.iter().zip(values).for_each(|(name, value)| out.push(name, value));
    }
}

impl Gradient for StanProgram {
    fn gradient_into(&self, z: &[f64], gradient: &mut [f64], _: &mut [f64]) -> f64 {
        self.model.log_density_gradient(z, false, true, gradient).unwrap_or_else(|_| {
            gradient.fill(0.0);
            f64::NEG_INFINITY
        })
    }
}
