# also: RC302
from __future__ import annotations
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, asdict
from pathlib import Path
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("tasks")


@dataclass
class Task:
    id: int
    title: str
    done: bool = False


@dataclass
class TaskStore:
    root: Path = field(default_factory=lambda: Path.home() / ".tasks")
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def path(self) -> Path:
        return self.root / "tasks.json"

    @contextmanager
    def _editing(self):
        with self._lock:
            tasks = self._load()
            yield tasks
            self._save(tasks)

    def _load(self) -> list[Task]:
        if not self.path.exists():
            return []
        return [Task(**raw) for raw in json.loads(self.path.read_text())]

    def _save(self, tasks: list[Task]) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps([asdict(t) for t in tasks], indent=2))  # expect: RC201 read=39

    def add(self, title: str) -> Task:
        with self._editing() as tasks:
            task = Task(id=len(tasks) + 1, title=title)
            tasks.append(task)
        return task

    def complete(self, task_id: int) -> bool:
        with self._editing() as tasks:
            for task in tasks:
                if task.id == task_id:
                    task.done = True
                    return True
        return False


store = TaskStore()


@mcp.tool()
def add_task(title: str) -> dict:
    return asdict(store.add(title))


@mcp.tool()
def complete_task(task_id: int) -> bool:
    return store.complete(task_id)
