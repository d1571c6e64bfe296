import os

LOG = "/var/log/x.log"


def log(line):
    if os.path.exists(LOG) and os.path.getsize(LOG) > 1000000:
        os.rename(LOG, LOG + ".1")  # expect: RC301 read=7
    with open(LOG, "a") as f:
        f.write(line)
