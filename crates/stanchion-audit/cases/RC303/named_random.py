import os

uuid4 = "next"


def getpid():
    return "rapid-" + uuid4


def save(text: str) -> None:
    random = f"/data/{getpid()}.tempfile"
    with open(random, "w") as file:
        file.write(text)
    os.replace(random, "/data/state.json")  # expect: RC303 read=13
