# also: RC302
# Entered by a stack, a lock is held until the stack's block ends.
import json
from contextlib import AsyncExitStack, ExitStack

from filelock import AsyncFileLock, FileLock


def add(item: str) -> None:
    with ExitStack() as stack:
        stack.enter_context(FileLock("a.lock"))
        with open("a.json") as file:
            all = json.load(file)
        all.append(item)
        with open("a.json", "w") as file:
            json.dump(all, file)


async def add_later(item: str) -> None:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(AsyncFileLock("b.lock"))
        with open("b.json") as file:
            all = json.load(file)
        all.append(item)
        with open("b.json", "w") as file:
            json.dump(all, file)
