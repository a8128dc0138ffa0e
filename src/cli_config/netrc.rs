//! Logins for hosts in `.netrc` (<https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html>),
//! as go-getter uses them for archives of modules (`netrc.go`), and Terraform since 1.11 for
//! archives of providers.

use std::io;
use std::sync::{Arc, OnceLock};

use url::Url;

use crate::system::{Environment, Token, files};

/// The largest file that is read, in bytes.
const SIZE_LIMIT: u64 = 1 << 20;

/// The file in the home directory.
const FILE_NAME: &str = if cfg!(windows) { "_netrc" } else { ".netrc" };

/// The logins of a user. It has no `Debug`, which would show passwords.
#[derive(Clone, Default)]
pub(crate) struct Netrc(Vec<Machine>);

#[derive(Clone, Default)]
struct Machine {
    /// Host name; `None` in the default entry.
    host: Option<String>,
    login: String,
    password: String,
}

/// The logins of a user, which are read when one is needed. Clones share them.
#[derive(Clone)]
pub(crate) struct LazyNetrc {
    environment: Environment,
    netrc: Arc<OnceLock<Result<Netrc, String>>>,
}

impl LazyNetrc {
    /// Reads nothing yet.
    pub(crate) fn new(environment: &Environment) -> Self {
        Self {
            environment: environment.clone(),
            netrc: Arc::default(),
        }
    }

    /// Returns the logins.
    ///
    /// # Errors
    /// The file is larger than 1 MiB.
    pub(crate) fn get(&self) -> Result<&Netrc, String> {
        let netrc = self.netrc.get_or_init(|| Netrc::read(&self.environment));
        netrc.as_ref().map_err(Clone::clone)
    }
}

impl Netrc {
    /// Reads the file that `NETRC` names, or the one in the home directory. A file that cannot be
    /// read has no logins.
    ///
    /// # Errors
    /// The file is larger than 1 MiB. Ignoring it would make servers refuse requests without a
    /// visible reason.
    fn read(environment: &Environment) -> Result<Self, String> {
        let named = environment.path_variable("NETRC");
        let path = named.or_else(|| environment.home.as_ref().map(|home| home.join(FILE_NAME)));
        let Some(path) = path.map(|path| environment.current_directory.join(path)) else {
            return Ok(Self::default());
        };
        match files::read(&path, SIZE_LIMIT) {
            Ok(bytes) => Ok(Self::parse(&String::from_utf8_lossy(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Err(format!("cannot read {}: {error}", path.display()))
            }
            Err(_) => Ok(Self::default()),
        }
    }

    /// Parses `.netrc`. Unknown words are skipped, and a missing value is empty.
    fn parse(text: &str) -> Self {
        let mut machines: Vec<Machine> = Vec::new();
        let mut rest = text;
        while let Some(word) = next_word(&mut rest) {
            // Login and password belong to the machine before them.
            let machine_before = machines.last_mut();
            match word {
                "machine" => machines.push(Machine {
                    host: Some(next_word(&mut rest).unwrap_or_default().to_owned()),
                    ..Machine::default()
                }),
                "default" => machines.push(Machine::default()),
                "login" | "password" | "account" => {
                    let value = next_word(&mut rest).unwrap_or_default().to_owned();
                    match (word, machine_before) {
                        ("login", Some(machine)) => machine.login = value,
                        ("password", Some(machine)) => machine.password = value,
                        _ => {}
                    }
                }
                // A macro ends at an empty line.
                "macdef" => rest = rest.find("\n\n").map_or("", |end| &rest[end..]),
                _ if word.starts_with('#') => rest = rest.find('\n').map_or("", |end| &rest[end..]),
                _ => {}
            }
        }
        Self(machines)
    }

    /// The login for the host of a URL.
    pub(crate) fn token(&self, url: &Url) -> Option<Token> {
        let (user, password) = self.login(&machine_of(url)?)?;
        Some(Token::basic(user, password))
    }

    /// User and password for a host, written as in a URL, with its port if there is one.
    fn login(&self, host: &str) -> Option<(&str, &str)> {
        let named = self
            .0
            .iter()
            .find(|machine| machine.host.as_deref() == Some(host));
        let machine = named.or_else(|| self.0.iter().find(|machine| machine.host.is_none()))?;
        Some((&machine.login, &machine.password))
    }
}

/// The name by which the file has the host of a URL.
pub(crate) fn machine_of(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

fn next_word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.trim_start();
    let (word, after) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    *rest = after;
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_login_or_the_default_one() {
        let text = "\
# mine: machine a.test
machine a.test login alice password w0nder
machine b.test:8443
  login bob
  password b account x
macdef init
machine evil.test login x

default login anonymous password me";
        let netrc = Netrc::parse(text);
        assert_eq!(netrc.login("a.test"), Some(("alice", "w0nder")));
        assert_eq!(netrc.login("b.test:8443"), Some(("bob", "b")));
        for other in ["b.test", "evil.test", "init"] {
            assert_eq!(netrc.login(other), Some(("anonymous", "me")), "{other}");
        }
        assert_eq!(Netrc::parse("machine a.test login").login("b.test"), None);
    }

    #[test]
    fn a_variable_names_the_file() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(
            directory.path().join(FILE_NAME),
            "machine a.test login home password x",
        )
        .unwrap();
        std::fs::write(
            directory.path().join("other"),
            "machine a.test login other password x",
        )
        .unwrap();
        let mut environment = Environment {
            home: Some(directory.path().to_owned()),
            ..Environment::default()
        };
        let user = |environment: &Environment| {
            Netrc::read(environment)
                .unwrap()
                .login("a.test")
                .map(|(user, _)| user.to_owned())
        };
        assert_eq!(user(&environment).as_deref(), Some("home"));
        environment.variables.insert(
            "NETRC".to_owned(),
            directory.path().join("other").display().to_string(),
        );
        assert_eq!(user(&environment).as_deref(), Some("other"));
        environment.variables.insert(
            "NETRC".to_owned(),
            directory.path().join("absent").display().to_string(),
        );
        assert_eq!(user(&environment), None);
    }
}
