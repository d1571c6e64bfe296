from pathlib import Path

import lancedb

db = lancedb.connect("./letters")
letters = db.open_table("letters")


def collect(folder: str) -> None:
    known = {row["path"] for row in letters.search().limit(10_000).to_list()}
    for file in Path(folder).glob("*.eml"):
        if str(file) not in known:
            letters.add([{"path": str(file), "text": file.read_text()}])  # expect: RC401 read=10


def renew(path: str, text: str) -> None:
    letters.delete(f"path = '{path}'")
    letters.add([{"path": path, "text": text}])  # expect: RC401 read=17


def table(name: str):
    if name in db.table_names():
        return db.open_table(name)
    return db.create_table(name, [{"path": "", "text": ""}], mode="overwrite")  # expect: RC401 read=22
