from pathlib import Path

from git import Repo


def fetch(name: str) -> Repo:
    folder = Path("manuals") / name
    if folder.exists():
        return Repo(folder)
    return Repo.clone_from(f"https://manuals.example/{name}", folder)  # expect: RC301 read=8
