use super::{Table, check};

mod spellings;

#[test]
fn files() {
    const TABLE: Table = &[
        (
            "open",
            "import json\ndef f(x):\n    with open('a.json') as h:\n        d = json.load(h)\n    d.append(x)\n    with open('a.json', 'w') as h:\n        json.dump(d, h)\n",
            &[("RC101", 4, 7)],
        ),
        (
            "pathlib",
            "from pathlib import Path\nimport json\nP = Path('data') / 'a.json'\ndef f(x):\n    d = json.loads(P.read_text())\n    P.write_text(json.dumps(d + [x]))\n",
            &[("RC101", 5, 6)],
        ),
        (
            "aiofiles",
            "import aiofiles\nasync def f(x):\n    async with aiofiles.open('a') as h:\n        d = await h.read()\n    async with aiofiles.open('a', 'w') as h:\n        await h.write(d + x)\n",
            &[("RC101", 4, 6)],
        ),
        (
            "yaml",
            "import yaml\ndef f(x):\n    d = yaml.safe_load(open('a'))\n    d[x] = 1\n    yaml.safe_dump(dict(d, a=1), open('a', 'w'))\n",
            &[("RC101", 3, 5)],
        ),
        (
            "tempfile",
            "import json, os, tempfile\ndef f(x):\n    d = json.load(open('a'))\n    with tempfile.NamedTemporaryFile('w', delete=False) as t:\n        json.dump(d + [x], t)\n    os.replace(t.name, 'a')\n",
            &[("RC101", 3, 6)],
        ),
        (
            "mkstemp",
            "import json, os, tempfile\ndef f(x):\n    d = json.load(open('a'))\n    fd, tmp = tempfile.mkstemp()\n    with os.fdopen(fd, 'w') as t:\n        json.dump(d + [x], t)\n    os.replace(tmp, 'a')\n",
            &[("RC101", 3, 7)],
        ),
        (
            "filelock",
            "import json\nfrom filelock import FileLock\ndef f(x):\n    with FileLock('a.lock'):\n        d = json.load(open('a'))\n        json.dump(d + [x], open('a', 'w'))\n",
            &[],
        ),
        (
            "fcntl",
            "import fcntl, json\ndef f(x):\n    with open('a', 'r+') as h:\n        fcntl.flock(h, fcntl.LOCK_EX)\n        d = json.load(h)\n        h.seek(0)\n        json.dump(d + [x], h)\n        fcntl.flock(h, fcntl.LOCK_UN)\n",
            &[],
        ),
        (
            "asyncio lock",
            "import asyncio, json\nL = asyncio.Lock()\nasync def f(x):\n    async with L:\n        d = json.load(open('a'))\n        json.dump(d + [x], open('a', 'w'))\n",
            &[("RC201", 5, 6)],
        ),
        (
            "to_thread",
            "import asyncio, json\ndef g(x):\n    d = json.load(open('a'))\n    json.dump(d + [x], open('a', 'w'))\nasync def f(x):\n    await asyncio.to_thread(g, x)\n",
            &[("RC101", 3, 4)],
        ),
        (
            "append is safe",
            "import json\ndef f(x):\n    n = len(open('a').read())\n    with open('a', 'a') as h:\n        h.write(str(n))\n",
            &[],
        ),
        (
            "hook script",
            "import json, sys\nevent = json.load(sys.stdin)\nstate = json.load(open('/tmp/s'))\nstate.append(event)\njson.dump(state, open('/tmp/s', 'w'))\n",
            &[("RC101", 3, 5)],
        ),
        (
            "hook main",
            "import json, sys\ndef main():\n    event = json.loads(sys.stdin.read())\n    state = json.load(open('/tmp/s'))\n    state.append(event)\n    json.dump(state, open('/tmp/s', 'w'))\nif __name__ == '__main__':\n    main()\n",
            &[("RC101", 4, 6)],
        ),
    ];
    check("a.py", TABLE);
}

#[test]
fn databases() {
    const TABLE: Table = &[
        (
            "sqlite3",
            "import sqlite3\ndef f(i):\n    c = sqlite3.connect('a.db')\n    n = c.execute('SELECT n FROM t WHERE id = ?', (i,)).fetchone()[0]\n    c.execute('UPDATE t SET n = ? WHERE id = ?', (n + 1, i))\n    c.commit()\n",
            &[("RC102", 4, 5)],
        ),
        (
            "sqlite3 cursor",
            "import sqlite3\ndef f(i):\n    with sqlite3.connect('a.db') as c:\n        cur = c.cursor()\n        cur.execute('SELECT n FROM t WHERE id = ?', (i,))\n        n = cur.fetchone()[0]\n        cur.execute('UPDATE t SET n = ? WHERE id = ?', (n + 1, i))\n",
            &[("RC102", 5, 7)],
        ),
        (
            "sqlite3 immediate",
            "import sqlite3\ndef f(i):\n    c = sqlite3.connect('a.db', isolation_level=None)\n    c.execute('BEGIN IMMEDIATE')\n    n = c.execute('SELECT n FROM t WHERE id = ?', (i,)).fetchone()[0]\n    c.execute('UPDATE t SET n = ? WHERE id = ?', (n + 1, i))\n    c.execute('COMMIT')\n",
            &[],
        ),
        (
            "aiosqlite",
            "import aiosqlite\nasync def f(i):\n    async with aiosqlite.connect('a.db') as db:\n        async with db.execute('SELECT n FROM t WHERE id = ?', (i,)) as cur:\n            row = await cur.fetchone()\n        await db.execute('UPDATE t SET n = ? WHERE id = ?', (row[0] + 1, i))\n        await db.commit()\n",
            &[("RC102", 4, 6)],
        ),
        (
            "psycopg2",
            "import psycopg2\nconn = psycopg2.connect('x')\ndef f(i):\n    with conn.cursor() as cur:\n        cur.execute('SELECT n FROM t WHERE id = %s', (i,))\n        n = cur.fetchone()[0]\n        cur.execute('UPDATE t SET n = %s WHERE id = %s', (n + 1, i))\n    conn.commit()\n",
            &[("RC102", 5, 7)],
        ),
        (
            "psycopg2 for update",
            "import psycopg2\nconn = psycopg2.connect('x')\ndef f(i):\n    with conn.cursor() as cur:\n        cur.execute('SELECT n FROM t WHERE id = %s FOR UPDATE', (i,))\n        n = cur.fetchone()[0]\n        cur.execute('UPDATE t SET n = %s WHERE id = %s', (n + 1, i))\n    conn.commit()\n",
            &[],
        ),
        (
            "asyncpg",
            "import asyncpg\nasync def f(pool: asyncpg.Pool, i):\n    row = await pool.fetchrow('SELECT n FROM t WHERE id = $1', i)\n    await pool.execute('UPDATE t SET n = $1 WHERE id = $2', row['n'] + 1, i)\n",
            &[("RC102", 3, 4)],
        ),
        (
            "asyncpg for update",
            "import asyncpg\nasync def f(pool: asyncpg.Pool, i):\n    async with pool.acquire() as c:\n        async with c.transaction():\n            row = await c.fetchrow('SELECT n FROM t WHERE id = $1 FOR UPDATE', i)\n            await c.execute('UPDATE t SET n = $1 WHERE id = $2', row['n'] + 1, i)\n",
            &[],
        ),
        (
            "f-string",
            "async def f(db, i):\n    row = await db.fetchrow(f'SELECT n FROM t WHERE id = {i}')\n    await db.execute(f'UPDATE t SET n = {row[0] + 1} WHERE id = {i}')\n",
            &[("RC102", 2, 3)],
        ),
    ];
    check("a.py", TABLE);
}

#[test]
fn mappers() {
    const TABLE: Table = &[
        (
            "sqlalchemy get",
            "from sqlalchemy.orm import Session\nfrom models import User\ndef f(s: Session, i):\n    u = s.get(User, i)\n    u.n = u.n + 1\n    s.commit()\n",
            &[("RC102", 4, 5)],
        ),
        (
            "sqlalchemy query",
            "from sqlalchemy.orm import Session\nfrom models import User\ndef f(s: Session, i):\n    u = s.query(User).filter(User.id == i).first()\n    u.n += 1\n    s.commit()\n",
            &[("RC102", 4, 5)],
        ),
        (
            "sqlalchemy select",
            "from sqlalchemy import select, update\nfrom sqlalchemy.ext.asyncio import AsyncSession\nfrom models import User\nasync def f(s: AsyncSession, i):\n    u = (await s.execute(select(User).where(User.id == i))).scalar_one()\n    await s.execute(update(User).where(User.id == i).values(n=u.n + 1))\n    await s.commit()\n",
            &[("RC102", 5, 6)],
        ),
        (
            "sqlalchemy for update",
            "from sqlalchemy import select\nfrom sqlalchemy.ext.asyncio import AsyncSession\nfrom models import User\nasync def f(s: AsyncSession, i):\n    u = (await s.execute(select(User).where(User.id == i).with_for_update())).scalar_one()\n    u.n = u.n + 1\n    await s.commit()\n",
            &[],
        ),
        (
            "sqlalchemy relative",
            "from sqlalchemy import update\nfrom sqlalchemy.orm import Session\nfrom models import User\ndef f(s: Session, i):\n    s.execute(update(User).where(User.id == i).values(n=User.n + 1))\n    s.commit()\n",
            &[],
        ),
        (
            "sqlalchemy check then add",
            "from sqlalchemy.orm import Session, DeclarativeBase\nclass Base(DeclarativeBase):\n    pass\nclass User(Base):\n    pass\ndef f(s: Session, e):\n    old = s.query(User).filter_by(email=e).first()\n    if old is None:\n        s.add(User(email=e))\n        s.commit()\n",
            &[("RC401", 7, 9)],
        ),
        (
            "sqlmodel",
            "from sqlmodel import Session, select\nfrom models import User\ndef f(s: Session, i):\n    u = s.exec(select(User).where(User.id == i)).one()\n    u.n = u.n + 1\n    s.add(u)\n    s.commit()\n",
            &[("RC102", 4, 5)],
        ),
        (
            "sqlalchemy text",
            "from sqlalchemy import text\ndef f(s, i):\n    n = s.execute(text('SELECT n FROM t WHERE id = :i'), {'i': i}).scalar()\n    s.execute(text('UPDATE t SET n = :n WHERE id = :i'), {'n': n + 1, 'i': i})\n",
            &[("RC102", 3, 4)],
        ),
        (
            "django",
            "from django.db import models\nclass User(models.Model):\n    pass\ndef f(i):\n    u = User.objects.get(id=i)\n    u.n = u.n + 1\n    u.save()\n",
            &[("RC102", 5, 7)],
        ),
        (
            "django F",
            "from django.db import models\nfrom django.db.models import F\nclass User(models.Model):\n    pass\ndef f(i):\n    User.objects.filter(id=i).update(n=F('n') + 1)\n",
            &[],
        ),
        (
            "django for update",
            "from django.db import models, transaction\nclass User(models.Model):\n    pass\ndef f(i):\n    with transaction.atomic():\n        u = User.objects.select_for_update().get(id=i)\n        u.n = u.n + 1\n        u.save()\n",
            &[],
        ),
        (
            "django atomic decorator",
            "from django.db import models, transaction\nclass User(models.Model):\n    pass\n@transaction.atomic\ndef f(i):\n    u = User.objects.select_for_update().get(id=i)\n    u.n = u.n + 1\n    u.save()\n",
            &[],
        ),
        (
            "django check then create",
            "from django.db import models\nclass User(models.Model):\n    pass\ndef f(e):\n    if not User.objects.filter(email=e).exists():\n        User.objects.create(email=e)\n",
            &[("RC401", 5, 6)],
        ),
        (
            "django get or create",
            "from django.db import models\nclass User(models.Model):\n    pass\ndef f(e):\n    User.objects.get_or_create(email=e)\n",
            &[],
        ),
        (
            "peewee",
            "from peewee import Model\nclass User(Model):\n    pass\ndef f(i):\n    u = User.get(User.id == i)\n    u.n += 1\n    u.save()\n",
            &[("RC102", 5, 7)],
        ),
        (
            "peewee relative",
            "from peewee import Model\nclass User(Model):\n    pass\ndef f(i):\n    User.update(n=User.n + 1).where(User.id == i).execute()\n",
            &[],
        ),
        (
            "tortoise",
            "from tortoise.models import Model\nclass User(Model):\n    pass\nasync def f(i):\n    u = await User.get(id=i)\n    u.n += 1\n    await u.save()\n",
            &[("RC102", 5, 7)],
        ),
        (
            "pymongo",
            "from pymongo import MongoClient\nusers = MongoClient()['db']['users']\ndef f(i):\n    u = users.find_one({'_id': i})\n    users.update_one({'_id': i}, {'$set': {'n': u['n'] + 1}})\n",
            &[("RC103", 4, 5)],
        ),
        (
            "pymongo inc",
            "from pymongo import MongoClient\nusers = MongoClient()['db']['users']\ndef f(i):\n    users.update_one({'_id': i}, {'$inc': {'n': 1}})\n",
            &[],
        ),
        (
            "boto3 table",
            "import boto3\nt = boto3.resource('dynamodb').Table('t')\ndef f(i):\n    r = t.get_item(Key={'id': i})\n    t.put_item(Item={'id': i, 'n': r['Item']['n'] + 1})\n",
            &[("RC103", 4, 5)],
        ),
        (
            "boto3 condition",
            "import boto3\nt = boto3.resource('dynamodb').Table('t')\ndef f(i):\n    r = t.get_item(Key={'id': i})\n    t.put_item(Item={'id': i, 'n': r['Item']['n'] + 1}, ConditionExpression='v = :v')\n",
            &[],
        ),
        (
            "boto3 s3",
            "import boto3\ns3 = boto3.client('s3')\ndef f(x):\n    d = s3.get_object(Bucket='b', Key='k')['Body'].read()\n    s3.put_object(Bucket='b', Key='k', Body=d + x)\n",
            &[("RC103", 4, 5)],
        ),
    ];
    check("a.py", TABLE);
}

#[test]
fn keys_effects_and_handlers() {
    const TABLE: Table = &[
        (
            "redis",
            "import redis\nr = redis.Redis()\ndef f(k):\n    n = int(r.get(k) or 0)\n    r.set(k, n + 1)\n",
            &[("RC103", 4, 5)],
        ),
        (
            "redis lock",
            "import redis\nr = redis.Redis()\ndef f(k):\n    with r.lock('l', timeout=5):\n        n = int(r.get(k) or 0)\n        r.set(k, n + 1)\n",
            &[],
        ),
        (
            "redis watch",
            "import redis\nr = redis.Redis()\ndef f(k):\n    with r.pipeline() as p:\n        p.watch(k)\n        n = int(p.get(k))\n        p.multi()\n        p.set(k, n + 1)\n        p.execute()\n",
            &[],
        ),
        (
            "redis asyncio",
            "import redis.asyncio as redis\nr = redis.from_url('x')\nasync def f(k):\n    n = await r.get(k)\n    await r.set(k, int(n) + 1)\n",
            &[("RC103", 4, 5)],
        ),
        (
            "django cache",
            "from django.core.cache import cache\ndef f(k):\n    n = cache.get(k)\n    cache.set(k, n + 1)\n",
            &[("RC103", 3, 4)],
        ),
        (
            "tenacity on a method",
            "import requests\nfrom tenacity import retry\nclass A:\n    @retry(stop=3)\n    def f(self, x):\n        requests.post('https://a.b', json=x)\n    def g(self, x):\n        self.f(x)\n",
            &[("RC402", 0, 6)],
        ),
        (
            "permits that are lost",
            "import asyncio, httpx\nlimit = asyncio.Semaphore(4)\nasync def f(client: httpx.AsyncClient):\n    await limit.acquire()\n    await client.get('https://a.b')\n    limit.release()\n",
            &[("RC205", 4, 6)],
        ),
        (
            "tenacity",
            "import requests\nfrom tenacity import retry\n@retry(stop=3)\ndef f(x):\n    requests.post('https://a.b', json=x)\n",
            &[("RC402", 0, 5)],
        ),
        (
            "tenacity get",
            "import requests\nfrom tenacity import retry\n@retry(stop=3)\ndef f(x):\n    requests.get('https://a.b')\n",
            &[],
        ),
        (
            "backoff",
            "import backoff, httpx\n@backoff.on_exception(backoff.expo, Exception)\nasync def f(x):\n    async with httpx.AsyncClient() as c:\n        await c.post('https://a.b', json=x)\n",
            &[("RC402", 0, 5)],
        ),
        (
            "stripe",
            "import stripe\nfrom tenacity import retry\n@retry\ndef f(x):\n    stripe.PaymentIntent.create(amount=x)\n",
            &[("RC402", 0, 5)],
        ),
        (
            "stripe with key",
            "import stripe\nfrom tenacity import retry\n@retry\ndef f(x, k):\n    stripe.PaymentIntent.create(amount=x, idempotency_key=k)\n",
            &[],
        ),
        (
            "mcp tool in retry",
            "import httpx\nfrom tenacity import retry\nfrom mcp.server.fastmcp import FastMCP\nmcp = FastMCP('a')\n@mcp.tool()\n@retry()\ndef f(x):\n    httpx.post('https://a.b', json=x)\n",
            &[("RC402", 0, 8)],
        ),
        (
            "lowlevel server",
            "import json\nfrom mcp.server import Server\nserver = Server('a')\n@server.call_tool()\nasync def g(name, arguments):\n    if name == 'add':\n        d = json.load(open('a'))\n        json.dump(d + [1], open('a', 'w'))\n",
            &[("RC101", 7, 8)],
        ),
        (
            "fastapi",
            "import json\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.post('/a')\nasync def g(x):\n    d = json.load(open('a'))\n    json.dump(d + [x], open('a', 'w'))\n",
            &[("RC101", 6, 7)],
        ),
        (
            "apscheduler",
            "import smtplib\nfrom apscheduler.schedulers.background import BackgroundScheduler\ns = BackgroundScheduler()\ndef job():\n    smtplib.SMTP('a').send_message('x')\ns.add_job(job, 'interval')\n",
            &[("RC406", 6, 5)],
        ),
        (
            "view class",
            "import json\nfrom django.views import View\nclass A(View):\n    def post(self, request):\n        d = json.load(open('a'))\n        json.dump(d + [1], open('a', 'w'))\n",
            &[("RC101", 5, 6)],
        ),
    ];
    check("a.py", TABLE);
}
