"""What is set does not depend on what was there: whoever finds it so already has nothing to do."""
import sqlite3

db = sqlite3.connect("/data/lamps.db")
db.row_factory = sqlite3.Row


def colour(lamp: int, tone: str) -> None:
    found = db.execute("SELECT * FROM lamps WHERE id = ?", (lamp,)).fetchone()
    if found is None or found["tone"] == tone:
        return
    db.execute("UPDATE lamps SET tone = ? WHERE id = ?", (tone, lamp))
    db.commit()
