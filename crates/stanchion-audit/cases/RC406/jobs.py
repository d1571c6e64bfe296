# deployment: cluster
import requests
from apscheduler.schedulers.background import BackgroundScheduler

scheduler = BackgroundScheduler()


def q3():
    for user in requests.get("https://users.example/due", timeout=5).json():
        requests.post("https://mail.example/send", json={"to": user}, timeout=5)  # expect: RC406


scheduler.add_job(q3, "interval", minutes=5, max_instances=1)
scheduler.start()
