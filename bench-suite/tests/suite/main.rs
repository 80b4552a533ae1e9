//! Tests of the suite: results and their damage, experiments, the program, and its pages.

mod anchors;
mod archive;
mod auto;
mod damage;
mod ends;
mod fingerprint;
mod fit_pairs;
mod kinds;
mod measures;
mod outputs;
mod page;
mod process;
mod program;
mod readers;
mod resume;
mod slurm;
mod sweep;
mod theory;
mod user_experiment;
