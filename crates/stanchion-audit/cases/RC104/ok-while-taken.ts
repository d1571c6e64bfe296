let total = 0;
let turn: Promise<void> | undefined;

export async function add(id: string) {
  while (turn) await turn;
  let done!: () => void;
  turn = new Promise<void>((resolve) => {
    done = resolve;
  });
  try {
    const before = total;
    const more = await fetch("https://counts.example/" + id).then((answer) => answer.json());
    total = before + more;
  } finally {
    turn = undefined;
    done();
  }
}
