//! Writes the filesystem mirror of the demo, `testdata/mirror`.

use std::fs;
use std::io;
use std::path::Path;

use provlock_test::archive::{Packing, demo_packages, pack};

fn main() -> io::Result<()> {
    let mirror = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/mirror/registry.opentofu.org/hashicorp");
    for (path, files) in demo_packages() {
        let path = mirror.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, pack(&files, Packing::Stored))?;
    }
    Ok(())
}
