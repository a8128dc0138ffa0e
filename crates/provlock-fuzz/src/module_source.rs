//! Sources of modules, one on each line.

use provlock::modules::source::{ModuleSource, RemoteSource};
use provlock::provider::Dialect;

/// Reads sources. A source that was read, written and read again is the same, unless it contains
/// characters that only short forms may contain unescaped. A directory in a package leads no
/// further up than `..` itself, which OpenTofu and Terraform accept, but which no package contains.
pub fn module_source(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let mut is_accepted = false;
    for (line, dialect) in text
        .lines()
        .flat_map(|line| [(line, Dialect::Tofu), (line, Dialect::Terraform)])
    {
        let Ok(source) = ModuleSource::parse(line, dialect) else {
            continue;
        };
        is_accepted = true;
        let (directory, again) = match &source {
            ModuleSource::Local(path) => ("", ModuleSource::parse(path, dialect)),
            ModuleSource::Registry(source) => (
                source.directory.as_str(),
                ModuleSource::parse(&source.to_string(), dialect),
            ),
            ModuleSource::Remote(source) => {
                let again = RemoteSource::detect(&source.package, &source.directory);
                (source.directory.as_str(), again.map(ModuleSource::Remote))
            }
        };
        assert!(
            directory == ".." || directory.split('/').all(|part| part != ".."),
            "{line:?}: {directory:?}"
        );
        if !line.contains(|c: char| c.is_control() || c == '%') {
            assert_eq!(again.as_ref(), Ok(&source), "{line:?}");
        }
    }
    is_accepted
}
