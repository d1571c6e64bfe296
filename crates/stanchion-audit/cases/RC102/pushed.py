import sqlite3

db = sqlite3.connect("/data/purse.db")


def spend(purse: int, price: int) -> None:
    row = db.execute("SELECT coins FROM purses WHERE id = ?", (purse,)).fetchone()
    values = []
    values.append(row[0] - price)
    values.append(purse)
    db.execute("UPDATE purses SET coins = ? WHERE id = ?", values)  # expect: RC102 read=7
    db.commit()


def raise_all(sheet: int, columns: list[str]) -> None:
    row = db.execute("SELECT * FROM sheets WHERE id = ?", (sheet,)).fetchone()
    values = []
    for column in columns:
        values.append(row[column] * 2)
    values.append(sheet)
    db.execute("UPDATE sheets SET low = ?, high = ? WHERE id = ?", values)  # expect: RC102 read=16
    db.commit()
