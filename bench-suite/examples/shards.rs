//! How far a sweep goes on many cores: `cargo run --release -p mcsa-bench-suite --example shards -- docs/gallery/shards.png`.
//!
//! The jobs are those of the archive, with the seconds that each took. A simulation gives them to the cores of one machine, in the order of
//! the archive to the core that is free first (`--jobs`), and to shards by the hash of their names, each on a core of its own (`--shard`).
//! No sweep ends before its longest job.
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::error::Error;
use std::fs;

use mcsa_bench_suite::archive::Archive;
use mcsa_bench_suite::registry::REGISTRY;
use mcsa_plot::{Axis, Figure, Layer, Panel, Style};
use miniz_oxide::inflate::decompress_to_vec_zlib;
use serde_json::Value;

/// Hash of the name as a fraction of one, and seconds: of the fit, of the measuring and of the judging together.
type Job = (f64, f64);

/// All archived jobs, in the order of the experiments and of their names.
fn jobs() -> Result<Vec<Job>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in &REGISTRY {
        let Ok(bytes) = fs::read(Archive::of_repository().path(&entry.experiment()?.id)) else { continue };
        let bytes = decompress_to_vec_zlib(&bytes).map_err(|error| error.to_string())?;
        for line in String::from_utf8(bytes)?.lines() {
            let line: Value = serde_json::from_str(line)?;
            let Some(id) = line["id"].as_str() else { continue };
            let hash = f64::from(u32::from_str_radix(&id[..8], 16)?) / 2_f64.powi(32);
            let parts = ["seconds", "measuring", "judging"];
            found.push((hash, parts.iter().filter_map(|part| line["ended"][part].as_f64()).sum()));
        }
    }
    Ok(found)
}

/// Seconds until the last of `count` shards ends.
fn by_shards(jobs: &[Job], count: usize) -> f64 {
    let mut ends = vec![0.0_f64; count];
    jobs.iter().for_each(|(hash, seconds)| ends[(hash * count as f64) as usize] += seconds);
    ends.into_iter().fold(0.0, f64::max)
}

/// Seconds until the last of `count` cores of one machine ends.
fn by_cores(jobs: &[Job], count: usize) -> f64 {
    let mut ends = vec![0.0_f64; count];
    for (_, seconds) in jobs {
        let free = (0..count).min_by(|&a, &b| ends[a].total_cmp(&ends[b])).unwrap_or(0);
        ends[free] += seconds;
    }
    ends.into_iter().fold(0.0, f64::max)
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("the path of the picture is missing")?;
    let jobs = jobs()?;
    let (all, longest) = jobs.iter().fold((0.0, 0.0_f64), |(all, most), job| (all + job.1, most.max(job.1)));
    println!(
        "{} jobs, {:.1} hours of one core, the longest {:.2}",
        jobs.len(),
        all / 3600.0,
        longest / 3600.0
    );
    let counts: Vec<usize> = (0..=10).map(|power| 1 << power).collect();
    let line = |most: usize, seconds: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        let counts = counts.iter().filter(|&&count| count <= most);
        counts.map(|&count| (count as f64, seconds(count) / 3600.0)).collect()
    };
    let lines = [
        ("cores of one machine", line(64, &|count| by_cores(&jobs, count))),
        ("shards", line(1024, &|count| by_shards(&jobs, count))),
        ("the work divided", line(1024, &|count| all / count as f64)),
    ];
    let mut panel = Panel::new(Axis::log("Cores"), Axis::log("Hours"));
    for (k, (name, line)) in lines.into_iter().enumerate() {
        for (count, hours) in &line {
            println!("{name}, {count}: {hours:.3} h, {:.0} times faster", all / 3600.0 / hours);
        }
        let style = if k == 2 { Style::reference() } else { Style::series(k) };
        panel = panel.with(Layer::line(line.clone()).styled(style).named(name));
        if k < 2 {
            panel = panel.with(Layer::points(line).styled(style).named(name));
        }
    }
    let panel = panel.with(Layer::horizontal_rule(longest / 3600.0).named("the longest job"));
    fs::write(path, Figure::new(vec![panel]).shaped(0.7).draw()?.png(150.0)?)?;
    Ok(())
}
