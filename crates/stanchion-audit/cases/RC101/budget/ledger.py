# also: RC302
import json
import os


class Ledger:
    def __init__(self, path):
        self.path = path

    def load(self):
        with open(self.path) as handle:
            return json.loads(handle.read())

    def save(self, data):
        with open(self.path, "w") as handle:
            handle.write(json.dumps(data))  # expect: RC101 read=12


def default_path():
    return os.path.join(os.environ.get("LEDGER_HOME", "/var/lib/ledger"), "ledger.json")
