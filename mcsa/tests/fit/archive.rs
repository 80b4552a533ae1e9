//! Archives for ArviZ: shapes, numbers and names are those of the draws; nothing else is overwritten.

use std::fs;
use std::path::PathBuf;

use mcsa::arviz::{Archive, Array, Group, ToZarr, write_archive};
use mcsa::core::LogDensity;
use mcsa::fit::Options;
use mcsa::models::{EightSchools, LogisticRegression};
use mcsa::prelude::*;
use serde_json::Value;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("mcsa-{name}-{}.zarr", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn metadata(folder: &std::path::Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("zarr.json")).unwrap()).unwrap()
}

fn numbers(path: PathBuf) -> Vec<f64> {
    let bytes = fs::read(path).unwrap();
    bytes.chunks_exact(8).map(|eight| f64::from_le_bytes(eight.try_into().unwrap())).collect()
}

#[test]
fn an_archive_holds_the_draws() {
    let (target, path) = (EightSchools::non_centred(), folder("schools"));
    let fitted = mcsa::fit(&target, &Options { draws: 500, ..Options::seeded(1) }).unwrap();
    Archive::of_fit(&fitted, &target).unwrap().weighted().write(&path).unwrap();
    let tau = metadata(&path.join("posterior/tau"));
    assert_eq!(tau["shape"], serde_json::json!([1, 500]));
    assert_eq!(tau["dimension_names"], serde_json::json!(["chain", "draw"]));
    let posterior = &metadata(&path.join("posterior"))["attributes"];
    assert_eq!(posterior["verdict"], if fitted.verdict.is_yes() { "yes" } else { "no" });
    assert_eq!(posterior["resampled"], false);
    // Every node is in the metadata of the root.
    let nodes = &metadata(&path)["consolidated_metadata"]["metadata"];
    for node in ["posterior", "posterior/tau", "posterior/draw", "sample_stats/log_q"] {
        assert!(nodes[node].is_object(), "{node}");
    }
    let place = |group: &str| path.join(group).join("c/0/0");
    assert_eq!(numbers(place("sample_stats/log_p")), fitted.draws.log_p);
    assert_eq!(numbers(place("sample_stats/log_weight")), fitted.draws.log_weights);
    // The scale is the exponential of its coordinate, whichever that is.
    let tau = numbers(place("posterior/tau"));
    let mean: f64 = tau.iter().zip(fitted.draws.weights()).map(|(tau, weight)| weight * tau).sum();
    let summary = fitted.parameters.iter().find(|parameter| parameter.name == "tau").unwrap();
    assert!((mean - summary.mean).abs() < 1e-12);
    // Resampled, the plain mean is the weighted one up to the error of resampling: copies are off by less than one, which makes a standard
    // error of at most 0.022 standard deviations; five of these.
    Archive::of_fit(&fitted, &target).unwrap().write(&path).unwrap();
    let even = numbers(place("posterior/tau"));
    let plain = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    assert!((plain(&even) - mean).abs() < 0.11 * summary.sd, "{} {mean}", plain(&even));
    assert!(numbers(place("sample_stats/log_weight")).iter().all(|weight| *weight == -(500_f64).ln()));
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn names_that_count_are_one_variable() {
    struct Schools;
    impl LogDensity for Schools {
        fn dim(&self) -> usize {
            3
        }
        fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 {
            -0.5 * z.iter().map(|z| z * z).sum::<f64>()
        }
        fn constrain(&self, z: &[f64], out: &mut mcsa::core::Named) {
            out.vector("b", z[..2].iter().copied());
            out.push("a/c", z[2]);
        }
    }
    let path = folder("names");
    let fitted = mcsa::fit_density(&Schools, &Options { draws: 200, ..Options::seeded(1) }).unwrap();
    Archive::of(&fitted.draws, &Schools).unwrap().weighted().write(&path).unwrap();
    let both = metadata(&path.join("posterior/b"));
    assert_eq!(both["shape"], serde_json::json!([1, 200, 2]));
    assert_eq!(both["dimension_names"], serde_json::json!(["chain", "draw", "b_dim_0"]));
    let values = numbers(path.join("posterior/b/c/0/0/0"));
    assert_eq!(values[..2], fitted.draws.points.col_as_slice(0)[..2]);
    assert!(path.join("posterior/a_c/zarr.json").is_file());
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn log_likelihoods_sum_to_that_of_all_rows() {
    let x = Mat::from_fn(6, 2, |i, j| (i as f64 - 2.5) * (j as f64 + 1.0) / 3.0 - 0.2 * (i * j) as f64);
    let model = LogisticRegression::new(x.as_ref(), &[0.0, 1.0, 0.0, 1.0, 1.0, 0.0], 1.0).unwrap();
    let path = folder("likelihood");
    let fitted = mcsa::fit(&model, &Options { draws: 150, ..Options::seeded(1) }).unwrap();
    let archive = || Archive::of_fit(&fitted, &model).unwrap().weighted().with_likelihood(&model);
    let labels = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0];
    archive().with_observed("label", &labels).write(&path).unwrap();
    assert_eq!(numbers(path.join("observed_data/label/c/0")), labels);
    assert!(path.join("log_likelihood/label/zarr.json").is_file());
    let error = archive().with_observed("label", &labels[..5]).write(&path).unwrap_err().to_string();
    assert!(error.contains("label has 5 values; the target has 6 data"), "{error}");
    archive().write(&path).unwrap();
    let terms = numbers(path.join("log_likelihood/y/c/0/0/0"));
    assert_eq!(terms.len(), 150 * 6);
    let mut work = vec![0.0; LogDensity::work_len(&model, 1)];
    for (j, terms) in terms.chunks_exact(6).enumerate() {
        let z = fitted.draws.points.col_as_slice(j);
        let prior = mcsa::core::Separable::log_prior(&model, z, &mut work);
        assert!((terms.iter().sum::<f64>() + prior - fitted.draws.log_p[j]).abs() < 1e-10);
    }
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn nothing_else_is_overwritten() {
    let (target, path) = (EightSchools::non_centred(), folder("other"));
    let fitted = mcsa::fit(&target, &Options { draws: 100, ..Options::seeded(1) }).unwrap();
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("thesis.tex"), "x").unwrap();
    let error = Archive::of_fit(&fitted, &target).unwrap().write(&path).unwrap_err().to_string();
    assert!(error.contains("no Zarr archive") && path.join("thesis.tex").is_file(), "{error}");
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn results_write_themselves() {
    let (target, path) = (EightSchools::non_centred(), folder("themselves"));
    let fitted = mcsa::fit(&target, &Options { draws: 100, ..Options::seeded(1) }).unwrap();
    fitted.to_zarr(&target, &path).unwrap();
    let of_fit = numbers(path.join("posterior/tau/c/0/0"));
    assert!(metadata(&path.join("sample_stats"))["attributes"]["verdict"].is_string());
    fitted.draws.to_zarr(&target, &path).unwrap();
    assert_eq!(numbers(path.join("posterior/tau/c/0/0")), of_fit);
    assert!(metadata(&path.join("sample_stats"))["attributes"]["verdict"].is_null());
    fs::remove_dir_all(&path).unwrap();
}

#[test]
fn arrays_of_the_caller_are_checked() {
    let wrong =
        |shape: &[usize], dims: &[&str]| Array::numbers(shape, dims, &[1.0, 2.0]).unwrap_err().to_string();
    assert!(wrong(&[3], &["a"]).contains("2 numbers"));
    assert!(wrong(&[2], &[]).contains("2 numbers"));
    assert!(wrong(&[usize::MAX, 2], &["a", "b"]).contains("2 numbers"));
    let path = folder("outside");
    for name in ["../posterior", "", ".."] {
        let group = Group { name: name.into(), attributes: Default::default(), arrays: Vec::new() };
        let error = write_archive(&path, &[group]).unwrap_err().to_string();
        assert!(error.contains("cannot be the name of a folder") && !path.exists(), "{error}");
    }
}

/// Words are a count, then a length and the bytes of each, all little-endian.
#[test]
fn labels_can_be_words() {
    let path = folder("words");
    let side = Array::words("school", &["A", "\u{e9}t\u{e9}"]).unwrap();
    let arrays = vec![("school".to_owned(), side)];
    write_archive(&path, &[Group { name: "posterior".into(), attributes: Default::default(), arrays }])
        .unwrap();
    let bytes = fs::read(path.join("posterior/school/c/0")).unwrap();
    assert_eq!(bytes, b"\x02\0\0\0\x01\0\0\0A\x05\0\0\0\xc3\xa9t\xc3\xa9");
    fs::remove_dir_all(&path).unwrap();
}
