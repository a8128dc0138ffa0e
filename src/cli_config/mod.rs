//! The CLI configuration (`.tofurc`), credentials and credentials helpers (spec section 10).
