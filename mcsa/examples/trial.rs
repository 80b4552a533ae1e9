//! Trial.
#![allow(warnings, missing_docs, clippy::all)]
use std::time::Instant;
use faer::Mat;
use mcsa::core::*;
use mcsa::fit::*;
use mcsa::kernels::*;
use mcsa::models::*;
use mcsa_data::Catalogue;

/// Any target behind a pointer, with gradient or closure.
struct Planted { dim: usize, f: Box<dyn Fn(&[f64], Option<&mut [f64]>) -> f64 + Send + Sync> }
impl LogDensity for Planted {
    fn dim(&self) -> usize { self.dim }
    fn log_density(&self, z: &[f64], _: &mut [f64]) -> f64 { (self.f)(z, None) }
}
impl Gradient for Planted {
    fn gradient_into(&self, z: &[f64], g: &mut [f64], _: &mut [f64]) -> f64 {
        g.fill(0.0);
        (self.f)(z, Some(g))
    }
}
/// two modes at +-a/2 along the first axis, with mass share of the second
fn two(dim: usize, a: f64, share: f64, width: f64) -> Planted {
    Planted { dim, f: Box::new(move |z, g| {
        let q: f64 = z.iter().map(|z| z * z).sum();
        let q2: f64 = (z[0] - a).powi(2) / width / width + z[1..].iter().map(|z| z * z / width / width).sum::<f64>();
        let (l1, l2) = ((1.0 - share).ln() - 0.5 * q, share.ln() - 0.5 * q2 - dim as f64 * width.ln());
        let m = l1.max(l2);
        let l = m + ((l1 - m).exp() + (l2 - m).exp()).ln();
        if let Some(g) = g {
            let (r1, r2) = ((l1 - l).exp(), (l2 - l).exp());
            for i in 0..dim { g[i] = -r1 * z[i] - r2 * (z[i] - if i == 0 { a } else { 0.0 }) / width / width; }
        }
        l
    }) }
}
fn truth_of(name: &str, p: &dyn Gradient) -> (Vec<f64>, Vec<f64>) {
    let path = format!("/tmp/truth-{name}.json");
    if let Ok(text) = std::fs::read_to_string(&path) { return serde_json::from_str(&text).unwrap(); }
    let s = Sampling::new(8, 10_000).acceptance(0.9).run(&Nuts::new(0.1).unwrap(), &p, Seed::new(99)).unwrap();
    let r = s.r_hat().into_iter().fold(0.0, f64::max);
    let e = s.sample_sizes().into_iter().fold(f64::INFINITY, f64::min);
    println!("truth {name}: R-hat {r:.4} ESS {e:.0}");
    let t = (s.mean(), s.variance().iter().map(|v| v.sqrt()).collect::<Vec<_>>());
    std::fs::write(path, serde_json::to_string(&t).unwrap()).unwrap();
    t
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seeds: u64 = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(3);
    let verbose = args.get(3).is_some_and(|s| s.contains('v'));
    let free = args.get(3).is_some_and(|s| s.contains('d'));
    let cat = Catalogue::new(None);
    let data = |n: &str| { let d = cat.load(n).unwrap(); HierarchicalLogistic::new(d.x.as_ref(), &d.y, ScalePrior::HalfNormal).unwrap() };
    for name in args[1].split(',') {
        let (p, truth): (Box<dyn Gradient>, Option<(Vec<f64>, Vec<f64>)>) = match name {
            "pima" => (Box::new(data("pima")), None),
            "german" => (Box::new(data("german_credit_numeric")), None),
            "heart" => (Box::new(data("heart_cleveland")), None),
            "sonar" => (Box::new(data("sonar")), None),
            "eight" => (Box::new(EightSchools::non_centred()), None),
            "eightc" => (Box::new(EightSchools::centred()), None),
            "funnel" => (Box::new(Planted { dim: 5, f: Box::new(|z, g| {
                let v = z[0]; let s: f64 = z[1..].iter().map(|x| x * x).sum();
                if let Some(g) = g { g[0] = -v / 9.0 - 2.0 + 0.5 * s * (-v).exp(); for i in 1..5 { g[i] = -z[i] * (-v).exp(); } }
                -v * v / 18.0 - 2.0 * v - 0.5 * s * (-v).exp() }) }), Some((vec![0.0; 5], { let s = (4.5f64).exp().sqrt(); vec![3.0, s, s, s, s] }))),
            n if n.starts_with("gauss") => { let d: usize = n[5..].parse().unwrap();
                let mut st = Seed::new(5).stream(0, 0);
                let a = Mat::from_fn(d, 2 * d, |_, _| st.normal());
                let c = &a * a.transpose() * faer::Scale(1.0 / (2.0 * d as f64));
                let g = Gaussian::new(vec![1.0; d], c.as_ref()).unwrap();
                let sd = (0..d).map(|i| c[(i, i)].sqrt()).collect();
                (Box::new(g), Some((vec![1.0; d], sd))) }
            n if n.starts_with("two") => { // two-d-a-share%
                let v: Vec<f64> = n[4..].split('-').map(|x| x.parse().unwrap()).collect();
                let (d, a, s, w) = (v[0] as usize, v[1], v[2] / 100.0, v.get(3).copied().unwrap_or(1.0));
                let var0 = (1.0 - s) + s * w * w + s * (1.0 - s) * a * a;
                let mut mean = vec![0.0; d]; mean[0] = s * a;
                let mut sd = vec![((1.0 - s) + s * w * w).sqrt(); d]; sd[0] = var0.sqrt();
                (Box::new(two(d, a, s, w)), Some((mean, sd))) }
            "flat" => (Box::new(Planted { dim: 3, f: Box::new(|z, g| { if let Some(g) = g { g[0] = -z[0]; g[1] = -z[1]; } -0.5 * (z[0]*z[0]+z[1]*z[1]) }) }), Some((vec![0.0; 3], vec![1.0, 1.0, 1e300]))),
            "logflat" => (Box::new(Planted { dim: 2, f: Box::new(|z, g| { if let Some(g) = g { g[0] = -z[0] + 0.0; g[1] = -0.5 * 2.0 * z[1] / (1.0 + z[1]*z[1]); } -0.5 * z[0]*z[0] - 0.5 * (z[1]*z[1]).ln_1p() }) }), Some((vec![0.0; 2], vec![1.0, 1e300]))),
            "cauchy" => (Box::new(Planted { dim: 2, f: Box::new(|z, g| { if let Some(g) = g { g[0] = -2.0*z[0]/(1.0+z[0]*z[0]); g[1] = -2.0 * z[1] / (1.0 + z[1]*z[1]); } - (z[0]*z[0]).ln_1p() - (z[1]*z[1]).ln_1p() }) }), Some((vec![0.0; 2], vec![1e300, 1e300]))),
            "wronggrad" => (Box::new(Planted { dim: 3, f: Box::new(|z, g| { if let Some(g) = g { for i in 0..3 { g[i] = -z[i]; } g[1] *= 0.5; g[2] += 0.3; } -0.5 * z.iter().map(|z| z*z).sum::<f64>() }) }), Some((vec![0.0; 3], vec![1.0; 3]))),
            "nan" => (Box::new(Planted { dim: 2, f: Box::new(|z, g| { if z[0] > 1.0 && z[1] > 1.0 { return f64::NAN; } if let Some(g) = g { for i in 0..2 { g[i] = -z[i]; } } -0.5 * z.iter().map(|z| z*z).sum::<f64>() }) }), Some((vec![0.0; 2], vec![1.0; 2]))),
            "jump" => (Box::new(Planted { dim: 2, f: Box::new(|z, g| { if let Some(g) = g { for i in 0..2 { g[i] = -z[i]; } } -0.5 * z.iter().map(|z| z*z).sum::<f64>() + if z[0] > 0.5 { 3.0 } else { 0.0 } }) }), None),
            "banana" => (Box::new(Planted { dim: 4, f: Box::new(|z, g| { let mut l = 0.0; let b = 0.3; let mut gg = [0.0; 4];
                for k in 0..2 { let (x, y) = (z[2*k], z[2*k+1]); let r = y - b * (x*x - 4.0); l += -x*x/8.0 - 0.5 * r * r; gg[2*k] = -x/4.0 + r * 2.0 * b * x; gg[2*k+1] = -r; }
                if let Some(g) = g { g.copy_from_slice(&gg); } l }) }), Some((vec![0.0; 4], { let s = (1.0 + 0.09 * 2.0 * 16.0f64).sqrt(); vec![2.0, s, 2.0, s] }))),
            other => panic!("{other}"),
        };
        let truth = truth.unwrap_or_else(|| if name == "jump" { (vec![0.0;2], vec![1.0;2]) } else { truth_of(name, &*p) });
        let mut line = Vec::new();
        for seed in 0..seeds {
            let t = Instant::now();
            let target: &dyn Gradient = &*p;
            let options = Options::seeded(seed);
            let fitted = if free { fit_density(&target, &options) } else { fit(&target, &options) };
            let ms = t.elapsed().as_secs_f64() * 1e3;
            match fitted {
                Err(e) => println!("{name} {seed}: error {e}"),
                Ok(f) => {
                    let (m, v) = f.draws.moments();
                    let err = (0..m.len()).map(|i| ((m[i] - truth.0[i]) / truth.1[i]).abs()).fold(0.0, f64::max);
                    let rat: Vec<f64> = (0..m.len()).map(|i| v[i].sqrt() / truth.1[i]).collect();
                    let (lo, hi) = (rat.iter().copied().fold(9e99, f64::min), rat.iter().copied().fold(0.0, f64::max));
                    println!("{name} {seed}: {:>6.1} ms {:>7} evals, {}, ESS {:.0}, k {:.2}, err {err:.3} sd {lo:.2}-{hi:.2}, logZ {:.3}+-{:.3} <= {:.3}: {}", ms, f.evaluations.total(), f.shape, f.draws.sample_size, f.draws.shape, f.evidence.log, f.evidence.error, f.evidence.upper, if f.verdict.is_yes() { "YES".into() } else { format!("{}", f.verdict) });
                    if verbose { println!("{f}"); }
                    line.push(ms);
                }
            }
        }
    }
}
