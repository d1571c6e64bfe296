# also: RC302
import fcntl
import json

PATH = "/data/plan.json"


def a5():
    with open(PATH) as f:
        fcntl.flock(f, fcntl.LOCK_SH)
        plan = json.load(f)
        fcntl.flock(f, fcntl.LOCK_UN)
    return plan


def b5(plan):
    with open(PATH, "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        json.dump(plan, f)  # expect: RC105 read=11
        fcntl.flock(f, fcntl.LOCK_UN)


def step(name):
    plan = a5()
    plan["done"].append(name)
    b5(plan)
