"""A guarded read-modify-write on a key of a NATS bucket: touch, add one, write. Standard library only.

usage: STANCHION_FENCE=5 STANCHION_LEASE_ID=00000000000000aa guard.py HOST PORT BUCKET KEY
Ends with 0 if written, 3 if a newer holder has been there.
"""

import base64
import json
import os
import socket
import sys

WRONG_SEQUENCE, NO_MESSAGE = 10071, 10037


class Nats:
    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port), timeout=5)
        self.file = self.socket.makefile("rb")
        self.file.readline()  # INFO
        inbox = "_INBOX.%s" % os.urandom(8).hex()
        self.inbox, self.sent = inbox, 0
        self.socket.sendall(b'CONNECT {"headers":true,"no_responders":true,"verbose":false}\r\nSUB %s.* 1\r\n' % inbox.encode())

    def ask(self, subject, payload, headers=None):
        """One request, and the JSON of its answer."""
        self.sent += 1
        reply = f"{self.inbox}.{self.sent}"
        block = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        block = ("NATS/1.0\r\n" + block + "\r\n").encode() if headers else b""
        words = ["HPUB" if headers else "PUB", subject, reply] + ([str(len(block))] if headers else [])
        line = " ".join(words + [str(len(block) + len(payload))])
        self.socket.sendall(line.encode() + b"\r\n" + block + payload + b"\r\n")
        while True:
            words = self.file.readline().split()
            if not words or words[0] == b"-ERR":
                raise RuntimeError(b" ".join(words).decode() or "the connection is gone")
            if words[0] == b"PING":
                self.socket.sendall(b"PONG\r\n")
            if words[0] in (b"MSG", b"HMSG"):
                body = self.file.read(int(words[-1]) + 2)[:-2]
                if words[0] == b"HMSG":
                    raise RuntimeError("nobody answers: is JetStream on, and is there such a bucket?")
                return json.loads(body)


class Guard:
    def __init__(self, nats, bucket, key, number, lease_id):
        self.nats, self.stream, self.subject = nats, f"KV_{bucket}", f"$KV.{bucket}.{key}"
        self.number, self.token = int(number), f"{int(number)}-{lease_id}"

    def last(self):
        """The value, its revision and its fence."""
        question = json.dumps({"last_by_subj": self.subject}).encode()
        answer = self.nats.ask(f"$JS.API.STREAM.MSG.GET.{self.stream}", question)
        if answer.get("error", {}).get("err_code") == NO_MESSAGE:
            return b"", 0, None
        if "error" in answer:
            raise RuntimeError(answer["error"]["description"])
        message = answer["message"]
        block = base64.b64decode(message.get("hdrs", "")).decode()
        headers = dict(line.split(": ", 1) for line in block.split("\r\n")[1:] if ": " in line)
        value = b"" if "KV-Operation" in headers else base64.b64decode(message.get("data", ""))
        return value, message["seq"], headers.get("Fence")

    def replace(self, revision, value):
        """Writes in the place of `revision`; the new one, or None if it is not the last any more."""
        headers = {"Nats-Expected-Last-Subject-Sequence": revision, "Fence": self.token}
        answer = self.nats.ask(self.subject, value, headers)
        if answer.get("error", {}).get("err_code") == WRONG_SEQUENCE:
            return None
        if "error" in answer:
            raise RuntimeError(answer["error"]["description"])
        return answer["seq"]

    def touch(self):
        """Raises the fence to our token and reads: (value, revision), or None if a newer holder has been here."""
        while True:
            value, revision, fence = self.last()
            if fence is not None and fence != self.token and int(fence.split("-")[0]) >= self.number:
                return None
            touched = self.replace(revision, value)
            if touched is not None:
                return value, touched


def main():
    host, port, bucket, key = sys.argv[1:5]
    nats = Nats(host, int(port))
    guard = Guard(nats, bucket, key, os.environ["STANCHION_FENCE"], os.environ["STANCHION_LEASE_ID"])
    touched = guard.touch()
    if touched is None:
        print("refused: a newer holder has been here")
        return 3
    value, revision = touched
    count = int(value or 0) + 1
    if guard.replace(revision, str(count).encode()) is None:
        print("refused: a newer holder came in between")
        return 3
    print(f"count is {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
