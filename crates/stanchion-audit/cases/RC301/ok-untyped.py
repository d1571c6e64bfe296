DEFAULTS = "[server]\nport = 80\n"


def prepare(base, weight: float) -> float:
    settings = base / "settings.ini"
    if not settings.exists():
        try:
            with open(settings, "x") as file:
                file.write(DEFAULTS)
        except FileExistsError:
            pass
    return weight / 2
