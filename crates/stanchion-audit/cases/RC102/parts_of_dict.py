"""The columns are the keys of a dictionary, and their values what was read and changed."""
import sqlite3


def water(path: str, plant: int, litres: float) -> None:
    db = sqlite3.connect(path)
    row = db.execute("SELECT litres, log FROM plants WHERE id = ?", (plant,)).fetchone()
    new = {"log": row[1] + f"\n{litres}"}
    if litres > 0:
        new["litres"] = row[0] + litres
    names = ", ".join(f"{name} = ?" for name in new)
    db.execute(f"UPDATE plants SET {names} WHERE id = ?", list(new.values()) + [plant])  # expect: RC102 read=7
    db.commit()
