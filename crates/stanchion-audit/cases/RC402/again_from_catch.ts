import express from "express";

async function again<T>(work: () => Promise<T>, left = 3): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (left <= 1) throw error;
    return again(work, left - 1);
  }
}

const app = express();
app.post("/pay", async (req, res) => {
  await again(() => fetch("https://pay.example/charges", { method: "POST", body: req.body })); // expect: RC402
  res.end();
});
app.listen(3000);
