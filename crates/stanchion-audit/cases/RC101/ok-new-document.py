# also: RC302
from docx import Document
from mcp.server.fastmcp import FastMCP
from openpyxl import Workbook, load_workbook

mcp = FastMCP("office")


@mcp.tool()
def letter(path: str, text: str) -> str:
    paper = Document()
    paper.add_paragraph(text)
    paper.save(path)
    return "ok"


@mcp.tool()
def copy(source: str, target: str) -> str:
    book = load_workbook(source)
    book.save(target)
    return "ok"


@mcp.tool()
def fresh(path: str) -> str:
    book = Workbook()
    book.save(path)
    return "ok"
