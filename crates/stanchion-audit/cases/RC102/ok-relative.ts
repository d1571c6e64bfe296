import { PrismaClient } from "@prisma/client";

const prisma = new PrismaClient();

export async function like(postId: string) {
  await prisma.post.update({ where: { id: postId }, data: { likes: { increment: 1 } } });
  const post = await prisma.post.findUnique({ where: { id: postId } });
  return post?.likes;
}

export async function rename(postId: string, title: string) {
  await prisma.post.update({ where: { id: postId }, data: { title } });
}

export async function claim(jobId: string, worker: string) {
  const { count } = await prisma.job.updateMany({ where: { id: jobId, state: "due" }, data: { state: "taken", worker } });
  return count === 1;
}
