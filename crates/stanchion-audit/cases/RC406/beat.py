# deployment: cluster
import psycopg
from apscheduler.schedulers.asyncio import AsyncIOScheduler

conn = psycopg.connect("dbname=app")
scheduler = AsyncIOScheduler()


class Fees:
    def z4(self):
        conn.execute("UPDATE accounts SET fee = fee + 1")  # expect: RC406
        conn.commit()


scheduler.add_job(Fees().z4, "cron", hour=0)
