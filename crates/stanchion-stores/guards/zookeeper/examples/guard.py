"""Adds one to a counter under a lock of Stanchion, checked by ZooKeeper in one step with the write.

    guard.py HOSTS BASE PATH        with STANCHION_LOCK and STANCHION_LEASE_ID; needs `pip install kazoo`
"""

import os
import re
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError


def lock_node(client, base, key, lease_id):
    """The node that exists as long as our lease, or None."""
    name = "".join(chr(b) if re.match(rb"[A-Za-z0-9_:@.-]", bytes([b])) else f"%{b:02X}" for b in key.encode())
    if name.startswith("."):
        name = "%2E" + name[1:]
    line = f"{base}/locks/{name}"
    client.sync(line)
    try:
        owners = client.get_children(line)
    except NoNodeError:
        return None
    return next((f"{line}/{owner}" for owner in owners if owner.endswith(lease_id)), None)


def main(hosts, base, path):
    client = KazooClient(hosts=hosts)
    client.start(timeout=10)
    try:
        lock = lock_node(client, base, os.environ["STANCHION_LOCK"], os.environ["STANCHION_LEASE_ID"])
        if lock is None:
            print("refused: the lock is not held any more")
            return 3
        client.ensure_path(path)
        client.sync(path)
        data, stat = client.get(path)
        count = int(data or b"0") + 1

        write = client.transaction()
        write.check(lock, 0)
        write.set_data(path, str(count).encode(), stat.version)
        answers = write.commit()
        if any(isinstance(answer, KazooException) for answer in answers):
            print("refused: the lock or the counter is another by now")
            return 3
        print(f"count is {count}")
        return 0
    finally:
        client.stop()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
