import os
from pathlib import Path


def counted(folder, name, text):
    path = os.path.join(folder, name + ".md")
    i = 1
    while os.path.exists(path):
        path = os.path.join(folder, f"{name}-{i}.md")
        i += 1
    with open(path, "w") as f:
        f.write(text)  # expect: RC301 read=8


def second(folder, name, text):
    path = Path(folder) / f"{name}.md"
    if path.exists():
        path = Path(folder) / f"{name}-2.md"
    path.write_text(text)  # expect: RC301 read=17
