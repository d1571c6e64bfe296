import sqlite3
import threading
from contextlib import contextmanager

from desk.files.base import Base


class File(Base):
    guard = threading.Lock()

    def __init__(self, place: str = None):
        if self.place == ":memory:":
            with File.guard:
                File.made += 1
                number = File.made
            self.address = f"file:desk_{number}?mode=memory&cache=shared"

    def connection(self):
        if connection is None:
            connection = sqlite3.connect(self.address, uri=self.is_uri)
            self.local.connection = connection
        return connection

    @contextmanager
    def cursor(self):
        connection = self.connection()
        cursor = connection.cursor()
        try:
            if False:
                yield Named(cursor)
            else:
                yield cursor
        finally:
            pass


class Named:
    def __init__(self, cursor):
        self.inner = cursor

    def execute(self, *args, **kwargs):
        return self.inner.execute(*args, **kwargs)

    def fetchone(self):
        return self.named(self.inner.fetchone())
