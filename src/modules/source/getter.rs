//! The ways in which the packages of modules are fetched.

/// How a package is fetched: go-getter's getters, as OpenTofu and Terraform register them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Getter<'a> {
    /// From a git repository.
    Git,
    /// From a web server, with or without encryption.
    Http,
    /// From this machine.
    File,
    /// From an OCI registry; OpenTofu only.
    Oci,
    /// From Amazon S3; not supported by provlock.
    S3,
    /// From Google Cloud Storage; not supported by provlock.
    Gcs,
    /// From a Mercurial repository; not supported by provlock.
    Mercurial,
    /// A name or URL scheme that neither OpenTofu nor Terraform knows.
    Unknown(&'a str),
}

impl<'a> Getter<'a> {
    /// Returns the getter with a name, which is also the scheme of a URL.
    pub(super) fn named(name: &'a str) -> Self {
        match name {
            "git" => Self::Git,
            "http" | "https" => Self::Http,
            "file" => Self::File,
            "oci" => Self::Oci,
            "s3" => Self::S3,
            "gcs" => Self::Gcs,
            "hg" => Self::Mercurial,
            name => Self::Unknown(name),
        }
    }
}
