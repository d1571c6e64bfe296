# also: RC302
# The caller has looked at another thing in the same `try`; what is answered has nothing to do with that.
import json
import shutil
import sys
import time
from pathlib import Path

PATH = Path.home() / ".bees" / "bees.json"


def load():
    with open(PATH) as file:
        return json.load(file)


def put_by():
    if PATH.exists():
        shutil.copy2(PATH, PATH.with_name(f"bees.{time.time_ns()}.json"))


def add(bees, name):
    if name in bees:
        return False
    bees[name] = {}
    return True


def main():
    try:
        bees = load()
        if "--keep" in sys.argv:
            put_by()
        is_new = add(bees, sys.argv[1])
        if is_new:
            with open(PATH, "w") as file:
                json.dump(bees, file)  # expect: RC101 read=14
    except Exception as error:
        print(error)


if __name__ == "__main__":
    main()
