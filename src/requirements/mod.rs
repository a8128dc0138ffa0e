//! Which providers a configuration requires, and where it says so (spec section 5).
