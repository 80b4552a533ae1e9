//! Posterior in one call: weighted draws, moments, evidence, and a verdict, with progress and a checkpoint file.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use mcsa::Options;
use mcsa::models::EightSchools;
use mcsa::prelude::*;

fn main() -> Result<(), Error> {
    let options = Options { progress: true, checkpoint: Some("fit.state".into()), ..Options::seeded(1) };
    println!("{}", mcsa::fit(&EightSchools::non_centred(), &options)?);
    Ok(())
}
