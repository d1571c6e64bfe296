// deployment: cluster
import { PrismaClient } from "@prisma/client";

const prisma = new PrismaClient();

export async function register(email: string) {
  if (await prisma.user.findUnique({ where: { email } })) return "taken";
  await prisma.user.create({ data: { email } });
  return "ok";
}

export class Users {
  constructor(private readonly db: PrismaClient) {}

  async register(email: string) {
    if (await this.db.user.findUnique({ where: { email } })) return "taken";
    await this.db.user.create({ data: { email } });
    return "ok";
  }
}
