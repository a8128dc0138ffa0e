//! SHA256SUMS, OpenPGP signatures, and which hashes may be recorded (spec section 8).
