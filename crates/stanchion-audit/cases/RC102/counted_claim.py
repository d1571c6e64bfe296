import sqlite3

db = sqlite3.connect("/data/parcels.db")
db.row_factory = sqlite3.Row


def next_parcel(courier: str) -> int | None:
    for parcel in db.execute("SELECT * FROM parcels WHERE state = 'ready'").fetchall():
        if parcel["heavy"]:
            continue
        db.execute(  # expect: RC102 read=8
            "UPDATE parcels SET state = 'out', courier = ?, trips = trips + 1 WHERE id = ?", (courier, parcel["id"])
        )
        db.commit()
        return parcel["id"]
    return None
