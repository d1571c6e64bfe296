# also: RC101, RC302
import json


class Shelf:
    def __init__(self, place):
        self.place = place
        self.jars = {}
        self._look()

    def _look(self):
        with open(self.place) as f:
            self.jars = json.load(f)

    def _put(self):
        with open(self.place, "w") as f:
            json.dump(self.jars, f)  # expect: RC107

    def fill(self, jar, what):
        self.jars[jar] = what
        self._put()

    def empty(self, jar):
        self.jars.pop(jar, None)
        self._put()


shelf = Shelf("/data/shelf.json")
