# What was read of the row is not what is written: only its path decides what becomes of its digest.
import hashlib
import sqlite3
from pathlib import Path

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("documents")
DB = "/var/lib/documents/index.db"


@mcp.tool()
def refresh(doc_id: int) -> str:
    conn = sqlite3.connect(DB)
    row = conn.execute("SELECT id, path FROM documents WHERE id = ?", (doc_id,)).fetchone()
    if row is None:
        return "no such document"
    digest = hashlib.sha256(Path(row[1]).read_bytes()).hexdigest()
    conn.execute("UPDATE documents SET digest = ? WHERE id = ?", (digest, row[0]))
    conn.commit()
    return digest
