# also: RC401
from sqlalchemy import create_engine, select, update
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

Sessions = sessionmaker(bind=create_engine("postgresql://localhost/app"))


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "accounts"
    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column()
    balance: Mapped[int] = mapped_column(default=0)


def deposit(owner: str, amount: int) -> None:
    with Sessions() as session:
        now = session.scalar(select(Account.balance).where(Account.owner == owner))
        session.execute(update(Account).where(Account.owner == owner).values(balance=now + amount))  # expect: RC102 read=21
        session.commit()


def deposit_by_query(owner: str, amount: int) -> None:
    with Sessions() as session:
        number, now = session.query(Account.id, Account.balance).filter(Account.owner == owner).one()
        session.query(Account).filter(Account.id == number).update({"balance": now + amount})  # expect: RC102 read=28
        session.commit()
