// bugs: the article's own wrong example; deployment: cluster
import { PrismaClient } from "@prisma/client";

const prisma = new PrismaClient();

export async function withdraw(id: string, sum: number) {
  const purse = await prisma.purse.findUnique({ where: { id } });
  if (purse.coins >= sum) {
    await prisma.purse.update({ where: { id }, data: { coins: purse.coins - sum } }); // expect: RC102 read=7
  }
}
