import json
import os
import uuid
from pathlib import Path


class Store:
    def __init__(self, path: Path):
        self.path = path

    def save(self, data: dict) -> None:
        temp = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex}")
        temp.write_text(json.dumps(data))
        os.replace(temp, self.path)
