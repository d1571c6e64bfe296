# Whoever looks twice where a folder is finds the same.
import anyio


class Shelf:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.root = None

    async def holds(self, path: str) -> bool:
        if self.root is None:
            self.root = await anyio.Path(self.folder).resolve()
        return path.startswith(str(self.root))


shelf = Shelf("books")
