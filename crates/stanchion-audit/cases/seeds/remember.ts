// bugs: 16, 17; deployment: cluster
import { PrismaClient } from "@prisma/client";

const prisma = new PrismaClient();

export async function remember(req: Incoming, res: Outgoing, next: () => void) {
  const key = String(req.headers["idempotency-key"]);
  const seen = await prisma.answer.findUnique({ where: { key } });
  if (seen) {
    res.status(seen.status).json(seen.body);
    return;
  }
  const send = res.json.bind(res);
  res.json = (body: object) => {
    prisma.answer.create({ data: { key, status: res.statusCode, body } }).catch(() => {}); // expect: RC401 read=8
    return send(body);
  };
  next();
}
