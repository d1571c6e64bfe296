from flask import Flask, jsonify, request

from ledger import Ledger, default_path

app = Flask(__name__)
ledger = Ledger(default_path())


@app.route("/spend", methods=["POST"])
def spend():
    body = request.get_json()
    data = ledger.load()
    account = data["accounts"][body["account"]]
    account["spent"] = account["spent"] + body["amount"]
    ledger.save(data)
    return jsonify(account)


@app.route("/accounts")
def accounts():
    return jsonify(ledger.load()["accounts"])
