//! One HTTP client: retries, size caps, per-host tokens, service discovery (spec section 7).
