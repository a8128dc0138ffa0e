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

use super::registry::{Request, Shared};

/// Answers the requests of a connection side by side. Of the ways in which an answer may be spoilt, there is none.
pub(crate) fn connection(stream: TcpStream, shared: &Arc<Shared>, tls: Arc<ServerConfig>) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    LocalSet::new().block_on(&runtime, async {
        let stream = TlsAcceptor::from(tls).accept(tokio::net::TcpStream::from_std(stream)?).await?;
        let mut connection = h2::server::handshake(stream).await.map_err(io::Error::other)?;
        while let Some(accepted) = connection.accept().await {
            let (request, response) = accepted.map_err(io::Error::other)?;
            task::spawn_local(answer(request, response, Arc::clone(shared)));
        }
        Ok(())
    })
}

/// A client that goes away in the middle is no concern of the server.
async fn answer(
    request: http::Request<h2::RecvStream>,
    mut response: SendResponse<Bytes>,
    shared: Arc<Shared>,
) -> Option<()> {
    let header = |name: &str| Some(request.headers().get(name)?.to_str().ok()?.to_owned());
    let request = Request {
        method: request.method().to_string(),
        host: request.uri().host().unwrap_or_default().to_lowercase(),
        path: request.uri().path_and_query().map(ToString::to_string).unwrap_or_default(),
        authorization: header("authorization"),
        user_agent: header("user-agent"),
        status: 0,
    };
    // Its delays sleep.
    let answered = task::spawn_blocking({
        let shared = Arc::clone(&shared);
        move || {
            let _guard = shared.enter();
            shared.answer(request)
        }
    });
    let answer = answered.await.ok()?;
    let head = http::Response::builder().status(answer.status).header("content-type", answer.content_type);
    let head = head.header("content-length", answer.body.len());
    let head = answer.headers.iter().fold(head, |head, (name, value)| head.header(*name, value)).body(()).ok()?;
    let mut body = response.send_response(head, false).ok()?;
    shared.count_sent(answer.body.len());
    body.send_data(answer.body.to_vec().into(), true).ok()
}
