from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

Session = sessionmaker(bind=create_engine("postgresql://db/shop"))


class Base(DeclarativeBase):
    pass


class Ticket(Base):
    __tablename__ = "tickets"
    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str]
    tries: Mapped[int]


def again() -> None:
    with Session() as db:
        for ticket in db.query(Ticket).filter(Ticket.state == "failed").with_for_update().all():
            ticket.tries = ticket.tries + 1
        db.commit()
