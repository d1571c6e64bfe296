let pending: Promise<void> | undefined;

async function push(batch: string[]): Promise<void> {
  await fetch("https://sink.example/batch", { method: "PUT", body: JSON.stringify(batch) });
}

export async function save(batch: string[]) {
  while (pending) {
    await pending;
  }
  pending = push(batch);
  try {
    await pending;
  } finally {
    pending = undefined;
  }
}
