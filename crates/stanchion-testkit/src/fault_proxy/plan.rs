//! Which fault meets which request.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

/// What happens to one request.
///
/// ```
/// # use std::{io::{Read as _, Write as _}, net::TcpStream};
/// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, engines::Redis, start_or_skip};
/// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
/// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
/// #     let mut answer = [0; 64];
/// #     match stream.read(&mut answer)? {
/// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
/// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let server = start_or_skip!(Redis);
/// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
/// let mut client = TcpStream::connect(proxy.addr()).unwrap();
/// proxy.set_plan(Plan::first("INCR", Fault::Duplicate));
/// assert_eq!(ask(&mut client, "INCR n").unwrap(), ":1"); // executed twice, answered once
/// assert_eq!(ask(&mut client, "INCR n").unwrap(), ":3");
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: the request and its reply pass.
    Deliver,
    /// The server gets the request and answers; the answer is lost and the connection is cut.
    LoseReply,
    /// The server never sees the request; the connection is cut once earlier replies are through.
    LoseRequest,
    /// The request, and all behind it on its connection, wait this long before they go to the server.
    Delay(Duration),
    /// The server gets the request at once; the reply, and all behind it, wait this long.
    DelayReply(Duration),
    /// The server gets the request twice; the client sees the first reply only. gRPC has no room for that: there it passes.
    Duplicate,
    /// The connection is reset at once, with everything that is on its way.
    Reset,
}

/// One request on its way to the server.
///
/// ```
/// # use std::{io::{Read as _, Write as _}, net::TcpStream};
/// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, engines::Redis, start_or_skip};
/// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
/// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
/// #     let mut answer = [0; 64];
/// #     match stream.read(&mut answer)? {
/// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
/// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let server = start_or_skip!(Redis);
/// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
/// let mut client = TcpStream::connect(proxy.addr()).unwrap();
/// // Each connection gets two requests through.
/// proxy.set_plan(Plan::on(|request| if request.index < 2 { Fault::Deliver } else { Fault::Reset }));
/// assert!(ask(&mut client, "PING").is_ok() && ask(&mut client, "PING").is_ok());
/// assert!(ask(&mut client, "PING").is_err());
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Message {
    /// The connection, counted from 0 in the order of acceptance.
    pub connection: u64,
    /// The request's place on its connection, counted from 0. Login exchanges of PostgreSQL do not count.
    pub index: u64,
    /// The request's place among all requests of the proxy, counted from 0.
    pub number: u64,
    /// The request as it was sent.
    pub bytes: Bytes,
}

impl Message {
    /// Whether the request holds this text; ASCII case does not matter.
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream};
    /// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, engines::Redis, start_or_skip};
    /// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
    /// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
    /// #     let mut answer = [0; 64];
    /// #     match stream.read(&mut answer)? {
    /// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
    /// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let server = start_or_skip!(Redis);
    /// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    /// let mut client = TcpStream::connect(proxy.addr()).unwrap();
    /// proxy.set_plan(Plan::on(|request| if request.contains("incr") { Fault::Reset } else { Fault::Deliver }));
    /// assert!(ask(&mut client, "PING").is_ok());
    /// assert!(ask(&mut client, "INCR n").is_err());
    /// # }
    /// ```
    pub fn contains(&self, text: &str) -> bool {
        self.bytes.windows(text.len().max(1)).any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
    }
}

/// How often each fault happens under [`Plan::seeded`]: probabilities between 0 and 1, together at most 1.
///
/// ```
/// # use stanchion_testkit::{Plan, Rates};
/// let plan = Plan::seeded(17, Rates { lose_reply: 0.05, reset: 0.05, ..Rates::default() });
/// # drop(plan);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// [`Fault::LoseReply`].
    pub lose_reply: f64,
    /// [`Fault::LoseRequest`].
    pub lose_request: f64,
    /// [`Fault::Delay`].
    pub delay: f64,
    /// [`Fault::DelayReply`].
    pub delay_reply: f64,
    /// [`Fault::Duplicate`].
    pub duplicate: f64,
    /// [`Fault::Reset`].
    pub reset: f64,
    /// Delays are drawn between zero and this.
    pub longest_delay: Duration,
}

impl Default for Rates {
    /// No faults; delays, once asked for, of up to 50 ms.
    fn default() -> Self {
        let longest_delay = Duration::from_millis(50);
        Rates {
            lose_reply: 0.0,
            lose_request: 0.0,
            delay: 0.0,
            delay_reply: 0.0,
            duplicate: 0.0,
            reset: 0.0,
            longest_delay,
        }
    }
}

/// Decides, request by request, which fault happens.
///
/// ```
/// # use std::{io::{Read as _, Write as _}, net::TcpStream};
/// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, engines::Redis, start_or_skip};
/// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
/// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
/// #     let mut answer = [0; 64];
/// #     match stream.read(&mut answer)? {
/// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
/// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let server = start_or_skip!(Redis);
/// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
/// let mut client = TcpStream::connect(proxy.addr()).unwrap();
/// proxy.set_plan(Plan::first("INCR", Fault::LoseRequest));
/// assert!(ask(&mut client, "INCR n").is_err());
/// let mut another = TcpStream::connect(proxy.addr()).unwrap();
/// assert_eq!(ask(&mut another, "INCR n").unwrap(), ":1"); // the server never saw the first
/// # }
/// ```
pub struct Plan(Box<dyn FnMut(&Message) -> Fault + Send>);

impl Plan {
    /// Everything passes.
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream};
    /// # use stanchion_testkit::{FaultProxy, Plan, Protocol, engines::Redis, start_or_skip};
    /// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
    /// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
    /// #     let mut answer = [0; 64];
    /// #     match stream.read(&mut answer)? {
    /// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
    /// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let server = start_or_skip!(Redis);
    /// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    /// let mut client = TcpStream::connect(proxy.addr()).unwrap();
    /// proxy.set_plan(Plan::pass()); // after a stretch of faults
    /// assert!(ask(&mut client, "PING").is_ok());
    /// # }
    /// ```
    pub fn pass() -> Plan {
        Plan::on(|_| Fault::Deliver)
    }

    /// Asks a function about each request, in the order in which the requests arrive.
    ///
    /// ```
    /// # use stanchion_testkit::{Fault, Plan};
    /// let plan = Plan::on(|request| if request.contains("COMMIT") { Fault::LoseReply } else { Fault::Deliver });
    /// # drop(plan);
    /// ```
    pub fn on(decide: impl FnMut(&Message) -> Fault + Send + 'static) -> Plan {
        Plan(Box::new(decide))
    }

    /// The fault happens once, to the first request that holds `text`; everything else passes.
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream};
    /// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, engines::Redis, start_or_skip};
    /// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
    /// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
    /// #     let mut answer = [0; 64];
    /// #     match stream.read(&mut answer)? {
    /// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
    /// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let server = start_or_skip!(Redis);
    /// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    /// let mut client = TcpStream::connect(proxy.addr()).unwrap();
    /// proxy.set_plan(Plan::first("INCR", Fault::LoseReply));
    /// assert!(ask(&mut client, "PING").is_ok());
    /// assert!(ask(&mut client, "INCR n").is_err());
    /// # }
    /// ```
    pub fn first(text: impl Into<String>, fault: Fault) -> Plan {
        let text = text.into();
        let mut pending = Some(fault);
        Plan::on(
            move |request| {
                if request.contains(&text) { pending.take().unwrap_or(Fault::Deliver) } else { Fault::Deliver }
            },
        )
    }

    /// The fault happens once, to the `n`th request from now on (counted from 0); for trying a fault at every step.
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream};
    /// # use stanchion_testkit::{Fault, FaultProxy, Plan, Protocol, engines::Redis, start_or_skip};
    /// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
    /// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
    /// #     let mut answer = [0; 64];
    /// #     match stream.read(&mut answer)? {
    /// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
    /// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let server = start_or_skip!(Redis);
    /// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    /// let mut client = TcpStream::connect(proxy.addr()).unwrap();
    /// proxy.set_plan(Plan::nth(1, Fault::LoseReply));
    /// assert!(ask(&mut client, "INCR n").is_ok());
    /// assert!(ask(&mut client, "INCR n").is_err());
    /// # }
    /// ```
    pub fn nth(n: u64, fault: Fault) -> Plan {
        let mut seen = 0;
        Plan::on(move |_| {
            seen += 1;
            if seen == n + 1 { fault } else { Fault::Deliver }
        })
    }

    /// Faults drawn from a seed. The draw depends on the seed, the connection and the place on it, not on how
    /// connections interleave, so a seed gives each connection the same fate in every run.
    ///
    /// ```
    /// # use std::{io::{Read as _, Write as _}, net::TcpStream};
    /// # use stanchion_testkit::{FaultProxy, Plan, Protocol, Rates, engines::Redis, start_or_skip};
    /// # fn ask(stream: &mut TcpStream, request: &str) -> std::io::Result<String> {
    /// #     stream.write_all(format!("{request}\r\n").as_bytes())?;
    /// #     let mut answer = [0; 64];
    /// #     match stream.read(&mut answer)? {
    /// #         0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
    /// #         n => Ok(String::from_utf8_lossy(&answer[..n]).trim_end().to_owned()),
    /// #     }
    /// # }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # let server = start_or_skip!(Redis);
    /// # let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    /// let mut fates = Vec::new();
    /// for _ in 0..2 {
    ///     let proxy = FaultProxy::start(server.addr(), Protocol::Resp).await;
    ///     proxy.set_plan(Plan::seeded(17, Rates { lose_reply: 0.2, ..Rates::default() }));
    ///     let mut client = TcpStream::connect(proxy.addr()).unwrap();
    ///     fates.push((0..20).take_while(|_| ask(&mut client, "PING").is_ok()).count());
    /// }
    /// assert_eq!(fates[0], fates[1]); // as many requests pass before the first loss
    /// # }
    /// ```
    pub fn seeded(seed: u64, rates: Rates) -> Plan {
        Plan::on(move |request| {
            let draw = mix(mix(seed ^ mix(request.connection)) ^ request.index);
            rates.pick(fraction(draw), fraction(mix(draw)))
        })
    }

    pub(super) fn decide(&mut self, request: &Message) -> Fault {
        (self.0)(request)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plan")
    }
}

impl Rates {
    fn pick(&self, mut draw: f64, amount: f64) -> Fault {
        let wait = self.longest_delay.mul_f64(amount);
        let choices = [
            (self.lose_reply, Fault::LoseReply),
            (self.lose_request, Fault::LoseRequest),
            (self.delay, Fault::Delay(wait)),
            (self.delay_reply, Fault::DelayReply(wait)),
            (self.duplicate, Fault::Duplicate),
            (self.reset, Fault::Reset),
        ];
        for (rate, fault) in choices {
            if draw < rate {
                return fault;
            }
            draw -= rate;
        }
        Fault::Deliver
    }
}

/// `SplitMix64`: one multiplication chain that spreads neighbouring inputs over all 64 bits.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn fraction(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(connection: u64, index: u64) -> Message {
        Message { connection, index, number: 0, bytes: Bytes::from_static(b"*1\r\n$4\r\nPING\r\n") }
    }

    #[test]
    fn a_seed_repeats_and_its_rates_are_kept() {
        let rates = Rates { lose_reply: 0.1, delay: 0.2, ..Rates::default() };
        let fates = |seed| {
            let mut plan = Plan::seeded(seed, rates);
            (0..10_000).map(|n| plan.decide(&request(n / 100, n % 100))).collect::<Vec<_>>()
        };
        assert_eq!(fates(1), fates(1));
        assert_ne!(fates(1), fates(2));
        let lost = fates(3).iter().filter(|fault| **fault == Fault::LoseReply).count();
        let delayed = fates(3).iter().filter(|fault| matches!(fault, Fault::Delay(_))).count();
        assert!((900..1100).contains(&lost) && (1850..2150).contains(&delayed), "{lost} {delayed}");
    }

    #[test]
    fn scripted_faults_happen_once() {
        let mut first = Plan::first("ping", Fault::Reset);
        assert_eq!([first.decide(&request(0, 0)), first.decide(&request(0, 1))], [Fault::Reset, Fault::Deliver]);
        let mut second = Plan::nth(1, Fault::Reset);
        let fates = [0, 1, 2].map(|n| second.decide(&request(n, 0)));
        assert_eq!(fates, [Fault::Deliver, Fault::Reset, Fault::Deliver]);
    }
}
