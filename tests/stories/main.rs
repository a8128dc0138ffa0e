//! Stories: what `provlock` does for its users, told by running it. One binary, so that it links once.

mod demo;
mod json_output;
mod lock;
mod mirrors;
mod runs;
mod support;
mod support_judged;
mod support_works;
mod verify;
