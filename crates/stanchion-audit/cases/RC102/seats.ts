import { PrismaClient } from "@prisma/client";

const prisma = new PrismaClient();

async function f(eventId: string) {
  return prisma.event.findUnique({ where: { id: eventId } });
}

export async function g(eventId: string, userId: string) {
  const event = await f(eventId);
  if (!event) throw new Error("unknown event");
  const taken = event.taken + 1;
  if (taken > event.capacity) return { ok: false };
  await prisma.event.update({ where: { id: eventId }, data: { taken } }); // expect: RC102 read=6
  await prisma.ticket.create({ data: { eventId, userId } });
  return { ok: true };
}
