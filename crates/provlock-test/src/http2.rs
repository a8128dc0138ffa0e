//! Connections that speak HTTP/2, as the public registries do.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use bytes::Bytes;
use h2::server::SendResponse;
use rustls::ServerConfig;
use tokio::runtime;
use tokio::task::{self, LocalSet};
use tokio_rustls::TlsAcceptor;

use crate::message::{Request, without_default_port};
use crate::shared::Shared;

/// Answers the requests of a connection in parallel. Every response is sent whole, and the bodies
/// of requests are not read.
pub(crate) fn connection(
    stream: TcpStream,
    shared: &Arc<Shared>,
    tls: Arc<ServerConfig>,
) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    LocalSet::new().block_on(&runtime, async {
        let stream = TlsAcceptor::from(tls)
            .accept(tokio::net::TcpStream::from_std(stream)?)
            .await?;
        let mut connection = h2::server::handshake(stream)
            .await
            .map_err(io::Error::other)?;
        while let Some(accepted) = connection.accept().await {
            let (request, response) = accepted.map_err(io::Error::other)?;
            task::spawn_local(answer(request, response, Arc::clone(shared)));
        }
        Ok(())
    })
}

/// A client that goes away in the middle is not the server's concern.
async fn answer(
    request: http::Request<h2::RecvStream>,
    mut sender: SendResponse<Bytes>,
    shared: Arc<Shared>,
) -> Option<()> {
    let request = parsed(&request);
    // Its delays sleep.
    let answered = task::spawn_blocking({
        let shared = Arc::clone(&shared);
        move || {
            let _active = shared.enter();
            shared.answer(request)
        }
    });
    let response = answered.await.ok()?;
    let head = http::Response::builder()
        .status(response.status)
        .header("content-length", response.body.len());
    let head = response
        .headers
        .iter()
        .fold(head, |head, (name, value)| head.header(*name, value))
        .body(())
        .ok()?;
    let mut body = sender.send_response(head, false).ok()?;
    shared.count_sent(response.body.len());
    body.send_data(response.body.to_vec().into(), true).ok()
}

fn parsed(request: &http::Request<h2::RecvStream>) -> Request {
    let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (
            name.to_string(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    };
    let target = request
        .uri()
        .path_and_query()
        .map_or("", |target| target.as_str());
    let headers = request.headers().iter().map(header).collect();
    let host = request
        .uri()
        .authority()
        .map_or("", |authority| authority.as_str())
        .to_lowercase();
    Request {
        host: without_default_port(&host).to_owned(),
        ..Request::new(request.method().as_str(), target, headers)
    }
}
