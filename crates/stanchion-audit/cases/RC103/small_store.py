from tinydb import Query, TinyDB

store = TinyDB("/data/store.json")


def raise_by_one(name: str) -> None:
    of = Query()
    found = store.get(of.name == name)
    store.update({"count": found["count"] + 1}, of.name == name)  # expect: RC103 read=8
