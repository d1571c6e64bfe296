# also: RC302, RC304
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Optional


@dataclass
class Memory:
    facts: list = field(default_factory=list)


class Repo:
    def __init__(self, path: Optional[str] = None):
        self.path = Path(path or "/data/memory.json")

    def fetch(self) -> Memory:
        if self.path.exists():
            return Memory(**json.loads(self.path.read_text()))
        return Memory()

    def keep(self, memory: Memory) -> None:
        self.path.write_text(json.dumps(asdict(memory)))  # expect: RC101 read=19


class Service:
    def __init__(self, repo: Repo):
        self.repo = repo

    def learn(self, fact: str) -> int:
        memory = self.repo.fetch()
        memory.facts.append(fact)
        self.repo.keep(memory)
        return len(memory.facts)
