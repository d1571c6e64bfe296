// deployment: cluster
import { PrismaClient } from "@prisma/client";

export async function add(prisma: PrismaClient, mac: string, owner: string) {
  if (await prisma.device.findFirst({ where: { mac, owner } })) return false;
  await prisma.device.create({ data: { mac, owner } });
  return true;
}

export async function addByKey(prisma: PrismaClient, mac: string, owner: string) {
  if (await prisma.device.findUnique({ where: { mac_owner: { mac, owner } } })) return false;
  await prisma.device.create({ data: { mac, owner } });
  return true;
}
