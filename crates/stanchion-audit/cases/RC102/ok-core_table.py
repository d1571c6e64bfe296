from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, select, update

engine = create_engine("postgresql://localhost/seats")
seats = Table("seats", MetaData(), Column("event", String), Column("free", Integer))


def by_store(event: str, count: int) -> None:
    with engine.begin() as connection:
        free = connection.execute(select(seats.c.free).where(seats.c.event == event)).scalar_one()
        print(free)
        connection.execute(update(seats).where(seats.c.event == event).values(free=seats.c.free - count))


def locked(event: str, count: int) -> None:
    with engine.begin() as connection:
        free = connection.execute(select(seats.c.free).where(seats.c.event == event).with_for_update()).scalar_one()
        connection.execute(update(seats).where(seats.c.event == event).values(free=free - count))


def if_as_read(event: str, count: int) -> bool:
    with engine.begin() as connection:
        free = connection.execute(select(seats.c.free).where(seats.c.event == event)).scalar_one()
        as_read = (seats.c.event == event) & (seats.c.free == free)
        done = connection.execute(update(seats).where(as_read).values(free=free - count))
        return done.rowcount == 1
