# Whoever catches the refusal counts on a key that the code does not show.
from fastapi import FastAPI
from sqlalchemy import create_engine, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import sessionmaker

from crm.tables import Contact

app = FastAPI()
Local = sessionmaker(bind=create_engine("postgresql://db/crm"))


@app.post("/contacts")
def add(phone: str):
    with Local() as session:
        found = session.execute(select(Contact).where(Contact.phone == phone)).scalar_one_or_none()
        if found is not None:
            return found.id
        new = Contact(phone=phone)
        session.add(new)
        try:
            session.commit()
        except IntegrityError:
            session.rollback()
            raise ValueError("there is one already")
        return new.id
