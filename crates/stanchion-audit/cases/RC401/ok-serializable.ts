import { PrismaClient, Prisma } from "@prisma/client";

const prisma = new PrismaClient();

export async function reserve(room: string, day: string) {
  return prisma.$transaction(
    async (tx) => {
      const taken = await tx.booking.findFirst({ where: { room, day } });
      if (taken) throw new Error("taken");
      return tx.booking.create({ data: { room, day } });
    },
    { isolationLevel: Prisma.TransactionIsolationLevel.Serializable },
  );
}
