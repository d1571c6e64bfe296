// Another class has a method of this name, and that one is called.
import express from "express";
import { Glossary } from "./glossary.js";
import { Printer } from "./printer.js";

const glossary = new Glossary();
const printer = new Printer();
await printer.prepare();

const app = express();
app.get("/:word", async (req, res) => res.json(await glossary.meaning(req.params.word)));
app.listen(3000);
