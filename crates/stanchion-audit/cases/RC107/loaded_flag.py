# also: RC302
import json


class Tasks:
    def __init__(self, path):
        self.path = path
        self.tasks = []
        self.loaded = False

    def fill(self):
        if self.loaded:
            return
        with open(self.path) as f:
            self.tasks = json.load(f)
        self.loaded = True

    def add(self, task):
        self.fill()
        self.tasks.append(task)
        with open(self.path, "w") as f:
            json.dump(self.tasks, f)  # expect: RC107 read=15
