"""A guarded read-modify-write on an etcd key: touch, add one, write. Standard library only.

usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa guard.py http://HOST:2379 KEY
Ends with 0 if written, 3 if a newer holder has been there, 4 if the answer to the write is lost: it may have run.
"""

import base64
import http.client
import json
import os
import sys
import urllib.request


def b64(text):
    return base64.b64encode(text.encode()).decode()


class Guard:
    def __init__(self, etcd, key, number, lease_id):
        self.etcd, self.key, self.fence = etcd, b64(key), b64(key + ".fence")
        # One width, so that etcd's comparison of bytes is that of the numbers.
        self.floor = b64(f"{int(number):020}")
        self.token = b64(f"{int(number):020}-{lease_id}")

    def txn(self, compare, success, failure=()):
        return {"compare": [compare], "success": list(success), "failure": list(failure)}

    def ask(self, txn):
        request = urllib.request.Request(self.etcd + "/v3/kv/txn", json.dumps(txn).encode())
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def is_ours(self):
        return {"key": self.fence, "target": "VALUE", "result": "EQUAL", "value": self.token}

    def touch(self):
        """Raises the fence to our token and reads, in one transaction: (touched, value)."""
        read = {"requestRange": {"key": self.key}}
        raised = [{"requestPut": {"key": self.fence, "value": self.token}}, read]
        below = {"key": self.fence, "target": "VALUE", "result": "LESS", "value": self.floor}
        absent = {"key": self.fence, "target": "CREATE", "result": "EQUAL", "createRevision": "0"}
        again = self.txn(self.is_ours(), [read])
        first = self.txn(absent, raised, [{"requestTxn": again}])
        answer = self.ask(self.txn(below, raised, [{"requestTxn": first}]))
        while not answer.get("succeeded"):
            if not answer.get("responses"):
                return False, None
            answer = answer["responses"][0]["response_txn"]
        found = answer["responses"][-1]["response_range"].get("kvs")
        return True, base64.b64decode(found[0]["value"]).decode() if found else None

    def write(self, value):
        """Writes if our token was the last to touch."""
        put = {"requestPut": {"key": self.key, "value": b64(value)}}
        return bool(self.ask(self.txn(self.is_ours(), [put])).get("succeeded"))


def main():
    guard = Guard(sys.argv[1], sys.argv[2], os.environ["STANCHION_FENCE"], os.environ["STANCHION_LEASE_ID"])
    touched, value = guard.touch()
    if not touched:
        print("refused: a newer holder has been here")
        return 3
    count = int(value or 0) + 1
    try:
        written = guard.write(str(count))
    except (OSError, http.client.HTTPException, ValueError) as error:
        print(f"unknown: the write may have run ({error}); touch again to see")
        return 4
    if not written:
        print("refused: a newer holder came in between")
        return 3
    print(f"count is {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
