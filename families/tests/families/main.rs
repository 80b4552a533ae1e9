//! Tests of the families: conformance, closed forms, and twins that must fail.

mod atoms;
mod autoregressive;
mod block_neural;
mod cauchy;
mod closed_forms;
mod dais;

mod defensive;
mod flow_files;
mod flow_maps;
mod flow_splines;
mod flow_twins;
mod flows;
mod full_rank;
mod gaussian_mixture;
mod low_rank;
mod mean_field;
mod multivariate_t;
mod planar_radial;
mod properties;
mod push_twins;
mod random_lambda;
mod semi_dais;
mod small_faults;
mod student_t;
mod twins;
mod twisted;
