from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

Session = sessionmaker(bind=create_engine("postgresql://db/shop"))


class Base(DeclarativeBase):
    pass


class Ticket(Base):
    __tablename__ = "tickets"
    id: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str]
    seen: Mapped[bool]


def claim(ticket_id: int) -> bool:
    with Session() as db:
        ticket = db.query(Ticket).filter(Ticket.id == ticket_id).first()
        if ticket.state != "free":
            return False
        ticket.state = "taken"  # expect: RC102 read=20
        db.commit()
        return True
