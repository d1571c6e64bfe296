# also: RC301
import os


def take(path):
    try:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        with open(path) as f:
            pid = int(f.read())
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            os.unlink(path)  # expect: RC208 read=10
            return take(path)
        return False
    os.write(fd, str(os.getpid()).encode())
    os.close(fd)
    return True
