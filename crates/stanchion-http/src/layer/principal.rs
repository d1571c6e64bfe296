//! Who asks: records of one principal are unknown to every other.

use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderName, HeaderValue};
use stanchion_core::Fingerprint;

use crate::header::only;

/// How to tell who asks. There is no default: a guess would show one caller's answer to another.
///
/// ```
/// use stanchion_http::layer::Principal;
/// #[derive(Clone)]
/// struct User(String); // put into the request's extensions by your authentication
/// let _by_user = Principal::new(|request| request.extensions.get::<User>().map(|user| user.0.clone()));
/// ```
#[derive(Clone)]
pub struct Principal(Arc<Name>);

type Name = dyn Fn(&Parts) -> Option<String> + Send + Sync;

impl Principal {
    /// As this function says; `None` refuses the request.
    ///
    /// ```
    /// # use stanchion_http::layer::Principal;
    /// let _by_host = Principal::new(|request| request.uri.host().map(str::to_owned));
    /// ```
    pub fn new(name: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(name))
    }

    /// The value of a header that something **trusted** in front of us sets, such as `x-user-id`. A caller that can set
    /// it can read what others were answered.
    ///
    /// ```
    /// # use stanchion_http::layer::Principal;
    /// let _by_user = Principal::header(http::HeaderName::from_static("x-user-id"));
    /// ```
    #[must_use]
    pub fn header(name: HeaderName) -> Self {
        Self::new(move |request| value(request, &name).and_then(|value| String::from_utf8(value.to_vec()).ok()))
    }

    /// Who knows this secret, such as the value of `authorization`. Only a digest of it is kept. Another token of the
    /// same user is another principal.
    ///
    /// ```
    /// # use stanchion_http::layer::Principal;
    /// let _by_token = Principal::secret(http::header::AUTHORIZATION);
    /// ```
    #[must_use]
    pub fn secret(name: HeaderName) -> Self {
        Self::new(move |request| value(request, &name).map(|value| Fingerprint::of_bytes(value).to_string()))
    }

    /// One for all callers, where all of them may see each other's answers.
    ///
    /// ```
    /// # use stanchion_http::layer::Principal;
    /// let _single = Principal::everyone("internal");
    /// ```
    pub fn everyone(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::new(move |_| Some(name.clone()))
    }

    pub(super) fn of(&self, request: &Parts) -> Option<String> {
        (self.0)(request).filter(|name| !name.is_empty())
    }
}

fn value<'r>(request: &'r Parts, name: &HeaderName) -> Option<&'r [u8]> {
    only(&request.headers, name).ok()?.map(HeaderValue::as_bytes).filter(|value| !value.is_empty())
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Principal")
    }
}
