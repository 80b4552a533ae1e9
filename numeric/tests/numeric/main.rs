//! Tests of vectorised functions: accuracy, bits, and columns of a batch.

mod accuracy;
mod bits;
