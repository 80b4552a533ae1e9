//! Tests of the suite: results and their damage, experiments, the program, and its pages.

mod anchors;
mod archive;
mod auto;
mod bounds;
mod damage;
mod fingerprint;
mod fit_pairs;
mod instance;
mod outputs;
mod page;
mod process;
mod program;
mod readers;
mod resume;
mod shaped;
mod slice;
mod slurm;
mod sweep;
mod theory;
mod theory_instance;
mod user_experiment;
