//! Tests of the families: conformance, closed forms, and faulty families that must fail.

mod altered;
mod block_neural;
mod closed_forms;
mod conditional;
mod conformance;
mod dependent;
mod faults;
mod flow_files;
mod flow_maps;
mod flows;
mod mixture;
mod moments;
mod moments_t;
