//! Log evidence of the radon model on the Minnesota data.

use std::path::Path;

use mcsa_models::Radon;

/// The Minnesota data, which are stored in `bench-suite`.
fn minnesota() -> Radon {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench-suite/data/radon_mn.csv");
    let text = std::fs::read_to_string(file).expect("the workspace carries the data of Minnesota");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = |name: &str| header.iter().position(|&h| h == name).expect("columns county, floor, y");
    let (county, floor, y) = (column("county"), column("floor"), column("y"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let numbers =
        |k: usize| rows.iter().map(|row| row[k].parse::<f64>().expect("a number")).collect::<Vec<_>>();
    let counties = numbers(county).into_iter().map(|c| c as usize - 1).collect();
    Radon::new(85, counties, numbers(floor), numbers(y)).expect("good data")
}

/// -1105.8713. A grid of the logarithms of scales that ends at -8 gives -1105.8717, one that ends at -5 gives -1105.878:
/// the posterior has mass at slopes that do not vary between counties. The reference value of MCMC-SE, -1115.6, is the evidence of
/// another model.
#[test]
fn the_evidence_of_minnesota() {
    let (log_evidence, change) = minnesota().log_evidence(1e-5);
    assert!((log_evidence + 1_105.871_333).abs() < 1e-4, "{log_evidence}");
    assert!(change < 1e-5, "{change:e}");
}
