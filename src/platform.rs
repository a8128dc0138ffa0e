//! Platforms that providers are built for.

use std::fmt;
use std::str::FromStr;

/// An operating system and an architecture in Go's names, such as `linux_amd64`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    /// Operating system: `linux`, `darwin`, `windows`, …
    pub os: String,
    /// Architecture: `amd64`, `arm64`, `386`, …
    pub arch: String,
}

/// The text is not a platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a platform; write OS_ARCH, for example linux_amd64 or darwin_arm64")]
pub struct PlatformError(pub String);

impl Platform {
    /// The platform that this program was built for.
    pub fn current() -> Self {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
            other => other,
        };
        Self { os: os.to_owned(), arch: arch.to_owned() }
    }
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        let valid = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        match text.split_once('_') {
            Some((os, arch)) if valid(os) && valid(arch) => Ok(Self { os: os.to_owned(), arch: arch.to_owned() }),
            _ => Err(PlatformError(text.to_owned())),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.os, self.arch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_is_two_words_joined_by_an_underscore() {
        assert_eq!("linux_amd64".parse::<Platform>().unwrap().to_string(), "linux_amd64");
        for text in ["", "linux", "linux-amd64", "_amd64", "linux_", "_", "linux_ amd64", "linux/amd64", "linux_arm_64"]
        {
            assert_eq!(text.parse::<Platform>(), Err(PlatformError(text.to_owned())));
        }
        assert_eq!(Platform::current().to_string().parse(), Ok(Platform::current()));
    }
}
