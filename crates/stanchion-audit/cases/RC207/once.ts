let pending: Promise<void> | undefined;

async function push(batch: string[]): Promise<void> {
  await fetch("https://sink.example/batch", { method: "PUT", body: JSON.stringify(batch) });
}

export async function save(batch: string[]) {
  if (pending) {
    await pending;
  }
  pending = push(batch); // expect: RC207 read=8
  await pending;
  pending = undefined;
}
