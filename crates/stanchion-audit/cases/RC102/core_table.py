# also: RC401
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, insert, select, text, update

engine = create_engine("postgresql://localhost/seats")
seats = Table("seats", MetaData(), Column("event", String), Column("free", Integer))


def by_column(event: str, count: int) -> None:
    with engine.begin() as connection:
        free = connection.execute(select(seats.c.free).where(seats.c.event == event)).scalar_one()
        connection.execute(update(seats).where(seats.c.event == event).values(free=free - count))  # expect: RC102 read=10


def by_method(event: str, count: int) -> None:
    with engine.begin() as connection:
        row = connection.execute(seats.select().where(seats.c.event == event)).one()
        connection.execute(seats.update().where(seats.c.event == event).values(free=row.free - count))  # expect: RC102 read=16


def by_text(event: str, count: int) -> None:
    with engine.begin() as connection:
        free = connection.execute(text("SELECT free FROM seats WHERE event = :event"), {"event": event}).scalar_one()
        connection.execute(update(seats).where(seats.c.event == event).values(free=free - count))  # expect: RC102 read=22


def there_or_new(event: str) -> None:
    with engine.begin() as connection:
        if connection.execute(select(seats.c.event).where(seats.c.event == event)).first() is None:
            connection.execute(insert(seats).values(event=event, free=0))
