//! The ways in which the packages of modules are fetched.

/// Method by which a package is fetched: go-getter's getters, as OpenTofu and Terraform register
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Getter {
    /// From a git repository.
    Git,
    /// From a web server, with or without encryption.
    Http,
    /// From this machine.
    File,
    /// From an OCI registry; OpenTofu only.
    Oci,
    /// From Amazon S3, Google Cloud Storage or a Mercurial repository; not supported by provlock.
    Unsupported,
    /// A name or URL scheme that neither OpenTofu nor Terraform knows.
    Unknown,
}

impl Getter {
    /// Returns the getter with a name, which is also the scheme of a URL.
    pub(super) fn of_name(name: &str) -> Self {
        match name {
            "git" => Self::Git,
            "http" | "https" => Self::Http,
            "file" => Self::File,
            "oci" => Self::Oci,
            "s3" | "gcs" | "hg" => Self::Unsupported,
            _ => Self::Unknown,
        }
    }
}
