//! What the commands do: selecting versions, locking, verifying, upgrading.
