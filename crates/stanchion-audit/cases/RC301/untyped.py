DEFAULTS = "[server]\nport = 80\n"


def prepare(base) -> None:
    settings = base / "settings.ini"
    if not settings.exists():
        with open(settings, "w") as file:
            file.write(DEFAULTS)  # expect: RC301 read=6
