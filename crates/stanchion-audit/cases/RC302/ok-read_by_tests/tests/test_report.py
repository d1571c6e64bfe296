from report import REPORT, report


def test_report():
    report(["flour"])
    assert REPORT.read_text() == "flour"
