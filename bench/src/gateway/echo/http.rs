//! The same server as Streamable HTTP with JSON answers.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::Echo;
use crate::Outcome;
use crate::worker::on_runtime;

pub(super) fn main(address: SocketAddr) -> Outcome {
    on_runtime(async {
        let listener = TcpListener::bind(address).await?;
        let echo = Arc::new(Echo::default());
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let echo = Arc::clone(&echo);
            let service = service_fn(move |request| serve(Arc::clone(&echo), request));
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::spawn(async move {
                // A client that goes away is no fault of the server.
                connection.await.ok();
            });
        }
    })
}

async fn serve(echo: Arc<Echo>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
    }
    let Ok(body) = request.into_body().collect().await else { return Ok(empty(StatusCode::BAD_REQUEST)) };
    let mut answer = Vec::with_capacity(256);
    match echo.answer(&body.to_bytes(), &mut answer) {
        Ok(true) => {
            let mut response = Response::new(Full::from(answer));
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
            Ok(response)
        }
        Ok(false) => Ok(empty(StatusCode::ACCEPTED)),
        Err(_) => Ok(empty(StatusCode::BAD_REQUEST)),
    }
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
