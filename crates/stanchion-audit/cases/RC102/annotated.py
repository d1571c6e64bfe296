from typing import Annotated

from fastapi import Depends, FastAPI
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

app = FastAPI()


class Base(DeclarativeBase):
    pass


class Item(Base):
    __tablename__ = "items"
    id: Mapped[int] = mapped_column(primary_key=True)
    stock: Mapped[int]


def connect(): ...


Db = Annotated[Session, Depends(connect)]


@app.post("/sell/{id}")
def sell(id: int, db: Db) -> None:
    item = db.get(Item, id)
    item.stock -= 1  # expect: RC102 read=27
    db.commit()
