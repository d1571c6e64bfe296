//! The three ways to start an engine, which all of them have.

/// `start`, `try_start` and `options` of an engine whose options know how to start it.
macro_rules! starts {
    ($engine:ident, $options:ident, $about:literal) => {
        impl $engine {
            #[doc = concat!(" ", $about)]
            ///
            /// ```
            #[doc = concat!(" # use stanchion_testkit::engines::", stringify!($engine), ";")]
            /// # #[tokio::main(flavor = "current_thread")] async fn main() {
            #[doc = concat!(" # if let Err(skip) = ", stringify!($engine), "::try_start().await { return skip.report(); }")]
            #[doc = concat!(" let server = ", stringify!($engine), "::start().await;")]
            /// assert!(std::net::TcpStream::connect(server.addr()).is_ok());
            /// # }
            /// ```
            ///
            /// # Panics
            /// When the server is missing or does not become ready.
            pub async fn start() -> $engine {
                $engine::options().start().await
            }

            /// Like [`start`](Self::start), for [`start_or_skip!`](crate::start_or_skip).
            ///
            /// ```
            #[doc = concat!(" # use stanchion_testkit::engines::", stringify!($engine), ";")]
            /// # #[tokio::main(flavor = "current_thread")] async fn main() {
            #[doc = concat!(" match ", stringify!($engine), "::try_start().await {")]
            ///     Ok(server) => assert!(server.pid().is_some()),
            ///     Err(skip) => skip.report(),
            /// }
            /// # }
            /// ```
            ///
            /// # Panics
            /// When the server could exist here but does not, or does not become ready.
            pub async fn try_start() -> Result<$engine, $crate::engines::Skip> {
                $engine::options().try_start().await
            }

            /// Options for another kind of server.
            ///
            /// ```
            #[doc = concat!(" # use stanchion_testkit::engines::", stringify!($engine), ";")]
            /// # #[tokio::main(flavor = "current_thread")] async fn main() {
            #[doc = concat!(" # if let Err(skip) = ", stringify!($engine), "::try_start().await { return skip.report(); }")]
            #[doc = concat!(" let server = ", stringify!($engine), "::options().start().await;")]
            /// assert!(server.pid().is_some());
            /// # }
            /// ```
            pub fn options() -> $options {
                $options::default()
            }
        }
    };
}

pub(super) use starts;
