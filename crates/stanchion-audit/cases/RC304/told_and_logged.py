# also: RC101, RC302
# The error is looked at, but whichever it is, it goes on with something empty.
import errno
import json
import logging
from pathlib import Path

PATH = Path("/data/visits.json")


def load():
    try:
        return json.loads(PATH.read_text())
    except OSError as error:
        if error.errno != errno.ENOENT:
            logging.warning("cannot read %s", error)
        return []


def visit(name):
    visits = load()
    visits.append(name)
    PATH.write_text(json.dumps(visits))  # expect: RC304 read=13
