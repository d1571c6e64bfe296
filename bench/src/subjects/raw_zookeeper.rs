//! zookeeper-client without our lock: an ephemeral node in a line, its own lock recipe, and a hop over a watch.

use zookeeper_client::{Acls, Client as Session, CreateMode, CreateOptions, LockOptions, LockPrefix, OwnedLockClient};

use super::address;
use super::hop::{Player, play};
use crate::Outcome;
use crate::job::{Job, Tally};
use crate::worker::{Client, on_runtime, run_tasks};

const PERSISTENT: CreateOptions<'static> = CreateMode::Persistent.with_acls(Acls::anyone_all());
const IN_LINE: CreateOptions<'static> = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());

async fn connect(job: &Job) -> Outcome<Session> {
    Ok(Session::connect(address(job)?).await?)
}

/// Makes a node, unless somebody did.
async fn ensure(session: &Session, path: &str) -> Outcome {
    match session.create(path, b"", &PERSISTENT).await {
        Ok(_) | Err(zookeeper_client::Error::NodeExists) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

struct Line {
    session: Session,
    parent: String,
}

impl Client for Line {
    type Held = String;

    async fn take(&mut self) -> Outcome<String> {
        let prefix = format!("{}/n-", self.parent);
        let (_, number) = self.session.create(&prefix, b"owner", &IN_LINE).await?;
        let (children, _) = self.session.get_children(&self.parent).await?;
        if children.len() == 1 { Ok(format!("{prefix}{number}")) } else { Err("not alone".into()) }
    }

    async fn give(&mut self, node: String) -> Outcome {
        Ok(self.session.delete(&node, None).await?)
    }
}

pub(super) fn line(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let session = connect(job).await?;
        let mut clients = Vec::new();
        for task in 0..job.tasks {
            let parent = format!("/{}", job.key_of(task));
            ensure(&session, &parent).await?;
            clients.push(Line { session: session.clone(), parent });
        }
        run_tasks(job, clients).await
    })
}

struct Recipe {
    session: Session,
    parent: String,
}

impl Client for Recipe {
    type Held = OwnedLockClient;

    async fn take(&mut self) -> Outcome<OwnedLockClient> {
        let options = LockOptions::new(Acls::anyone_all());
        let prefix = LockPrefix::new_curator(&self.parent, "latch-")?;
        Ok(self.session.lock(prefix, b"owner", options).await?.into_owned())
    }

    async fn give(&mut self, lock: OwnedLockClient) -> Outcome {
        // That is how it is given back: the request is sent, and nobody waits for its answer.
        drop(lock);
        Ok(())
    }
}

pub(super) fn recipe(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let session = connect(job).await?;
        let mut clients = Vec::new();
        for task in 0..job.tasks {
            let parent = format!("/{}", job.key_of(task));
            ensure(&session, &parent).await?;
            clients.push(Recipe { session: session.clone(), parent });
        }
        run_tasks(job, clients).await
    })
}

struct Hop {
    session: Session,
    watcher: Option<zookeeper_client::OneshotWatcher>,
    ear: String,
    other: String,
    key: String,
}

impl Hop {
    async fn listen(&mut self) -> Outcome {
        let (_, _, watcher) = self.session.get_and_watch_data(&self.ear).await?;
        self.watcher = Some(watcher);
        Ok(())
    }
}

impl Player for Hop {
    async fn call(&mut self) -> Outcome {
        self.session.set_data(&self.other, b"next", None).await?;
        Ok(())
    }

    async fn hear(&mut self) -> Outcome {
        self.watcher.take().ok_or("no watch")?.changed().await;
        Ok(())
    }

    async fn write(&mut self) -> Outcome {
        // A watch fires once: it is set again before the other side is called.
        self.listen().await?;
        self.session.set_data(&self.key, b"taken", None).await?;
        Ok(())
    }
}

pub(super) fn hop(job: &Job) -> Outcome<Tally> {
    on_runtime(async {
        let session = connect(job).await?;
        let [ear, other] = [job.process, 1 - job.process].map(|process| format!("/{}-ear-{process}", job.key));
        let key = format!("/{}", job.key);
        for path in [&ear, &other, &key] {
            ensure(&session, path).await?;
        }
        let mut hop = Hop { session, watcher: None, ear, other, key };
        hop.listen().await?;
        play(job, hop).await
    })
}
