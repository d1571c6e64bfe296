# Each change is made only if the version is still the one that was read.
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Page(Base):
    __tablename__ = "pages"
    id: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[str]
    version: Mapped[int] = mapped_column()
    __mapper_args__ = {"version_id_col": version}


def add(session: Session, id: int, text: str) -> None:
    page = session.get(Page, id)
    page.body = page.body + text
    session.commit()
