# also: RC401
# The row that is taken is locked, or the new one is nobody else's yet.
from sqlalchemy import create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

engine = create_engine("postgresql://localhost/app")
Sessions = sessionmaker(bind=engine)


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "accounts"
    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(unique=True)
    balance: Mapped[int] = mapped_column(default=0)


def deposit(owner: str, amount: int) -> None:
    with Sessions() as session:
        account = session.execute(select(Account).where(Account.owner == owner).with_for_update()).scalar_one_or_none()
        if account is None:
            account = Account(owner=owner, balance=0)
            session.add(account)
        account.balance += amount
        session.commit()


def opened(owner: str, amount: int) -> None:
    with Sessions() as session:
        old = session.execute(select(Account).where(Account.owner == owner)).scalar_one()
        account = Account(owner=owner + "2", balance=0)
        account.balance += amount
        session.add(account)
        session.commit()
        print(old.owner)
