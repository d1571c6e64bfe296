# also: RC302
import functools
import json
from pathlib import Path

CALLS = Path("/var/lib/tool/calls.json")


def counted(func):
    @functools.wraps(func)
    def wrapper(*args):
        calls = json.loads(CALLS.read_text())
        calls[func.__name__] = calls.get(func.__name__, 0) + 1
        CALLS.write_text(json.dumps(calls))  # expect: RC101 read=12
        return func(*args)

    return wrapper


def counted_as(name):
    def decorate(func):
        async def wrapper(*args):
            calls = json.loads(CALLS.read_text())
            calls[name] = calls.get(name, 0) + 1
            CALLS.write_text(json.dumps(calls))  # expect: RC101 read=23
            return await func(*args)

        return wrapper

    return decorate
