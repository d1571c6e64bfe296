# also: RC401
# A row is taken where there is one, and is a new one otherwise.
from sqlalchemy import create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

engine = create_engine("postgresql://localhost/app")
Sessions = sessionmaker(bind=engine)


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "accounts"
    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(unique=True)
    balance: Mapped[int] = mapped_column(default=0)


def found_or_new(session: Session, owner: str) -> Account:
    account = session.execute(select(Account).where(Account.owner == owner)).scalar_one_or_none()
    if account is None:
        account = Account(owner=owner, balance=0)
        session.add(account)
    return account


def deposit(owner: str, amount: int) -> None:
    with Sessions() as session:
        account = found_or_new(session, owner)
        account.balance += amount  # expect: RC102 read=22
        session.commit()


def withdraw(owner: str, amount: int) -> None:
    with Sessions() as session:
        account = session.execute(select(Account).where(Account.owner == owner)).scalar_one_or_none()
        if account is None:
            account = Account(owner=owner, balance=0)
            session.add(account)
        account.balance = account.balance - amount  # expect: RC102 read=38
        session.commit()
