# also: RC302
# What a parameter is stands inside of what is said about it.
import json
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI

app = FastAPI()


class Plain:
    def all(self) -> dict:
        return json.loads(Path("plain.json").read_text())

    def store(self, all: dict) -> None:
        Path("plain.json").write_text(json.dumps(all))


class Other:
    def all(self) -> dict:
        return json.loads(Path("other.json").read_text())

    def store(self, all: dict) -> None:
        Path("other.json").write_text(json.dumps(all))


OtherDep = Annotated[Other, Depends(Other)]


@app.post("/plain/{user}")
def in_place(user: str, plain: Annotated[Plain, Depends(Plain)]) -> None:
    book = plain.all()
    book[user] += 1
    plain.store(book)  # expect: RC101 read=33


@app.post("/other/{user}")
def by_name(user: str, other: OtherDep) -> None:
    book = other.all()
    book[user] += 1
    other.store(book)  # expect: RC101 read=40
