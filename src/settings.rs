//! Project settings: `provlock.toml` (spec section 11).
