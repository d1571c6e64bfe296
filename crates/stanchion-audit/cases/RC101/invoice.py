# also: RC302
from docx import Document
from mcp.server.fastmcp import FastMCP
from openpyxl import load_workbook

mcp = FastMCP("office")


@mcp.tool()
def add_line(path: str, text: str) -> str:
    paper = Document(path)
    paper.add_paragraph(text)
    paper.save(path)  # expect: RC101 read=11
    return "ok"


@mcp.tool()
def put_cell(path: str, cell: str, value: str) -> str:
    book = load_workbook(path)
    sheet = book.active
    sheet[cell] = value
    book.save(path)  # expect: RC101 read=19
    return "ok"
