# Rows are looked through for something else than the new one, or while nobody else can write, or the key refuses a second one.
import sqlite3

db = sqlite3.connect("/data/notes.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS plays (title TEXT PRIMARY KEY)")


def every_one_is_whole(title: str) -> None:
    for row in db.execute("SELECT body FROM notes").fetchall():
        if not row[0]:
            raise RuntimeError("damaged")
    db.execute("INSERT INTO notes (title, body) VALUES (?, '-')", (title,))


def parents_are_there(title: str, parents: list[int]) -> None:
    for parent in parents:
        row = db.execute("SELECT id FROM topics WHERE id = ?", (parent,)).fetchone()
        if row is None:
            raise KeyError(parent)
    db.execute("INSERT INTO topics (title) VALUES (?)", (title,))


def of_another_table(title: str) -> None:
    for row in db.execute("SELECT title FROM banned").fetchall():
        if row[0] == title:
            raise ValueError(title)
    db.execute("INSERT INTO pages (title) VALUES (?)", (title,))


def alone(title: str) -> None:
    db.execute("BEGIN IMMEDIATE")
    for row in db.execute("SELECT title FROM books").fetchall():
        if row[0] == title:
            db.execute("ROLLBACK")
            return
    db.execute("INSERT INTO books (title) VALUES (?)", (title,))
    db.execute("COMMIT")


def by_key(title: str) -> None:
    for row in db.execute("SELECT title FROM plays").fetchall():
        if row[0] == title:
            return
    db.execute("INSERT INTO plays (title) VALUES (?)", (title,))


def counts(title: str) -> int:
    same = 0
    for row in db.execute("SELECT title FROM films").fetchall():
        if row[0] != title:
            continue
        same += 1
    db.execute("INSERT INTO films (title) VALUES (?)", (title,))
    return same
