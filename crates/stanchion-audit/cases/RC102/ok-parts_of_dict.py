"""The same, where the values come from the caller: of the row only its key is used."""
import sqlite3


def describe(path: str, plant: int, name: str | None, place: str | None) -> None:
    db = sqlite3.connect(path)
    row = db.execute("SELECT rowid, litres FROM plants WHERE id = ?", (plant,)).fetchone()
    if row is None:
        raise KeyError(plant)
    new = {}
    if name:
        new["name"] = name
    if place:
        new["place"] = place
    names = ", ".join(f"{column} = ?" for column in new)
    db.execute(f"UPDATE plants SET {names} WHERE rowid = ?", list(new.values()) + [row[0]])
    db.execute(f"UPDATE plants SET {names}, seen = :seen WHERE rowid = :key", {**new, "seen": 1, "key": row[0]})
    parts, given = [], []
    if name:
        parts.append("name = ?")
        given.append(name)
    if parts:
        given.append(row[0])
        db.execute(f"UPDATE plants SET {', '.join(parts)} WHERE rowid = ?", given)
    db.commit()
