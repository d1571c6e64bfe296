# also: RC101
import json
import os
import tempfile


def save(path, data):
    fd, name = tempfile.mkstemp(dir="/data")
    with os.fdopen(fd, "w") as f:
        json.dump(data, f)
    os.replace(name, path)


def load(path):
    with open(path) as f:
        return json.load(f)


def archive(names):
    for name in names:
        try:
            done = load("/data/done.json")
            done.append(name)
            save("/data/done.json", done)
        except Exception:
            pass
    log = load("/data/log.json")
    log.append(len(names))
    save("/data/log.json", log)
    done = load("/data/done.json")
    save("/data/done.json", sorted(done))
