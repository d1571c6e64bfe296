import sqlite3
import time

DB = "/var/lib/notes/notes.db"


class Notes:
    def __init__(self):
        db = sqlite3.connect(DB)
        self.known = {key: text for key, text in db.execute("SELECT key, text FROM notes").fetchall()}
        db.close()

    def has(self, text):
        return any(other == text for other in self.known.values())

    def add(self, text):
        if self.has(text):
            return None
        key = str(time.time_ns())
        db = sqlite3.connect(DB)
        db.execute("INSERT OR REPLACE INTO notes (key, text) VALUES (?, ?)", (key, text))  # expect: RC401 read=10
        db.commit()
        db.close()
        self.known[key] = text
        return key


from mcp.server.fastmcp import FastMCP

mcp = FastMCP("notes")
notes = Notes()


@mcp.tool()
def add(text: str) -> str:
    return notes.add(text) or "known"


mcp.run()
