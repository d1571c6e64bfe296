from desk.files.sqlite_file import File

try:
    from desk.files import server
except ImportError:
    HAS_SERVER = False
KINDS = {"server", "sqlite"}
OF_SERVER = {"host", "port"}


def choose(kind: str = None, **options):
    if kind not in KINDS:
        print(kind)
    if kind == "server":
        if not HAS_SERVER:
            print(kind)
    if kind == "sqlite":
        known = {name: value for name, value in options.entries() if name not in OF_SERVER}
        return File(**known)
