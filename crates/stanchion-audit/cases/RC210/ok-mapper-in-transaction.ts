// deployment: cluster
import { Prisma, PrismaClient } from "@prisma/client";

const prisma = new PrismaClient();

export async function reset() {
  await prisma.$transaction(async (tx) => {
    await tx.$executeRaw`SELECT pg_advisory_lock(7)`;
    try {
      await tx.acc.updateMany({ data: { n: 3 } });
    } finally {
      await tx.$executeRaw`SELECT pg_advisory_unlock(7)`;
    }
  });
}

export async function resetIn(tx: Prisma.TransactionClient) {
  await tx.$executeRaw`SELECT pg_advisory_lock(7)`;
  try {
    await tx.acc.updateMany({ data: { n: 3 } });
  } finally {
    await tx.$executeRaw`SELECT pg_advisory_unlock(7)`;
  }
}
