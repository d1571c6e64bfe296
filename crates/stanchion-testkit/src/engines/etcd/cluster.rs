//! Three members that elect a leader among them.

use std::ops::Index;

use super::{ENGINE, Etcd};
use crate::engines::locate::{self, Skip};
use crate::engines::port::Port;

/// Three members on this machine, which elect a leader among them.
///
/// ```
/// # use stanchion_testkit::engines::EtcdCluster;
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let cluster = match EtcdCluster::try_start().await { Ok(cluster) => cluster, Err(skip) => return skip.report() };
/// let leader = cluster.leader().await;
/// cluster[leader].kill(); // the other two elect another one
/// assert_ne!(cluster.leader().await, leader);
/// # }
/// ```
#[derive(Debug)]
pub struct EtcdCluster([Etcd; 3]);

impl Etcd {
    /// Whether this member says that it leads.
    async fn leads(&self) -> bool {
        let Ok(status) = self.post("/v3/maintenance/status", "{}").await else { return false };
        let number = |name: &str| {
            let rest = status.split_once(&format!("\"{name}\":\""))?.1;
            Some(rest.split_once('"')?.0.to_owned())
        };
        number("leader").is_some_and(|leader| number("member_id") == Some(leader))
    }
}

impl EtcdCluster {
    /// Starts three members and waits until they have a leader.
    ///
    /// ```
    /// # use stanchion_testkit::engines::EtcdCluster;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # if let Err(skip) = EtcdCluster::try_start().await { return skip.report(); }
    /// let cluster = EtcdCluster::start().await;
    /// assert_eq!(cluster.url().matches(',').count(), 2);
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server is missing or does not become ready.
    pub async fn start() -> EtcdCluster {
        EtcdCluster::try_start().await.unwrap_or_else(|skip| panic!("{skip}"))
    }

    /// Like [`start`](EtcdCluster::start), for [`start_or_skip!`](crate::start_or_skip).
    ///
    /// ```
    /// # use stanchion_testkit::engines::EtcdCluster;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// match EtcdCluster::try_start().await {
    ///     Ok(cluster) => assert!(cluster[2].pid().is_some()),
    ///     Err(skip) => skip.report(),
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// When the server could exist here but does not, or does not become ready.
    pub async fn try_start() -> Result<EtcdCluster, Skip> {
        let program = locate::find(ENGINE, ENGINE)?;
        let peers = [Port::reserve(), Port::reserve(), Port::reserve()];
        let member = |(at, port): (usize, &Port)| format!("m{at}=http://127.0.0.1:{}", port.number());
        let cluster = peers.iter().enumerate().map(member).collect::<Vec<_>>().join(",");
        let launch = |name, peers| Etcd::options().launch(program.clone(), name, peers, &cluster);
        let [a, b, c] = peers;
        // Together, because none is ready without another one.
        let (a, b, c) = tokio::join!(launch("m0", a), launch("m1", b), launch("m2", c));
        Ok(EtcdCluster([a, b, c]))
    }

    /// The URL of all three.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::EtcdCluster, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let cluster = start_or_skip!(EtcdCluster);
    /// assert!(cluster.url().contains(&cluster[1].port().to_string()));
    /// # }
    /// ```
    pub fn url(&self) -> String {
        let hosts: Vec<_> = self.0.iter().map(|member| format!("127.0.0.1:{}", member.port())).collect();
        format!("etcd://{}", hosts.join(","))
    }

    /// Which member leads, as soon as one says so.
    ///
    /// ```
    /// # use stanchion_testkit::{engines::EtcdCluster, start_or_skip};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let cluster = start_or_skip!(EtcdCluster);
    /// assert!(cluster.leader().await < 3);
    /// # }
    /// ```
    ///
    /// # Panics
    /// When there is none within half a minute.
    pub async fn leader(&self) -> usize {
        let end = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
        while tokio::time::Instant::now() < end {
            for (at, member) in self.0.iter().enumerate() {
                if member.pid().is_some() && member.leads().await {
                    return at;
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("no leader; log of one member:\n{}", self.0[0].log());
    }
}

impl Index<usize> for EtcdCluster {
    type Output = Etcd;

    fn index(&self, at: usize) -> &Etcd {
        &self.0[at]
    }
}
