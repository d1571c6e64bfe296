# also: RC302
import json
from pathlib import Path


class Books:
    def __init__(self, place):
        self.place = place

    def load(self):
        return json.loads(self.place.read_text())

    def save(self, books):
        self.place.write_text(json.dumps(books))  # expect: RC101 read=11


def add(books, given):
    all = books.load()
    all.append(given["title"])
    books.save(all)


def titles(books, given):
    return books.load()


WAYS = {"add": add, "titles": titles}


def call(way: str, given: dict):
    act = WAYS.get(way)
    if act is None:
        raise KeyError(way)
    return act(Books(Path("/data/books.json")), given)
