// The promise is kept, and one of the two goes past it.
import express from "express";
import { Glossary } from "./glossary.js";
import { Printer } from "./printer.js";

const glossary = new Glossary();
const printer = new Printer();
await printer.prepare();

const app = express();
app.get("/:word", async (req, res) => res.json(await glossary.reload([req.params.word])));
app.listen(3000);
