import os
from uuid import uuid4


def foo():
    return uuid4().hex


def bar():
    return str(os.getpid())


def save(text: str) -> None:
    temp = f"/data/state.{foo()}"
    with open(temp, "w") as file:
        file.write(text)
    os.replace(temp, "/data/state.json")


def keep(text: str) -> None:
    temp = "/data/kept." + bar()
    with open(temp, "w") as file:
        file.write(text)
    os.replace(temp, "/data/kept.json")
