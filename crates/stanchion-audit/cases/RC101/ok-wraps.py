# also: RC302
import fcntl
import functools
import json
from functools import update_wrapper, wraps

from filelock import FileLock
from flask import Flask
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("bees")
app = Flask(__name__)
LOCK = "/srv/bees.lock"


def add_to(path, name):
    with open(path) as file:
        bees = json.load(file)
    bees.append(name)
    with open(path, "w") as file:
        json.dump(bees, file)


def by_flock(function):
    @functools.wraps(function)
    def inner(*args, **named):
        with open(LOCK, "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                return function(*args, **named)
            finally:
                fcntl.flock(lock, fcntl.LOCK_UN)

    return inner


def with_file(path):
    def around(function):
        @wraps(function)
        async def inner(*args, **named):
            with FileLock(path):
                return await function(*args, **named)

        return inner

    return around


def renamed(function):
    def inner(name):
        with FileLock(LOCK):
            return function(name)

    return update_wrapper(inner, function)


def named_by_call(function):
    def inner(name):
        with FileLock(LOCK):
            return function(name)

    return wraps(function)(inner)


@mcp.tool()
@by_flock
def one(name: str) -> str:
    add_to("/srv/one.json", name)
    return "done"


@mcp.tool()
@with_file(LOCK)
async def two(name: str) -> str:
    add_to("/srv/two.json", name)
    return "done"


@renamed
def third(name):
    add_to("/srv/three.json", name)


@app.post("/three/<name>")
def three(name):
    third(name)
    return "done"


@named_by_call
def fourth(name):
    add_to("/srv/four.json", name)


@app.post("/four/<name>")
def four(name):
    fourth(name)
    return "done"
