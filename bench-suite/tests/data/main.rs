//! What a file must hold to be loaded, and what happens when it does not.

mod bytes;
mod folder;
mod importing;
mod reader;
mod sets;
