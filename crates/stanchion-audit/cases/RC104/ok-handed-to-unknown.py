# What is only handed over is called by somebody else: nothing pauses here.
from elsewhere import make_routes, wrapped
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


class More:
    def __init__(self, store):
        self.store = store

    def add_to(self, routes: list) -> None:
        async def look(request):
            form = await request.form()
            return JSONResponse({"ok": form.get("x")})

        routes.append(Route("/look", endpoint=wrapped(look, ["POST"]), methods=["POST"]))


class Site:
    def __init__(self, store):
        self.store = store
        self._routes = None

    @property
    def routes(self):
        if self._routes is None:
            routes = make_routes(self.store)
            More(self.store).add_to(routes=routes)
            self._routes = routes
        return self._routes

    def serve(self):
        async def run():
            return Starlette(routes=self.routes)

        return run
