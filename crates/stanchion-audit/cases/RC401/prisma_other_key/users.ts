// deployment: cluster
import { PrismaClient } from "@prisma/client";

const prisma = new PrismaClient();

export async function register(email: string, name: string) {
  if (await prisma.user.findFirst({ where: { email } })) return "taken";
  await prisma.user.create({ data: { email, name } }); // expect: RC401 read=7
  return "ok";
}
