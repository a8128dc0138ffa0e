//! Answers to a registry's challenge: a password, the user's token, or a token from a token server.

use reqwest::blocking::{RequestBuilder, Response};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use url::Url;

use super::challenge::{BearerChallenge, Challenges};
use super::credentials::{FoundLogin, OciLogins};
use super::login::{DOCKER_HUB, login_help};
use super::refusal::refusal_failure;
use crate::cli_config::OciLogin;
use crate::diagnostic::{Code, Diagnostic};
use crate::net::{Client, Failure, RequestErrorKind, is_loopback, read_whole};
use crate::provider::OciRepository;
use crate::system::{SafeUrl, Token};

/// Tokens are a few kilobytes.
const MAXIMUM_TOKEN_DOCUMENT_BYTES: u64 = 1 << 20;
/// Registries with their token servers.
const TOKEN_SERVERS: [(&str, &str); 2] = [
    (DOCKER_HUB, "auth.docker.io"),
    ("registry.gitlab.com", "gitlab.com"),
];
/// Name of this program in a token server's records.
const CLIENT_ID: &str = "provlock";

/// Credentials sent along with a request.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Authorization {
    pub(super) header: HeaderValue,
    origin: TokenOrigin,
}

/// Origin of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenOrigin {
    /// The user's own token or password, which cannot be renewed.
    User,
    /// A token server, whose token may have expired.
    Server,
}

/// A request that needs an authorization.
pub(super) struct Requester<'a> {
    pub(super) client: &'a Client,
    pub(super) repository: &'a OciRepository,
    /// The registry's base URL, which sent the challenge.
    pub(super) registry: &'a Url,
    pub(super) login: Option<&'a FoundLogin>,
    /// All logins of the user, which may include one for the token server.
    pub(super) logins: &'a OciLogins,
    pub(super) access: Access,
}

/// Kind of access to a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Access {
    /// Reading.
    Pull,
    /// Writing and reading.
    PullAndPush,
}

#[derive(Deserialize)]
struct TokenDocument {
    token: Option<String>,
    access_token: Option<String>,
}

impl Requester<'_> {
    /// The authorization that answers a challenge after `refused`; `None` if no other is left.
    /// `is_fresh` is true if the refused token had just been fetched.
    pub(super) fn next_authorization(
        &self,
        challenges: &Challenges,
        refused: Option<&Authorization>,
        is_fresh: bool,
    ) -> Result<Option<Authorization>, Failure> {
        let login = self.login.map(|found| &found.login);
        // First the token that the user stored, then a token from the server. If that is refused,
        // too, no other is left.
        match (&challenges.bearer, login, refused) {
            (
                Some(_),
                Some(OciLogin::OAuth {
                    access_token: Some(token),
                    ..
                }),
                None,
            ) => self.authorization_with(token, TokenOrigin::User).map(Some),
            (
                Some(_),
                _,
                Some(Authorization {
                    origin: TokenOrigin::Server,
                    ..
                }),
            ) if is_fresh => Ok(None),
            (Some(bearer), _, _) => {
                let token = self.fetch_token(bearer)?;
                self.authorization_with(&token, TokenOrigin::Server)
                    .map(Some)
            }
            (None, Some(OciLogin::Basic { username, password }), None) if challenges.basic => {
                let token = Token::basic(username, password.reveal());
                self.authorization_with(&token, TokenOrigin::User).map(Some)
            }
            (None, _, _) => Ok(None),
        }
    }

    fn authorization_with(
        &self,
        token: &Token,
        origin: TokenOrigin,
    ) -> Result<Authorization, Failure> {
        self.client.keep_secret(token);
        let header = token.authorization();
        let header = header.ok_or_else(|| {
            self.credentials_failure("the token for it contains characters that cannot be sent")
        })?;
        Ok(Authorization { header, origin })
    }

    /// Fetches a token: with the user's password, with the refresh token (OAuth 2), or anonymously.
    ///
    /// The registry names the token server, which gets the user's secret only if it is on the
    /// registry's host or the user has the same login for it. It must not pass the secret on, so
    /// redirects are treated as errors.
    fn fetch_token(&self, challenge: &BearerChallenge) -> Result<Token, Failure> {
        let realm = self.checked_realm(challenge)?;
        if let Some(found) = self.login {
            self.check_may_get_login(&realm, found)?;
        }
        let request = self.request_for_login(&realm, challenge)?;
        let response = self.client.send_without_redirects(request)?;
        let status = response.status();
        let shown = SafeUrl::from(realm);
        // These errors are temporary, so the whole attempt is repeated.
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            // Only an error about a refused login says whether one was sent.
            let credentials_sent = false;
            return Err(refusal_failure(response, credentials_sent));
        }
        if status != StatusCode::OK {
            return Err(self.credentials_failure(&format!(
                "the token server {shown} refused it with status {status}"
            )));
        }
        self.read_token(response, &shown)
    }

    /// The request for a token, with the user's login if there is one.
    fn request_for_login(
        &self,
        realm: &Url,
        challenge: &BearerChallenge,
    ) -> Result<RequestBuilder, Failure> {
        match self.login.map(|found| &found.login) {
            Some(OciLogin::OAuth { refresh_token, .. }) => {
                self.client.keep_secret(refresh_token);
                self.refresh_request(realm, challenge, refresh_token)
            }
            Some(OciLogin::Basic { username, password }) => {
                let token = Token::basic(username, password.reveal());
                self.client.keep_secret(&token);
                let request = self.token_request(realm, challenge)?;
                Ok(request.basic_auth(username, Some(password.reveal())))
            }
            None => self.token_request(realm, challenge),
        }
    }

    /// Reads the token in a token server's response.
    fn read_token(&self, response: Response, server: &SafeUrl) -> Result<Token, Failure> {
        let bytes =
            read_whole(response, MAXIMUM_TOKEN_DOCUMENT_BYTES).map_err(
                |failure| match failure.kind {
                    // Without this, the error would be about the URL that needs the token.
                    RequestErrorKind::TooLarge { .. } => self.credentials_failure(&format!(
                        "the answer of the token server {server} {}",
                        failure.kind
                    )),
                    _ => failure,
                },
            )?;
        // No error quotes the document, which may contain a token.
        let document: Option<TokenDocument> = serde_json::from_slice(&bytes).ok();
        let token = document.and_then(|document| document.token.or(document.access_token));
        let token = token.as_deref().and_then(Token::new);
        token.ok_or_else(|| {
            self.credentials_failure(&format!("the token server {server} sent no token"))
        })
    }

    /// The token server's URL: encrypted, or on this machine like the registry itself.
    fn checked_realm(&self, challenge: &BearerChallenge) -> Result<Url, Failure> {
        let realm = Url::parse(&challenge.realm).map_err(|error| {
            self.credentials_failure(&format!(
                "the registry names a token server without a valid URL: {error}"
            ))
        })?;
        let is_plain_on_this_machine =
            realm.scheme() == "http" && is_loopback(&realm) && self.registry.scheme() == "http";
        if !(realm.scheme() == "https" || is_plain_on_this_machine)
            || !realm.username().is_empty()
            || realm.password().is_some()
        {
            let shown = SafeUrl::from(realm);
            return Err(self.credentials_failure(&format!(
                "the registry names the token server {shown}, which is not an https URL without a user name"
            )));
        }
        Ok(realm)
    }

    /// Checks that the login may be sent to the token server at `realm`: it is on the registry's
    /// host or known to belong to the registry, or the user has the same login for its host.
    ///
    /// # Errors
    /// The token server is on any other host.
    fn check_may_get_login(&self, realm: &Url, found: &FoundLogin) -> Result<(), Failure> {
        let host = realm.host_str().unwrap_or_default();
        if self.registry.host_str() == Some(host)
            || TOKEN_SERVERS.contains(&(self.repository.registry.as_str(), host))
        {
            return Ok(());
        }
        let authority = match realm.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let at_realm = OciRepository {
            registry: authority.clone(),
            name: self.repository.name.clone(),
        };
        // A user who stored the same login for the server's own host trusts that host with it.
        if let Ok(Some(login_at_realm)) = self.logins.login_for(&at_realm)
            && login_at_realm.login == found.login
        {
            return Ok(());
        }
        let registry = self.registry.host_str().unwrap_or_default();
        Err(self.credentials_failure(&format!(
            "{registry} names a token server on the host {authority}, to which the login for {registry} is not sent \
             unless it is stored for that host, too"
        )))
    }

    fn token_request(
        &self,
        realm: &Url,
        challenge: &BearerChallenge,
    ) -> Result<RequestBuilder, Failure> {
        let mut url = realm.clone();
        {
            let mut query = url.query_pairs_mut();
            query.extend_pairs(challenge.service.iter().map(|service| ("service", service)));
            query.extend_pairs(
                self.scopes(challenge)
                    .split(' ')
                    .map(|scope| ("scope", scope)),
            );
        }
        self.client.request(Method::GET, url)
    }

    fn refresh_request(
        &self,
        realm: &Url,
        challenge: &BearerChallenge,
        refresh_token: &Token,
    ) -> Result<RequestBuilder, Failure> {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "refresh_token")
            .append_pair("client_id", CLIENT_ID)
            .extend_pairs(challenge.service.iter().map(|service| ("service", service)))
            .append_pair("scope", &self.scopes(challenge))
            .append_pair("refresh_token", refresh_token.reveal())
            .finish();
        let request = self.client.request(Method::POST, realm.clone())?;
        Ok(request
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form))
    }

    /// Scopes that the token must have. A push requests all of them at once, because the registry
    /// lists only the scope that the refused request needs.
    fn scopes(&self, challenge: &BearerChallenge) -> String {
        let name = &self.repository.name;
        match self.access {
            Access::Pull => challenge
                .scope
                .clone()
                .unwrap_or_else(|| format!("repository:{name}:pull")),
            Access::PullAndPush => format!("repository:{name}:pull,push"),
        }
    }

    /// A failure for a reason that the user must see.
    fn credentials_failure(&self, why: &str) -> Failure {
        let message = format!(
            "cannot log in to {} for the repository {}: {why}",
            self.repository.registry, self.repository
        );
        let error = Diagnostic::error(Code::Unauthorized, message);
        let error = match self.login {
            Some(found) => error.note(format!("the login comes from {}", found.origin)),
            None => error.note("there is no login for it, so an anonymous token was requested"),
        };
        Failure::permanent(RequestErrorKind::Credentials(
            error.help(login_help(self.repository)).into(),
        ))
    }
}
