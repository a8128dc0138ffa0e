//! The `provlock` program.

fn main() {}
