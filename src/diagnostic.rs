//! What the program tells its user about an input: a code, a message, the places in question and what to do next.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A text file that was read, under the name that the user knows it by.
pub struct SourceFile {
    /// The path as it is shown.
    pub path: PathBuf,
    /// The whole text.
    pub text: String,
    /// Line and column at each multiple of [`Position::DISTANCE`] in the text, when they are needed.
    positions: OnceLock<Vec<Position>>,
}

/// Line and column of a byte, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    line: usize,
    column: usize,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Byte range in the file's text.
    pub span: Range<usize>,
}

/// A place with what there is to say about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Where.
    pub location: Location,
    /// A few words; may be empty.
    pub text: String,
}

/// How much a diagnostic weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing stops.
    Warning,
    /// Something is wrong.
    Error,
}

/// An error, a warning or a finding, independent of how it will be shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// Its weight.
    pub severity: Severity,
    /// Its stable name.
    pub code: Code,
    /// One sentence: a lower-case fragment without a full stop.
    pub message: String,
    /// The places it is about, the most important first; empty when it is about no file.
    pub labels: Vec<Label>,
    /// What else is known, one line each.
    pub notes: Vec<String>,
    /// What to do next, if possible the command to run.
    pub help: Option<String>,
}

/// The result of something that can fail for a reason that the user must see.
pub type Result<T> = std::result::Result<T, Box<Diagnostic>>;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// The stable name of a diagnostic, as `--json` and `--deny` use it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$variant),+];

            /// What it means, in a sentence.
            pub fn summary(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc),+).trim_ascii(),)+
                }
            }

            /// The name in kebab case.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

codes! {
    /// There is no lock file.
    LockFileMissing = "lock-file-missing",
    /// The lock file cannot be parsed.
    LockFileSyntax = "lock-file-syntax",
    /// The lock file holds git conflict markers.
    ConflictMarkers = "conflict-markers",
    /// Two sides of a merge exclude each other.
    MergeConflict = "merge-conflict",
    /// A provider has two entries.
    DuplicateProvider = "duplicate-provider",
    /// An address, version or constraint list is not in its canonical form.
    NotCanonical = "not-canonical",
    /// A hash does not have the form of its scheme.
    MalformedHash = "malformed-hash",
    /// A hash has a scheme that nothing is known about.
    UnknownHashScheme = "unknown-hash-scheme",
    /// Hashes are not sorted, or one is there twice.
    UnsortedHashes = "unsorted-hashes",
    /// Git does not track the lock file.
    UntrackedLockFile = "untracked-lock-file",
    /// The configuration requires a provider that has no entry.
    ProviderNotLocked = "provider-not-locked",
    /// An entry is for a provider that the configuration does not require.
    ProviderNotRequired = "provider-not-required",
    /// The locked version does not meet the configuration's constraints.
    VersionOutsideConstraints = "version-outside-constraints",
    /// The recorded constraints are not those of the configuration.
    ConstraintsDiffer = "constraints-differ",
    /// An entry has no hashes.
    NoHashes = "no-hashes",
    /// A wanted platform has no hash.
    PlatformMissing = "platform-missing",
    /// Whether a wanted platform has a hash cannot be known.
    PlatformNotKnown = "platform-not-known",
    /// A hash belongs to no published package.
    HashNotPublished = "hash-not-published",
    /// The registry no longer lists the locked version.
    VersionWithdrawn = "version-withdrawn",
    /// A signature does not verify.
    SignatureInvalid = "signature-invalid",
    /// A signature was made with a key that has expired.
    KeyExpired = "key-expired",
    /// A signature was made with a key that `[trust]` does not list.
    KeyNotTrusted = "key-not-trusted",
    /// An installed package matches no recorded hash.
    InstalledPackageDiffers = "installed-package-differs",
    /// The policy does not allow the host.
    HostNotAllowed = "host-not-allowed",
    /// The policy does not allow the namespace.
    NamespaceNotAllowed = "namespace-not-allowed",
    /// The policy requires a signature and there is none.
    UnsignedProvider = "unsigned-provider",
    /// A directory of plugins is committed beside the configuration.
    BundledPlugins = "bundled-plugins",
    /// An address looks like that of a well-known provider.
    Lookalike = "look-alike",
    /// Hashes were replaced while the version stayed.
    HashesReplaced = "hashes-replaced",
    /// A version became older.
    Downgrade = "downgrade",
    /// A provider moved to another host.
    HostChanged = "host-changed",
    /// A version is younger than the policy allows.
    TooYoung = "too-young",
    /// A flag, argument or setting cannot be understood.
    InvalidArgument = "invalid-argument",
    /// A configuration cannot be read.
    InvalidConfiguration = "invalid-configuration",
    /// A directory holds no configuration.
    NoConfiguration = "no-configuration",
    /// A called module is not installed.
    ModuleNotInstalled = "module-not-installed",
    /// Modules call each other in a circle.
    ModuleCycle = "module-cycle",
    /// The CLI configuration cannot be read.
    InvalidCliConfiguration = "invalid-cli-configuration",
    /// A stored token is not used, because another one wins.
    CredentialsNotUsed = "credentials-not-used",
    /// A credentials helper failed.
    CredentialsHelper = "credentials-helper",
    /// A provider is under development, and therefore not locked.
    DevOverride = "dev-override",
    /// No version meets the constraints.
    NoMatchingVersion = "no-matching-version",
    /// The source has no such provider.
    ProviderNotFound = "provider-not-found",
    /// The version does not exist for a wanted platform.
    PlatformNotAvailable = "platform-not-available",
    /// The version needs a plugin protocol that is not supported.
    UnsupportedProtocol = "unsupported-protocol",
    /// A host could not be asked, or gave no usable answer.
    RequestFailed = "request-failed",
    /// A host refused the credentials, or wants some.
    Unauthorized = "unauthorized",
    /// A package is not what its checksums, signature or registry say.
    PackageNotAuthentic = "package-not-authentic",
    /// A package cannot be read.
    InvalidPackage = "invalid-package",
    /// The recorded hashes are not those that are published.
    HashesChanged = "hashes-changed",
    /// A file could not be read or written.
    Io = "io",
    /// The file changed while the command ran.
    FileChanged = "file-changed",
}

impl SourceFile {
    /// A file's text under the path it is shown by.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { path: path.into(), text: text.into(), positions: OnceLock::new() })
    }

    /// Line and column, both from 1, of a byte offset; columns count characters. The first call for a file reads all of its
    /// text, others only a little.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let bytes = self.text.as_bytes();
        let positions = self.positions.get_or_init(|| {
            let mut positions = vec![Position { line: 1, column: 1 }];
            for chunk in bytes.chunks(Position::DISTANCE) {
                positions.extend(positions.last().map(|position| position.after(chunk)));
            }
            positions
        });
        let index = offset / Position::DISTANCE;
        let Position { line, column } = positions[index].after(&bytes[index * Position::DISTANCE..offset]);
        (line, column)
    }
}

impl Position {
    /// Bytes between the places whose positions are known.
    const DISTANCE: usize = 1024;

    /// The position behind some bytes of UTF-8, which may begin or end within a character.
    fn after(self, bytes: &[u8]) -> Self {
        let line_start = memchr::memrchr(b'\n', bytes).map_or(0, |newline| newline + 1);
        let lines = memchr::memchr_iter(b'\n', &bytes[..line_start]).count();
        let characters = bytes[line_start..].iter().filter(|byte| !matches!(byte, 0x80..0xc0)).count();
        Self { line: self.line + lines, column: if lines == 0 { self.column + characters } else { 1 + characters } }
    }
}

/// By path and text.
impl PartialEq for SourceFile {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.text == other.text
    }
}

impl Eq for SourceFile {}

/// By the path alone: a text may be long, and few have the same path.
impl Hash for SourceFile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

impl Location {
    /// A byte range of a file.
    pub fn new(file: &Arc<SourceFile>, span: Range<usize>) -> Self {
        Self { file: Arc::clone(file), span }
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Line and column of the start, both from 1.
    pub fn line_column(&self) -> (usize, usize) {
        self.file.line_column(self.span.start)
    }
}

impl Diagnostic {
    /// An error about no particular file.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// A warning about no particular file.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Adds a place.
    #[must_use]
    pub fn at(mut self, location: Location, text: impl Into<String>) -> Self {
        self.labels.push(Label { location, text: text.into() });
        self
    }

    /// Adds a line about what is known.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Whether another diagnostic differs at most in its places.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let words = |d: &Self| (d.severity, d.code, d.message.clone(), d.notes.clone(), d.help.clone());
        words(self) == words(other)
    }

    /// An error of the operating system about a file: what was tried, on which path, and why it failed.
    pub fn io(attempt: &str, path: &Path, error: &std::io::Error) -> Box<Self> {
        let words = error.to_string();
        // The library for temporary files adds the name of one that is gone by now; the path is named already.
        let words = words.split_once(" at path \"").map_or(words.as_str(), |(words, _)| words);
        Box::new(Self::error(Code::Io, format!("cannot {attempt} {}: {words}", path.display())))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The message alone; the places are for a renderer.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn line_and_column_are_counted_from_the_start(
            pieces in proptest::collection::vec(
                prop_oneof![Just("a"), Just("\u{e9}"), Just("\u{1f980}\u{1f980}"), Just("\n"), Just("\r\n"), Just("0123456789")],
                0..1000,
            ),
            offset in 0_usize..5000,
        ) {
            let file = SourceFile::new("f", pieces.concat());
            let before = &file.text[..file.text.floor_char_boundary(offset.min(file.text.len()))];
            let line = before.split('\n').next_back().unwrap_or_default();
            prop_assert_eq!(file.line_column(offset), (before.matches('\n').count() + 1, line.chars().count() + 1));
            prop_assert_eq!(file.line_column(usize::MAX).0, file.text.matches('\n').count() + 1);
        }
    }
}
