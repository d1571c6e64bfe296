# What is written comes from a table that nobody writes; the connection is kept, and made with a number that counts.
from desk.files import choose


class Desk:
    def __init__(self, host: str = None, file=None):
        if file is None:
            self.file = choose(host=host)

    def sql(self, text):
        if self.file.mark == "?":
            return text
        return text.replace("?", self.file.mark)

    def cursor(self):
        return self.file.cursor()

    def state(self, name):
        with self.cursor() as cursor:
            cursor.execute(self.sql("SELECT id FROM states WHERE name = ?"), (name,))
            found = cursor.fetchone()
            if found:
                return found[0]

    def entry(self, number):
        with self.cursor() as cursor:
            cursor.execute(self.sql("SELECT * FROM entries WHERE id = ?"), (number,))
            return cursor.fetchone()

    def put(self, number, name):
        entry = self.entry(number)
        if not entry:
            raise ValueError("none")
        state = self.state(name)
        with self.cursor() as cursor:
            cursor.execute("UPDATE entries SET state_id = ? WHERE id = ?", (state, number))
