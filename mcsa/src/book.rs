//! Chapters of the book, run as doc tests.
#![cfg(doctest)]

#[doc = include_str!("../../docs/book/src/choosing.md")]
mod choosing {}
#[doc = include_str!("../../docs/book/src/enumeration.md")]
mod enumeration {}
#[doc = include_str!("../../docs/book/src/errata.md")]
mod errata {
    #[doc = include_str!("../../docs/book/src/errata/cw.md")]
    mod cw {}
    #[doc = include_str!("../../docs/book/src/errata/mcmc-se.md")]
    mod mcmc_se {}
    #[doc = include_str!("../../docs/book/src/errata/msc.md")]
    mod msc {}
    #[doc = include_str!("../../docs/book/src/errata/pmcsa.md")]
    mod pmcsa {}
    #[doc = include_str!("../../docs/book/src/errata/sl-dais.md")]
    mod sl_dais {}
}
#[doc = include_str!("../../docs/book/src/first-fit.md")]
mod first_fit {}
#[doc = include_str!("../../docs/book/src/flows.md")]
mod flows {}
#[doc = include_str!("../../docs/book/src/minibatches.md")]
mod minibatches {}
#[doc = include_str!("../../docs/book/src/own-family.md")]
mod own_family {}
#[doc = include_str!("../../docs/book/src/own-kernel.md")]
mod own_kernel {}
#[doc = include_str!("../../docs/book/src/own-model.md")]
mod own_model {}
#[doc = include_str!("../../docs/book/src/state-space.md")]
mod state_space {}
#[doc = include_str!("../../docs/book/src/verdict.md")]
mod verdict {}
