from fastapi import FastAPI
from sqlalchemy import Column, Integer, String, create_engine, select
from sqlalchemy.orm import DeclarativeBase, sessionmaker

app = FastAPI()
engine = create_engine("postgresql://db/crm")
Local = sessionmaker(bind=engine)


class Base(DeclarativeBase):
    pass


class Contact(Base):
    __tablename__ = "contacts"
    id = Column(Integer, primary_key=True)
    phone = Column(String)


@app.post("/contacts")
def add(phone: str):
    with Local() as session:
        found = session.execute(select(Contact).where(Contact.phone == phone)).scalar_one_or_none()
        if found is None:
            session.add(Contact(phone=phone))  # expect: RC401 read=23
            session.commit()
