import { Mutex } from "async-mutex";
import express from "express";

const mutex = new Mutex();
const app = express();

async function transcode(name: string): Promise<string> {
  const answer = await fetch(`http://transcoder/${name}`);
  if (!answer.ok) throw new Error("failed");
  return answer.text();
}

app.post("/transcode/:name", async (req, res) => {
  const release = await mutex.acquire();
  const text = await transcode(req.params.name);
  release(); // expect: RC205 read=14
  res.send(text);
});
