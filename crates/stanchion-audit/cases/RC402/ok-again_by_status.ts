// Who is not let in has done nothing, and another model is another call.
import express from "express";
import { renew } from "./login.js";

async function send(body: string, again = true): Promise<Response> {
  try {
    const answer = await fetch("https://pay.example/charges", { method: "POST", body });
    if (!answer.ok) throw Object.assign(new Error("refused"), { status: answer.status });
    return answer;
  } catch (error: any) {
    if (!again || error.status !== 401) throw error;
    await renew();
    return send(body, false);
  }
}

async function asked(body: string, model: string): Promise<Response> {
  try {
    return await fetch(`https://models.example/${model}`, { method: "POST", body });
  } catch (error) {
    if (model === "small") throw error;
    return asked(body, "small");
  }
}

const app = express();
app.post("/pay", async (req, res) => {
  await asked(req.body, "large");
  res.status((await send(req.body)).status).end();
});
app.listen(3000);
