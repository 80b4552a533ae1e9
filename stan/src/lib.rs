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

mod program;

pub use program::StanProgram;
