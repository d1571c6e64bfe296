import secrets
import sqlite3
import threading

from pydantic import BaseModel

lock = threading.Lock()
db = sqlite3.connect("/data/events.db")


class Event(BaseModel):
    id: str
    project: str
    after: list[str] = []


def of_row(row) -> Event:
    return Event(id=row["id"], project=row["project"], after=row["after"].split(","))


def earlier(project: str) -> list:
    with lock:
        return [of_row(row).id for row in db.execute("SELECT * FROM events WHERE project = ?", (project,)).fetchall()]


def put(event: Event) -> None:
    with lock:
        db.execute(
            "INSERT INTO events (id, project, after) VALUES (?, ?, ?) "
            "ON CONFLICT(id) DO UPDATE SET after = excluded.after",
            (event.id, event.project, ",".join(event.after)),
        )
        db.commit()


def log(project: str) -> None:
    put(Event(id=secrets.token_hex(8), project=project, after=earlier(project)))
