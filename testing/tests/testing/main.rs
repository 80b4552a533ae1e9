//! Tests of the tests: the judge, and kernels with one deliberate mistake each.

mod judging;
mod mutations;

fn banana() -> mcsa_models::Banana {
    mcsa_models::Banana::new(1.5, 0.4).expect("a width and a bend")
}
