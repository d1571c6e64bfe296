let active = 0;
let errors = 0;
let tries = 0;

// Counted before others can run.
export async function work() {
  if (active >= 3) throw new Error("busy");
  active++;
  try {
    await fetch("https://work.example/work");
  } finally {
    active--;
  }
}

// It is counted whatever was found.
export async function failed() {
  if (errors > 10) await fetch("https://work.example/alert", { method: "POST" });
  errors++;
}

export async function again() {
  if (tries >= 5) return;
  tries++;
  await new Promise((resolve) => setTimeout(resolve, 1000 * tries));
  await fetch("https://work.example/work");
}
