//! README and chapters of the book, run as doc tests.
#![cfg(doctest)]
#![doc = include_str!("../../README.md")]

macro_rules! chapters {
    ($($name:ident: $file:literal,)*) => {$(
        #[doc = include_str!(concat!("../../docs/book/src/", $file, ".md"))]
        mod $name {}
    )*};
}

chapters! {
    choosing: "choosing",
    enumeration: "enumeration",
    errata: "errata",
    errata_of_cw: "errata/cw",
    errata_of_mcmc_se: "errata/mcmc-se",
    errata_of_msc: "errata/msc",
    errata_of_pmcsa: "errata/pmcsa",
    errata_of_sl_dais: "errata/sl-dais",
    first_fit: "first-fit",
    flows: "flows",
    minibatches: "minibatches",
    own_family: "own-family",
    own_kernel: "own-kernel",
    own_model: "own-model",
    state_space: "state-space",
    stories: "stories",
    verdict: "verdict",
}
