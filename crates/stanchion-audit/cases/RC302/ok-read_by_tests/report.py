from pathlib import Path

REPORT = Path("/srv/mill/report.txt")


def report(lines: list[str]) -> Path:
    REPORT.write_text("\n".join(lines))
    return REPORT
