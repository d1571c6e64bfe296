import json
import os
import subprocess
import tempfile


def render(pages: list[str]) -> str:
    folder = tempfile.mkdtemp()
    plan = os.path.join(folder, "plan.json")
    with open(plan, "w") as f:
        json.dump(pages, f)
    subprocess.run(["render", plan], check=True)
    with open(plan) as f:
        return f.read()
