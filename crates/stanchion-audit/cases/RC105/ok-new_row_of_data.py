# A new row under a name that nobody else has; the other rows were only looked at.
import secrets
import sqlite3
import threading

from mcp.server.fastmcp import FastMCP
from pydantic import BaseModel, Field

mcp = FastMCP("hints")


class Hint(BaseModel):
    id: str
    about: str
    instead_of: list[str] = Field(default_factory=list)


class Hints:
    def __init__(self):
        self.lock = threading.RLock()
        self.db = sqlite3.connect("hints.db", check_same_thread=False)
        self.db.executescript("CREATE TABLE IF NOT EXISTS hints (id TEXT PRIMARY KEY, about TEXT, instead_of TEXT)")

    def about(self, about):
        with self.lock:
            rows = self.db.execute("SELECT * FROM hints WHERE about = ?", (about,)).fetchall()
        return [Hint(id=row["id"], about=row["about"]) for row in rows]

    def put(self, hint):
        with self.lock:
            self.db.execute(
                """INSERT INTO hints (id, about, instead_of) VALUES (:id, :about, :instead_of)
                   ON CONFLICT(id) DO UPDATE SET instead_of = excluded.instead_of""",
                {"id": hint.id, "about": hint.about, "instead_of": ",".join(hint.instead_of)},
            )
            self.db.commit()


hints = Hints()


@mcp.tool()
def give(about: str) -> str:
    old = sorted(hint.id for hint in hints.about(about))
    hint = Hint(id=f"h_{secrets.token_hex(4)}", about=about, instead_of=old)
    hints.put(hint)
    return hint.id
