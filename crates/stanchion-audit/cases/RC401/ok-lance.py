import lancedb
from filelock import FileLock

db = lancedb.connect("./letters")
letters = db.open_table("letters")
drafts = db.open_table("drafts")


def renew(path: str, text: str) -> None:
    with FileLock("letters.lock"):
        letters.delete(f"path = '{path}'")
        letters.add([{"path": path, "text": text}])


def send(path: str, text: str) -> None:
    drafts.delete(f"path = '{path}'")
    letters.add([{"path": path, "text": text}])


def table(name: str):
    if name in db.table_names():
        return db.open_table(name)
    return db.create_table(name, [{"path": "", "text": ""}])


def put(path: str, text: str) -> None:
    letters.merge_insert("path").when_matched_update_all().when_not_matched_insert_all().execute([{"path": path, "text": text}])
