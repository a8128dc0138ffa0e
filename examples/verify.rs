//! Verifies the lock files of every root module below a directory, without a network: `cargo run
//! --example verify -- infra`.

use std::error::Error;

use provlock::project::{ModuleFetching, Selection, Session, SessionOptions, VerifyOptions};
use provlock::system::Environment;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let environment = Environment {
        current_directory: std::env::current_dir()?,
        ..Environment::default()
    };
    let mut options = SessionOptions::default();
    options.modules = ModuleFetching::Never;
    let session = Session::new(environment, options)?;
    let roots = session.roots(&Selection::recursive(directory))?;
    let report = session.verify(&roots, &VerifyOptions::default())?;
    for (path, verified) in &report.roots {
        match verified {
            Ok(root) => root
                .findings
                .iter()
                .for_each(|finding| println!("{}: {finding}", path.display())),
            Err(errors) => eprintln!("{}: {errors}", path.display()),
        }
    }
    Ok(())
}
