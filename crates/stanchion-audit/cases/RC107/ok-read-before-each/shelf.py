# also: RC101, RC302
import json


class Shelf:
    def __init__(self, place):
        self.place = place
        self.jars = {}

    def _look(self):
        with open(self.place) as f:
            self.jars = json.load(f)

    def _put(self):
        with open(self.place, "w") as f:
            json.dump(self.jars, f)

    def fill(self, jar, what):
        self._look()
        self.jars[jar] = what
        self._put()

    def empty(self, jar):
        self._look()
        self.jars.pop(jar, None)
        self._put()


shelf = Shelf("/data/shelf.json")
