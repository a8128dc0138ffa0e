//! Packages: a zip archive or a directory to its `zh:` and `h1:` hashes (spec section 4).
