//! Several servers on one file, all writing at once.

use std::path::Path;
use std::sync::Barrier;
use std::time::Instant;

use super::call::{Call, Request};
use super::graph::Graph;
use super::results::{Column, Round};
use super::server::Server;
use super::subject::How;
use super::table::kept;
use crate::histogram::Histogram;
use crate::{Fault, Outcome};

pub(super) fn measure(how: &How, file: &Path, graph: Graph, processes: u64, writes: u64) -> Outcome<Round> {
    let start = |_| Server::start(how.command(file).ok_or("not a server")?);
    let servers = (0..processes).map(start).collect::<Outcome<Vec<_>>>()?;
    // One more than there are servers: whoever takes the time.
    let together = Barrier::new(servers.len() + 1);
    let (wall, times) = std::thread::scope(|scope| -> Outcome<_> {
        let write = |process, mut server: Server| {
            let together = &together;
            move || -> Outcome<(Histogram, Server)> {
                let mut times = Histogram::default();
                together.wait();
                for n in 0..writes {
                    let request = Request { call: Call::CreateEntities, graph, process, n, made: 0 };
                    times.record(server.call(&request)?);
                }
                Ok((times, server))
            }
        };
        let threads: Vec<_> = (0..).zip(servers).map(|(n, server)| scope.spawn(write(n, server))).collect();
        together.wait();
        let started = Instant::now();
        let ended: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        // The servers are still there: their end is not a part of it.
        let wall = started.elapsed();
        let mut times = Histogram::default();
        for done in ended {
            times.merge(&done.map_err(|_| Fault::from("a thread panicked"))??.0);
        }
        Ok((wall, times))
    })?;
    let mut round = Round::default();
    round.add(Call::CreateEntities, times);
    round.numbers.insert(Column::Wall, wall.as_secs_f64() * 1e6);
    #[expect(clippy::cast_precision_loss, reason = "a thousand writes")]
    round.numbers.insert(Column::Kept, kept(file)? as f64);
    Ok(round)
}
