from tinydb import Query, TinyDB

store = TinyDB("/data/store.json")


def rename(old: str, new: str) -> bool:
    of = Query()
    found = store.get(of.name == old)
    store.update({"name": new}, of.name == old)
    return found is not None
