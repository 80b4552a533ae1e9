//! Addresses of random streams under one seed.

/// Base-2 logarithm of the number of blocks reserved for one step: `2^28` blocks of 64 bytes, `2^31` 64-bit draws.
const STEP_BLOCKS_LOG2: u32 = 28;

/// The nonce from which child seeds are derived; it is not allowed as a lane.
pub(crate) const CHILDREN: u64 = u64::MAX;

/// Address of a stream: a nonce of ChaCha8, and a range of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// ChaCha's nonce: the lane.
    pub nonce: u64,
    /// The first 64-byte block.
    pub first_block: u64,
    /// The number of blocks reserved for the step.
    pub blocks: u64,
}

impl Address {
    /// The address of a lane at a step.
    ///
    /// # Panics
    /// If `step >= 2^36`, or `lane` is `u64::MAX`, which is reserved for [`Seed::child`](crate::Seed::child).
    pub fn of(lane: u64, step: u64) -> Self {
        assert!(step < 1 << (64 - STEP_BLOCKS_LOG2), "a step is less than 2^36");
        assert!(lane != CHILDREN, "the last lane derives children");
        Self { nonce: lane, first_block: step << STEP_BLOCKS_LOG2, blocks: 1 << STEP_BLOCKS_LOG2 }
    }
}
