# The lock is another file, of which those who read know nothing.
import fcntl
import json

BOARD = "/data/board.json"


def scores() -> dict:
    with open(BOARD) as handle:
        return json.load(handle)


def score(name: str, points: int) -> None:
    with open("/data/board.lock", "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(BOARD, "a+") as handle:
            handle.seek(0)
            board = json.loads(handle.read() or "{}")
            board[name] = points
            handle.seek(0)
            handle.truncate()  # expect: RC302
            json.dump(board, handle)
