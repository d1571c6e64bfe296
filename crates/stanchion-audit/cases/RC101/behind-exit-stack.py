# also: RC302, RC105
# The stack has let the lock go before it is written.
import json
from contextlib import ExitStack

from filelock import FileLock


def add(item: str) -> None:
    with ExitStack() as stack:
        stack.enter_context(FileLock("a.lock"))
        with open("a.json") as file:
            all = json.load(file)
    all.append(item)
    with open("a.json", "w") as file:
        json.dump(all, file)  # expect: RC101 read=13
