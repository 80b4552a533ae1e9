//! Requirements on data files, and errors if they are violated.

mod bytes;
mod folder;
mod importing;
mod posteriordb;
mod reader;
mod sets;
