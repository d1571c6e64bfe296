// deployment: cluster
import { PrismaClient } from "@prisma/client";

const prisma = new PrismaClient();

export async function reset() {
  await prisma.$executeRaw`SELECT pg_advisory_lock(7)`; // expect: RC210
  try {
    await prisma.acc.updateMany({ data: { n: 3 } });
  } finally {
    await prisma.$executeRaw`SELECT pg_advisory_unlock(7)`;
  }
}
