"""A guarded read-modify-write on a Redis hash: touch, add one, write. Standard library only.

usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa guard.py HOST PORT KEY
Ends with 0 if written, 3 if a newer holder has been there.
"""

import os
import pathlib
import socket
import sys

GUARD = pathlib.Path(__file__).parent.parent


class Redis:
    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port), timeout=5)
        self.file = self.socket.makefile("rb")

    def call(self, *words):
        parts = [str(word).encode() for word in words]
        request = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)
        self.socket.sendall(request)
        return self.answer()

    def answer(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode()

    def guard(self, script, key, *arguments):
        return self.call("EVAL", (GUARD / script).read_text(), 1, key, *arguments)


def main():
    host, port, key = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    token = os.environ["STANCHION_FENCE"], os.environ["STANCHION_LEASE_ID"]
    redis = Redis(host, port)

    touched, *rest = redis.guard("touch.lua", key, *token)
    if not touched:
        print(f"refused: a newer holder (fence {rest[0]}) has been here")
        return 3
    fields = dict(zip(rest[::2], rest[1::2]))
    count = int(fields.get("count", 0)) + 1

    written, *floor = redis.guard("write.lua", key, *token, "count", count)
    if not written:
        print(f"refused: a newer holder (fence {floor[0]}) came in between")
        return 3
    print(f"count is {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
