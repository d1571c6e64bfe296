# deployment: cluster
import psycopg
import requests
from apscheduler.schedulers.background import BackgroundScheduler

conn = psycopg.connect("dbname=app")
scheduler = BackgroundScheduler()
cache = {}


def send_due():
    rows = conn.execute("UPDATE reminders SET state = 'sending' WHERE state = 'due' RETURNING id, email").fetchall()
    conn.commit()
    for reminder_id, email in rows:
        requests.post("https://mail.example/send", json={"to": email}, headers={"Idempotency-Key": str(reminder_id)}, timeout=5)


def forget():
    cache.clear()


scheduler.add_job(send_due, "interval", minutes=5)
scheduler.add_job(forget, "interval", minutes=5)
