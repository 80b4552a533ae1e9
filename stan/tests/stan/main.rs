//! Stan programs against models of the library. Skipped, with a message, where no library can be compiled.

mod compiled;
mod programs;
