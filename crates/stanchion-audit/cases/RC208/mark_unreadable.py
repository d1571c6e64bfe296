# also: RC301, RC302
import json
import os
import subprocess

import psutil

MARK = "/run/press/press.json"


def press():
    if not os.path.exists(MARK):
        return None
    try:
        with open(MARK) as file:
            mark = json.load(file)
    except ValueError:
        os.remove(MARK)  # expect: RC208 read=16
        return None
    if not psutil.pid_exists(mark["pid"]):
        os.remove(MARK)  # expect: RC208 read=16
        return None
    return mark


def start(sheet):
    mark = press()
    if mark is not None:
        return mark["pid"]
    worker = subprocess.Popen(["press", sheet])
    with open(MARK, "w") as file:
        json.dump({"pid": worker.pid}, file)
    return worker.pid
