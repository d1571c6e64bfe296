// deployment: cluster
// Tried again because it has failed, or because there is more to do, and once only.
import express from "express";

const app = express();

async function tell(url: string, left: number): Promise<void> {
  try {
    await fetch(url, { method: "POST" });
  } catch {
    if (left > 0) setTimeout(() => tell(url, left - 1), 1000);
  }
}

async function poll(url: string): Promise<void> {
  const answer = await fetch(url, { method: "POST" });
  if (answer.status === 202) {
    setTimeout(() => poll(url), 1000);
  }
}

function later(url: string): void {
  setTimeout(() => fetch(url, { method: "POST" }), 1000);
}

app.post("/tell", (req, res) => {
  void tell(req.body.url, 3);
  void poll(req.body.url);
  later(req.body.url);
  res.end();
});
