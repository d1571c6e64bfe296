# The lock is another file, of which those who read know nothing; or it comes when the file is cut off already.
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


def reset() -> None:
    with open(BOARD, "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        json.dump({}, handle)  # expect: RC302
