//! Eight schools: density, gradient, natural parameters, exact evidence, and the conformance suite:
//! `cargo run --release -p mcsa-models --example eight_schools`.
#![expect(clippy::print_stdout, reason = "results for people")]

use mcsa_core::{Gradient, LogDensity, Named};
use mcsa_models::EightSchools;
use mcsa_testing::model::{self, Case};

fn main() {
    let model = EightSchools::non_centred();
    let mut z = vec![0.0; model.dim()];
    (z[0], z[1]) = (4.0, 1.0); // the mean of the schools, and the logarithm of their spread
    let mut gradient = vec![0.0; model.dim()];
    let log_p = model.gradient_into(&z, &mut gradient, &mut vec![0.0; model.work_len(1)]);
    let mut named = Named::default();
    model.constrain(&z, &mut named);
    println!("log density {log_p:.3} in {} dimensions at", model.dim());
    for ((name, value), slope) in named.iter().zip(&gradient) {
        println!("{name:>10} = {value:6.3}, slope in its coordinate {slope:7.3}");
    }
    // The laws that every model of this crate, and your own, has to obey.
    println!("\n{}", model::report_gradient(&Case::new(model)));
}
