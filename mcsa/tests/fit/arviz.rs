//! Archives in ArviZ 1.x, warnings being errors. Skipped, with a message, where Python lacks ArviZ.

use std::process::Command;

use mcsa::arviz::Archive;
use mcsa::fit::Options;
use mcsa::models::LogisticRegression;
use mcsa::prelude::*;

/// Prints the mean of the first weight and two estimates of the expected log predictive density; ends with 2 without ArviZ 1.x.
const READ: &str = r#"
import sys, warnings
try:
    import arviz as az
    import arviz_stats
    import zarr
except ImportError as error:
    sys.exit(print(error) or 2)
if int(az.__version__.split(".")[0]) < 1:
    sys.exit(print("ArviZ is older than 1.0") or 2)
warnings.simplefilter("error")
even, weighted = map(az.from_zarr, sys.argv[1:])
assert set(even.children) == {"posterior", "sample_stats", "log_likelihood", "observed_data"}, even
assert even["posterior"].attrs["verdict"] == "yes"
assert even["log_likelihood"]["label"].dims[:2] == ("chain", "draw")
stats = weighted["sample_stats"]
approximate = arviz_stats.loo_approximate_posterior(weighted, log_p=stats["log_p"], log_q=stats["log_q"])
print(az.summary(even, round_to="none")["mean"].iloc[0], az.loo(even).elpd, approximate.elpd)
"#;

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn arviz_reads_archives() {
    let x = Mat::from_fn(30, 2, |i, j| ((7 * i + 11 * j) % 13) as f64 / 6.0 - 1.0);
    let labels: Vec<f64> = (0..30).map(|i| f64::from(x[(i, 0)] + 0.7 > ((5 * i) % 7) as f64 / 4.0)).collect();
    let model = LogisticRegression::new(x.as_ref(), &labels, 2.0).unwrap();
    let fitted = mcsa::fit(&model, &Options::seeded(1)).unwrap();
    let folder = std::env::temp_dir().join(format!("mcsa-arviz-{}", std::process::id()));
    let (even, weighted) = (folder.join("even.zarr"), folder.join("weighted.zarr"));
    let archive = || {
        let archive = Archive::of_fit(&fitted, &model).unwrap();
        archive.with_likelihood(&model).with_observed("label", &labels)
    };
    archive().write(&even).unwrap();
    archive().weighted().write(&weighted).unwrap();
    let python = std::env::var_os("MCSA_PYTHON").unwrap_or_else(|| "python3".into());
    let read = Command::new(python).args(["-c", READ]).args([&even, &weighted]).output();
    std::fs::remove_dir_all(&folder).unwrap();
    let read = match read {
        Ok(read) if read.status.code() == Some(2) => {
            return eprintln!("skipped: {}", String::from_utf8_lossy(&read.stdout).trim());
        }
        Ok(read) => read,
        Err(error) => return eprintln!("skipped, because there is no Python: {error}"),
    };
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let found = String::from_utf8(read.stdout).unwrap();
    let numbers: Vec<f64> = found.split_whitespace().map(|number| number.parse().unwrap()).collect();
    // Resampled points against weights: five standard errors of resampling.
    let first = &fitted.parameters[0];
    assert!((numbers[0] - first.mean).abs() < 0.11 * first.sd, "{found} {}", first.mean);
    assert!((numbers[1] - numbers[2]).abs() < 0.5, "{found}");
}
