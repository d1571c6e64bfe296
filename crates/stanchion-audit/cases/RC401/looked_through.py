# Rows are looked through one by one, in all the ways there are.
import sqlite3
from difflib import SequenceMatcher

db = sqlite3.connect("/data/notes.db")


def by_loop(title: str, body: str) -> str:
    rows = db.execute("SELECT id, title FROM notes").fetchall()
    for number, known in rows:
        if known.lower() == title.lower():
            return f"there already: {number}"
    db.execute("INSERT INTO notes (title, body) VALUES (?, ?)", (title, body))  # expect: RC401 read=9
    db.commit()
    return "added"


def by_raise(title: str, body: str) -> None:
    for row in db.execute("SELECT title FROM topics"):
        if row[0] == title:
            raise ValueError("there already")
    db.execute("INSERT INTO topics (title, body) VALUES (?, ?)", (title, body))  # expect: RC401 read=19
    db.commit()


def by_any(title: str) -> None:
    rows = db.execute("SELECT title FROM marks").fetchall()
    if any(row[0] == title for row in rows):
        return
    db.execute("INSERT INTO marks (title) VALUES (?)", (title,))  # expect: RC401 read=27
    db.commit()


def by_next(title: str) -> None:
    rows = db.execute("SELECT title FROM pages").fetchall()
    found = next((row for row in rows if row[0] == title), None)
    if found is None:
        db.execute("INSERT INTO pages (title) VALUES (?)", (title,))  # expect: RC401 read=35
        db.commit()


def by_flag(title: str) -> None:
    found = False
    for row in db.execute("SELECT title FROM books").fetchall():
        if row[0] == title:
            found = True
            break
    if not found:
        db.execute("INSERT INTO books (title) VALUES (?)", (title,))  # expect: RC401 read=44
        db.commit()


def by_likeness(title: str) -> None:
    for row in db.execute("SELECT title FROM songs").fetchall():
        if SequenceMatcher(None, row[0], title).ratio() > 0.9:
            return
    db.execute("INSERT INTO songs (title) VALUES (?)", (title,))  # expect: RC401 read=54
    db.commit()


def by_each(titles: list[str]) -> None:
    rows = db.execute("SELECT title FROM films").fetchall()
    for title in titles:
        same = [row for row in rows if row[0] == title]
        if same:
            continue
        db.execute("INSERT INTO films (title) VALUES (?)", (title,))  # expect: RC401 read=62
    db.commit()


def by_else(title: str) -> None:
    for row in db.execute("SELECT title FROM poems").fetchall():
        if row[0] == title:
            break
    else:
        db.execute("INSERT INTO poems (title) VALUES (?)", (title,))  # expect: RC401 read=72
        db.commit()


def by_set(title: str) -> None:
    known = {row[0] for row in db.execute("SELECT title FROM plays")}
    if title in known:
        return
    db.execute("INSERT INTO plays (title) VALUES (?)", (title,))  # expect: RC401 read=81
    db.commit()
