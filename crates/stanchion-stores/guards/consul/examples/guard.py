"""A guarded read-modify-write on a Consul key: touch, add one, write. Standard library only.

usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa guard.py AGENT PATH
Ends with 0 if written, 3 if a newer holder has been there.
"""

import base64
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request


class Consul:
    def __init__(self, agent):
        self.agent = agent

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.agent + path, data=data, method=method)
        request.add_header("X-Consul-Token", os.environ.get("CONSUL_HTTP_TOKEN", ""))
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return 404, None
            if error.code == 409:  # the transaction did nothing, and says why
                return 409, json.load(error)
            raise

    def get(self, key):
        status, found = self.ask("GET", f"/v1/kv/{urllib.parse.quote(key)}?consistent")
        return found[0] if status == 200 else None

    def txn(self, *operations):
        status, answer = self.ask("PUT", "/v1/txn", [{"KV": operation} for operation in operations])
        return [result["KV"] for result in answer["Results"] or []] if status == 200 else None


def text(pair):
    return base64.b64decode(pair["Value"] or "").decode()


def value(content):
    return base64.b64encode(content.encode()).decode()


def touch(consul, path, number, lease):
    """Raises the fence and reads in one transaction: (guard, data), or (None, floor)."""
    fence = f"{path}/fence"
    while True:
        seen = consul.get(fence)
        if seen:
            floor, owner = text(seen).split()
            if number < int(floor) or (number == int(floor) and lease != owner):
                return None, floor
            same = {"Verb": "check-index", "Key": fence, "Index": seen["ModifyIndex"]}
        else:
            same = {"Verb": "check-not-exists", "Key": fence}
        raised = {"Verb": "set", "Key": fence, "Value": value(f"{number} {lease}")}
        results = consul.txn(same, raised, {"Verb": "get-tree", "Key": f"{path}/"})
        if results is not None:
            found = {pair["Key"]: pair for pair in results}
            data = found.get(f"{path}/data")
            return found[fence]["ModifyIndex"], text(data) if data else None


def write(consul, path, guard, content):
    """Writes if nobody has touched it since; False, and nothing is written, if somebody has."""
    same = {"Verb": "check-index", "Key": f"{path}/fence", "Index": guard}
    return consul.txn(same, {"Verb": "set", "Key": f"{path}/data", "Value": value(content)}) is not None


def main():
    consul, path = Consul(sys.argv[1]), sys.argv[2]
    number, lease = int(os.environ["STANCHION_FENCE"]), os.environ["STANCHION_LEASE_ID"]
    guard, data = touch(consul, path, number, lease)
    if guard is None:
        print(f"refused: a newer holder (fence {data}) has been here")
        return 3
    count = int(data or 0) + 1
    if not write(consul, path, guard, str(count)):
        print("refused: a newer holder came in between")
        return 3
    print(f"count is {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
