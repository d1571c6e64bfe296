import sqlite3

import requests

DB = "/var/lib/pages/pages.db"


def page(url: str) -> str:
    db = sqlite3.connect(DB)
    db.execute("CREATE TABLE IF NOT EXISTS pages (id INTEGER, url TEXT PRIMARY KEY, body TEXT)")
    row = db.execute("SELECT body FROM pages WHERE url = ?", (url,)).fetchone()
    if row:
        return row[0]
    body = requests.get(url).text
    db.execute("INSERT OR REPLACE INTO pages (url, body) VALUES (?, ?)", (url, body))
    db.commit()
    return body


def seen(key: str, body: str) -> None:
    db = sqlite3.connect(DB)
    if db.execute("SELECT 1 FROM marks WHERE key = ?", (key,)).fetchone() is None:
        db.execute("INSERT OR REPLACE INTO marks (key, body) VALUES (?, ?)", (key, body))
        db.commit()
