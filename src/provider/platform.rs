//! Platforms that providers are built for.

use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An operating system and an architecture in Go's names, such as `linux_amd64`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{os}_{arch}")]
pub struct Platform {
    /// Operating system: `linux`, `darwin`, `windows`, …
    pub os: String,
    /// Architecture: `amd64`, `arm64`, `386`, …
    pub arch: String,
}

/// The text is not a platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a platform; {advice}", text = .0, advice = advice(.0))]
pub struct PlatformError(pub String);

impl Platform {
    /// The platform that this program was built for.
    pub fn current() -> Self {
        let arch = match std::env::consts::ARCH {
            "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
            other => other,
        };
        let platform = Self {
            os: std::env::consts::OS.to_owned(),
            arch: arch.to_owned(),
        };
        Self::meant_by(&platform.to_string()).unwrap_or(platform)
    }

    /// The platform that a text with other names than Go's means, such as `macos_arm64`,
    /// `linux-amd64` or `Windows_x86_64`; `None` if it means none.
    fn meant_by(text: &str) -> Option<Self> {
        let words = text.to_ascii_lowercase().replace(['-', '/'], "_");
        let (os, arch) = words.split_once('_')?;
        let os = match os {
            "mac" | "macos" | "osx" => "darwin",
            "win" | "win32" | "win64" => "windows",
            other => other,
        };
        let arch = match arch {
            "x86_64" | "x64" => "amd64",
            "aarch64" => "arm64",
            "x86" | "i386" | "i686" => "386",
            other => other,
        };
        let meant = format!("{os}_{arch}");
        // The text is written as Go writes it, so there is nothing to suggest.
        if meant == text {
            None
        } else {
            meant.parse().ok()
        }
    }

    /// Reads a platform that a person wrote. Unlike a registry, a person may use a name other than
    /// Go's, which would name no package.
    ///
    /// # Errors
    /// The text is not a platform, or an alias of a platform.
    pub fn parse_written(text: &str) -> Result<Self, PlatformError> {
        if Self::meant_by(text).is_some() {
            Err(PlatformError(text.to_owned()))
        } else {
            text.parse()
        }
    }
}

fn advice(text: &str) -> String {
    let meant = Platform::meant_by(text).map(|platform| format!("did you mean {platform}?"));
    meant.unwrap_or_else(|| "write OS_ARCH, for example linux_amd64 or darwin_arm64".to_owned())
}

impl Serialize for Platform {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Platform {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        match text.split_once('_') {
            Some((os, arch)) if is_word(os) && is_word(arch) => Ok(Self {
                os: os.to_owned(),
                arch: arch.to_owned(),
            }),
            _ => Err(PlatformError(text.to_owned())),
        }
    }
}

/// Whether a text can be the name of an operating system or an architecture.
fn is_word(part: &str) -> bool {
    let is_allowed = part
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    !part.is_empty() && is_allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_platform_is_two_words_joined_by_an_underscore() {
        assert_eq!(
            "linux_amd64".parse::<Platform>().unwrap().to_string(),
            "linux_amd64"
        );
        for text in [
            "",
            "linux",
            "linux-amd64",
            "_amd64",
            "linux_",
            "_",
            "linux_ amd64",
            "linux/amd64",
            "linux_arm_64",
        ] {
            assert_eq!(
                text.parse::<Platform>(),
                Err(PlatformError(text.to_owned()))
            );
        }
        assert_eq!(
            Platform::current().to_string().parse(),
            Ok(Platform::current())
        );
    }

    #[test]
    fn other_names_of_platforms_are_corrected() {
        for (text, meant) in [
            ("macos_arm64", "darwin_arm64"),
            ("linux-amd64", "linux_amd64"),
            ("linux_x86_64", "linux_amd64"),
            ("linux/aarch64", "linux_arm64"),
            ("Windows_x64", "windows_amd64"),
        ] {
            let error = Platform::parse_written(text).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("{text:?} is not a platform; did you mean {meant}?")
            );
        }
        for text in ["linux_amd64", "darwin_arm64", "plan9_386", "wasip1_wasm"] {
            assert_eq!(Platform::parse_written(text).unwrap().to_string(), text);
        }
        assert!(
            Platform::parse_written("linux")
                .unwrap_err()
                .to_string()
                .contains("write OS_ARCH")
        );
    }
}
