import os
import secrets


def attach(folder: str, data: bytes) -> str:
    draft = f"{folder}/.draft-{secrets.token_hex(8)}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(handle, data)
    os.close(handle)
    if os.stat(draft).st_size != len(data):
        os.unlink(draft)
        raise OSError("disk full")
    os.link(draft, f"{folder}/attachment")
    return "ok"
