//! SHA-256, by the fastest implementation that `benches/package.rs` found.

use ring::digest::{Context, SHA256};

/// A SHA-256 computation.
pub(super) struct Sha256(Context);

impl Sha256 {
    pub(super) fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn finish(self) -> [u8; 32] {
        let mut digest = [0; 32];
        digest.copy_from_slice(self.0.finish().as_ref());
        digest
    }
}
