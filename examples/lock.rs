//! Locks every root module below a directory, from the registries of their providers: `cargo run --example lock --
//! infra`.

use std::error::Error;

use provlock::project::{Event, LockOptions, Selection, Session, SessionOptions};
use provlock::system::Environment;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let environment = Environment { current_directory: std::env::current_dir()?, ..Environment::default() };
    let session = Session::new(environment, SessionOptions::default())?.observed_by(|event| match event {
        Event::Locked(locked) => {
            println!("{}: {} providers", locked.prepared.root.path().display(), locked.outcome.locks.len());
        }
        Event::Failed(path, errors) => eprintln!("{}: {errors}", path.display()),
        _ => {}
    });
    let roots = session.roots(&Selection::recursive(directory))?;
    let report = session.lock(&roots, &LockOptions::default())?;
    let changed = report.roots.iter().filter(|(_, root)| root.as_ref().is_ok_and(|root| root.changed)).count();
    println!("{changed} of {} root modules changed", roots.len());
    Ok(())
}
