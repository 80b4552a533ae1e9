//! The examples run, and print what they claim.

use std::path::PathBuf;
use std::process::Command;

/// Output of an example, run twice in an empty folder: the second run finds the files of the first.
fn printed(name: &str) -> [String; 2] {
    let program = std::env::current_exe().expect("a program");
    let built =
        program.parent().and_then(|deps| deps.parent()).expect("a folder").join("examples").join(name);
    assert!(built.is_file(), "{} is not built: run `cargo build -p mcsa --examples`", built.display());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    [(); 2].map(|()| {
        let output = Command::new(&built).current_dir(&folder).output().expect("it starts");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    })
}

#[test]
fn a_posterior_is_fitted_and_resumed() {
    let [first, second] = printed("own_posterior");
    assert!(
        first.starts_with("converged at step") && second.starts_with("converged at step"),
        "{first}{second}"
    );
    let step =
        |text: &str| text.split_whitespace().nth(3).and_then(|step| step.trim_end_matches(':').parse().ok());
    let [before, after]: [Option<u64>; 2] = [step(&first), step(&second)];
    assert!(before.is_some() && before < after, "the second run continues: {first}{second}");
}

#[test]
fn models_families_and_kernels_are_judged() {
    let [model, again] = printed("own_model");
    assert_eq!(model, again);
    assert!(
        model.contains("5 of 5 laws hold") && model.contains("gradient_is_gradient: coordinate 0"),
        "{model}"
    );
    let [family, _] = printed("own_family");
    assert!(family.contains("14 of 14 laws hold") && family.contains("light enough"), "{family}");
    let [kernel, _] = printed("own_kernel");
    let verdicts = ["6 of 6 laws hold", "4 of 4 laws hold", "3 of 6 laws hold", "2 of 4 laws hold"];
    assert!(verdicts.iter().all(|verdict| kernel.contains(verdict)), "{kernel}");
}

#[test]
fn a_hierarchy_takes_25_lines() {
    let [text, again] = printed("hierarchical_poisson");
    assert_eq!(text, again);
    assert!(text.contains("tau") && text.contains("a[3]") && text.contains("Reliable: yes, "), "{text}");
    assert!(include_str!("../examples/hierarchical_poisson.rs").lines().count() <= 25);
}

#[test]
fn a_density_and_a_step_of_another_crate_are_fitted_and_judged() {
    let [text, again] = printed("nuts_rs");
    assert_eq!(text, again);
    assert!(text.contains("Reliable: yes, ") && text.contains("3 of 6 laws hold"), "{text}");
}

#[test]
fn annealed_paths_tighten_the_bound() {
    let [first, second] = printed("sl_dais");
    assert_eq!(first, second);
    let gain = first.split("SL-DAIS gains ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert!(gain.is_some_and(|gain: f64| gain > 0.1), "{first}");
    assert!(first.contains("step sizes: 0 of 4 are zero"), "{first}");
}

#[test]
fn a_posterior_is_fitted_in_one_call() {
    let [first, second] = printed("fit");
    assert_eq!(first, second);
    assert!(first.contains("Reliable: yes, all checks passed; "), "{first}");
    let mean = first.lines().nth(2).and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    assert!(mean.is_some_and(|scale: f64| (2.0..5.0).contains(&scale)), "{first}");
}

/// The last lines of each method, after 10,000 steps, within a nat of the largest evidence; the first ones farther off.
#[test]
fn an_encoder_and_its_model_are_learned() {
    let [text, _] = printed("amortised");
    let numbers: Vec<f64> =
        text.lines().filter_map(|line| line.split_whitespace().next_back()?.parse().ok()).collect();
    let [largest, msc @ .., _, _, jsa] = &numbers[..] else { panic!("{text}") };
    assert!(largest - msc[2] < 1.0 && largest - jsa < 1.0 && largest - msc[0] > 1.0, "{text}");
}
