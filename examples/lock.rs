//! Locks every root module below a directory, from the registries of their providers: `cargo run
//! --example lock -- infra`.

use std::error::Error;

use provlock::project::{LockOptions, Selection, Session, SessionOptions};
use provlock::system::Environment;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let environment = Environment {
        current_directory: std::env::current_dir()?,
        ..Environment::default()
    };
    let session = Session::new(environment, SessionOptions::default())?;
    let roots = session.roots(&Selection::recursive(directory))?;
    let report = session.lock(&roots, &LockOptions::default(), |outcome| {
        outcome.has_changes()
    })?;
    let changed = report
        .roots
        .iter()
        .filter(|(_, result)| matches!(result, Ok(true)))
        .count();
    for (path, result) in report.roots {
        match result {
            Ok(true) => println!("{}: changed", path.display()),
            Ok(false) => println!("{}: up to date", path.display()),
            Err(errors) => eprintln!("{}: {errors}", path.display()),
        }
    }
    println!("{changed} of {} root modules changed", roots.len());
    Ok(())
}
