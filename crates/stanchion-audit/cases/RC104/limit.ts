let active = 0;

export async function work() {
  if (active >= 3) throw new Error("busy");
  await fetch("https://work.example/check");
  active++; // expect: RC104 read=4
  try {
    await fetch("https://work.example/work");
  } finally {
    active--;
  }
}

class Budget {
  private spent = 0;

  async spend(n: number) {
    if (this.spent + n > 100) throw new Error("budget");
    const answer = await fetch("https://work.example/");
    this.spent += n; // expect: RC104 read=18
    return answer;
  }
}

export const budget = new Budget();
