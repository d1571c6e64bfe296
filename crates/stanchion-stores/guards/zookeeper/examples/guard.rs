//! A write that ZooKeeper checks against a lock of Stanchion, in one step.

use zookeeper_client::{Client, Error};

/// The node that exists as long as our lease. `line` is `/stanchion/locks/KEY`, with the key as the name of a node.
pub async fn lock_node(client: &Client, line: &str, lease_id: &str) -> Result<String, Error> {
    client.sync(line).await?;
    let owners = client.list_children(line).await?;
    let own = owners.into_iter().find(|owner| owner.ends_with(lease_id));
    own.map(|owner| format!("{line}/{owner}")).ok_or(Error::NoNode)
}

/// Adds one to the counter at `path`, which was read as `count` and `version`. [`Error::NoNode`] if the lock is not held any
/// more: then nothing is written.
pub async fn write(client: &Client, lock: &str, path: &str, count: u32, version: i32) -> Result<(), Error> {
    let committed = {
        let mut writer = client.new_multi_writer();
        writer.add_check_version(lock, 0)?;
        writer.add_set_data(path, (count + 1).to_string().as_bytes(), Some(version))?;
        writer.commit()
    };
    committed.await?;
    Ok(())
}
