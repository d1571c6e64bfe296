//! Less usual names for what other libraries, or other functions of the same one, do as well.

use super::{Table, check};

#[test]
fn files() {
    const TABLE: Table = &[
        (
            "pandas workbook",
            "import pandas as pd\ndef f(row):\n    df = pd.ExcelFile('a.xlsx').parse('s')\n    with pd.ExcelWriter('a.xlsx') as w:\n        pd.concat([df, row]).to_excel(w)\n",
            &[("RC101", 3, 5)],
        ),
        (
            "pandas workbook, to another",
            "import pandas as pd\ndef f(row):\n    df = pd.ExcelFile('a.xlsx').parse('s')\n    with pd.ExcelWriter('b.xlsx') as w:\n        pd.concat([df, row]).to_excel(w)\n",
            &[],
        ),
        (
            "pandas feather",
            "import pandas as pd\ndef f(row):\n    df = pd.read_feather('a')\n    pd.concat([df, row]).to_feather('a')\n",
            &[("RC101", 3, 4)],
        ),
        (
            "polars",
            "import polars as pl\ndef f(row):\n    df = pl.read_csv('a.csv')\n    pl.concat([df, row]).write_csv('a.csv')\n",
            &[("RC101", 3, 4)],
        ),
        (
            "toml by its path",
            "import toml\ndef f(x):\n    d = toml.load('a.toml')\n    d['x'] = x\n    with open('a.toml', 'w') as h:\n        toml.dump(d, h)\n",
            &[("RC101", 3, 6)],
        ),
        (
            "joblib",
            "import joblib\ndef f(x):\n    d = joblib.load('a')\n    joblib.dump(d + [x], 'a')\n",
            &[("RC101", 3, 4)],
        ),
        (
            "yaml documents",
            "import yaml\ndef f(x):\n    d = list(yaml.safe_load_all(open('a')))\n    yaml.safe_dump_all(d + [x], open('a', 'w'))\n",
            &[("RC101", 3, 4)],
        ),
        (
            "jsonlines",
            "import jsonlines\ndef f(x):\n    with jsonlines.open('a') as r:\n        d = [line for line in r]\n    with jsonlines.open('a', mode='w') as w:\n        w.write_all(d + [x])\n",
            &[("RC101", 4, 6)],
        ),
        (
            "jsonlines append",
            "import jsonlines\ndef f(x):\n    with jsonlines.open('a') as r:\n        d = [line for line in r]\n    with jsonlines.open('a', mode='a') as w:\n        w.write(len(d))\n",
            &[],
        ),
        (
            "element tree",
            "import xml.etree.ElementTree as ET\ndef f(x):\n    tree = ET.parse('a.xml')\n    tree.getroot().append(x)\n    tree.write('a.xml')\n",
            &[("RC101", 3, 5)],
        ),
        (
            "element tree, to another",
            "import xml.etree.ElementTree as ET\ndef f(x):\n    tree = ET.parse('a.xml')\n    tree.getroot().append(x)\n    tree.write('b.xml')\n",
            &[],
        ),
        (
            "dotenv",
            "from dotenv import get_key, set_key\ndef f():\n    n = get_key('.env', 'N')\n    set_key('.env', 'N', str(int(n) + 1))\n",
            &[("RC101", 3, 4)],
        ),
        (
            "trio",
            "import trio\nasync def f(x):\n    async with await trio.open_file('a') as h:\n        d = await h.read()\n    async with await trio.open_file('a', 'w') as h:\n        await h.write(d + x)\n",
            &[("RC101", 4, 6)],
        ),
        (
            "shutil by names",
            "import json, shutil\ndef f(x):\n    d = json.load(open('a'))\n    with open('b', 'w') as h:\n        json.dump(d + [x], h)\n    shutil.move(src='b', dst='a')\n",
            &[("RC101", 3, 6)],
        ),
        (
            "another file lock",
            "import json\nfrom filelock import AsyncUnixFileLock\nasync def f(x):\n    async with AsyncUnixFileLock('a.lock'):\n        d = json.load(open('a'))\n        json.dump(d + [x], open('a', 'w'))\n",
            &[],
        ),
    ];
    check("a.py", TABLE);
}

#[test]
fn databases_and_mappers() {
    const TABLE: Table = &[
        (
            "apsw",
            "import apsw\nc = apsw.Connection('a.db')\ndef f(i):\n    c.execute('INSERT INTO log VALUES (1)')\n    n = c.execute('SELECT n FROM t WHERE id = ?', (i,)).fetchone()[0]\n    c.execute('UPDATE t SET n = ? WHERE id = ?', (n + 1, i))\n",
            &[("RC102", 5, 6)],
        ),
        (
            "psycopg2 extras",
            "from psycopg2.extras import execute_values\nimport psycopg2\nc = psycopg2.connect('x')\ndef f(e):\n    cur = c.cursor()\n    cur.execute('SELECT id FROM t WHERE email = %s', (e,))\n    if cur.fetchone() is None:\n        execute_values(cur, 'INSERT INTO t (email) VALUES %s', [(e,)])\n",
            &[("RC401", 6, 8)],
        ),
        (
            "asyncmy",
            "import asyncmy\nasync def f(i):\n    c = await asyncmy.connect(host='x')\n    cur = c.cursor()\n    await cur.execute('SELECT n FROM t WHERE id = %s', (i,))\n    n = (await cur.fetchone())[0]\n    await cur.execute('UPDATE t SET n = %s WHERE id = %s', (n + 1, i))\n    await c.commit()\n",
            &[("RC102", 5, 7)],
        ),
        (
            "flask sqlalchemy select",
            "from flask_sqlalchemy import SQLAlchemy\nfrom models import User\ndb = SQLAlchemy()\ndef f(i):\n    u = db.session.execute(db.select(User).where(User.id == i)).scalar_one()\n    db.session.execute(db.update(User).where(User.id == i).values(n=u.n + 1))\n    db.session.commit()\n",
            &[("RC102", 5, 6)],
        ),
        (
            "flask sqlalchemy relative",
            "from flask_sqlalchemy import SQLAlchemy\nfrom models import User\ndb = SQLAlchemy()\ndef f(i):\n    db.session.execute(db.update(User).where(User.id == i).values(n=User.n + 1))\n    db.session.commit()\n",
            &[],
        ),
        (
            "beanie",
            "from beanie import Document\nclass User(Document):\n    pass\nasync def f(i):\n    u = await User.get(i)\n    u.n += 1\n    await u.save()\n",
            &[("RC103", 5, 7)],
        ),
        (
            "chromadb",
            "import chromadb\nnotes = chromadb.PersistentClient('d').get_or_create_collection('notes')\ndef f(i):\n    got = notes.get(ids=[i])\n    notes.update(ids=[i], metadatas=[{'n': got['metadatas'][0]['n'] + 1}])\n",
            &[("RC103", 4, 5)],
        ),
        (
            "chromadb, what was not read",
            "import chromadb\nnotes = chromadb.PersistentClient('d').get_or_create_collection('notes')\ndef f(i, text):\n    notes.get(ids=[i])\n    notes.upsert(ids=[i], documents=[text])\n",
            &[],
        ),
    ];
    check("a.py", TABLE);
}

#[test]
fn keys_and_effects() {
    const TABLE: Table = &[
        (
            "redis json",
            "import redis\nr = redis.Redis()\ndef f(k):\n    d = r.json().get(k)\n    r.json().set(k, '$', dict(d, n=d['n'] + 1))\n",
            &[("RC103", 4, 5)],
        ),
        (
            "redis list element",
            "import redis\nr = redis.Redis()\ndef f(k):\n    n = int(r.lindex(k, 0))\n    r.lset(k, 0, n + 1)\n",
            &[("RC103", 4, 5)],
        ),
        (
            "diskcache",
            "import diskcache\nc = diskcache.FanoutCache('d')\ndef f(k):\n    n = c.get(k)\n    c.set(k, n + 1)\n",
            &[("RC103", 4, 5)],
        ),
        (
            "diskcache transaction",
            "import diskcache\nc = diskcache.FanoutCache('d')\ndef f(k):\n    with c.transact():\n        n = c.get(k)\n        c.set(k, n + 1)\n",
            &[],
        ),
        (
            "imaplib",
            "import imaplib\nfrom mcp.types import ToolAnnotations\nfrom mcp.server.fastmcp import FastMCP\nmcp = FastMCP('a')\nm = imaplib.IMAP4_SSL('a')\n@mcp.tool(annotations=ToolAnnotations(readOnlyHint=True))\ndef f(i):\n    m.store(i, '+FLAGS', 'Seen')\n",
            &[("RC407", 7, 8)],
        ),
        (
            "imap_tools",
            "from imap_tools import MailBox\nfrom mcp.types import ToolAnnotations\nfrom mcp.server.fastmcp import FastMCP\nmcp = FastMCP('a')\nm = MailBox('a')\n@mcp.tool(annotations=ToolAnnotations(readOnlyHint=True))\ndef f(i):\n    m.move(i, 'b')\n",
            &[("RC407", 7, 8)],
        ),
        (
            "google api",
            "from googleapiclient.discovery import build\nfrom tenacity import retry\ns = build('calendar', 'v3')\n@retry()\ndef f(x):\n    s.events().insert(calendarId='primary', body=x).execute()\n",
            &[("RC402", 0, 6)],
        ),
        (
            "google api, only read",
            "from googleapiclient.discovery import build\nfrom tenacity import retry\ns = build('calendar', 'v3')\n@retry()\ndef f(x):\n    s.events().list(calendarId='primary').execute()\n",
            &[],
        ),
        (
            "http.client",
            "from http.client import HTTPSConnection\nfrom tenacity import retry\nc = HTTPSConnection('a.b')\n@retry()\ndef f(x):\n    c.request('POST', '/a', x)\n",
            &[("RC402", 0, 6)],
        ),
        (
            "urlopen with a body",
            "from urllib.request import urlopen\nfrom tenacity import retry\n@retry()\ndef f(x):\n    urlopen('https://a.b', data=x)\n",
            &[("RC402", 0, 5)],
        ),
        (
            "urlopen without",
            "from urllib.request import urlopen\nfrom tenacity import retry\n@retry()\ndef f(x):\n    urlopen('https://a.b')\n",
            &[],
        ),
        (
            "rq",
            "from rq import Queue\nfrom tenacity import retry\nq = Queue(connection=r)\n@retry()\ndef f(x):\n    q.enqueue(g, x)\n",
            &[("RC402", 0, 6)],
        ),
    ];
    check("a.py", TABLE);
}
