//! Tests of the behaviour of `provlock`, which they run as users do. One binary, so that it links
//! once.
//!
//! Tests of the CLI configuration use the names that its files have on Unix.

#![allow(
    clippy::needless_raw_string_hashes,
    reason = "snapbox writes them into snapshots"
)]
#![allow(
    clippy::too_many_lines,
    reason = "a test reads from top to bottom, with the output of the program"
)]

mod addresses;
mod authentication;
mod batches;
mod beside_terraform;
mod broken_roots;
mod cache;
#[cfg(unix)]
mod client_certificates;
mod completions;
#[cfg(unix)]
mod credentials_helper;
mod demo;
mod dialect;
mod diff;
mod discovery;
#[cfg(unix)]
mod documents;
mod errors;
mod explain;
mod faults;
#[cfg(unix)]
mod get;
#[cfg(unix)]
mod get_messages;
mod grouped_diagnostics;
mod help;
mod hints;
mod hooks;
mod hostile_text;
mod html;
#[cfg(unix)]
mod identity;
mod init;
#[cfg(unix)]
mod installation;
mod json_output;
mod kept_platforms;
mod lock;
mod logins_of_archives;
mod malformed_hashes;
mod manual;
mod many_roots;
mod merge;
mod merge_hashes;
mod merge_modules;
mod min_age;
mod mirror;
mod mirrors;
mod module_source_expressions;
#[cfg(unix)]
mod modules;
#[cfg(unix)]
mod modules_mirror;
mod not_checked;
#[cfg(unix)]
mod oci_modules;
mod offline;
mod only_h1;
#[cfg(unix)]
mod page_outputs;
#[cfg(unix)]
mod pasted_help;
#[cfg(unix)]
mod pin;
mod policy;
mod private;
mod repair;
mod request_errors;
mod resolve;
mod runs;
mod sbom;
mod settings_of_users;
mod setup_git;
mod shared_facts;
#[cfg(unix)]
mod shared_lock_files;
mod short_names;
mod size_limits;
mod stacks;
mod state;
#[cfg(target_os = "linux")]
mod system_calls;
mod terminal;
#[cfg(target_os = "linux")]
mod terminal_sessions;
mod terragrunt;
mod tree;
mod upgrade;
mod upgrade_many;
mod verify;
mod version;
#[cfg(windows)]
mod windows;
mod without_platforms;
