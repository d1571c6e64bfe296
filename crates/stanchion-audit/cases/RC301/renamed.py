import os


def rename(old: str, new: str) -> str:
    source, target = os.path.abspath(old), os.path.abspath(new)
    if not os.path.isfile(source):
        return "nothing to rename"
    if os.path.exists(target):
        return "it is there"
    os.rename(source, target)  # expect: RC301 read=8
    return "renamed"
