from pathlib import Path


class Page:
    """It knows where it will be, and reads nothing."""

    def __init__(self, path: str):
        self.path = path
        self.title = path

    def parse(self):
        return [self.title]


def load(path: Path):
    return {"at": str(path)}
