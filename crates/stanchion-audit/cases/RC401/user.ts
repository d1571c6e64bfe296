import { PrismaClient } from "@prisma/client";
import express from "express";

const prisma = new PrismaClient();
const app = express();

app.post("/users", async (req, res) => {
  const existing = await prisma.user.findFirst({ where: { email: req.body.email } });
  if (existing) return res.status(409).end();
  const user = await prisma.user.create({ data: { email: req.body.email } }); // expect: RC401 read=8
  res.status(201).json(user);
});
