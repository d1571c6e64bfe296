// Others can run between the look and the mark: no lock.
let total = 0;
const held = new Set<string>();

export async function add(id: string) {
  while (held.has("total")) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, 1));
  held.add("total");
  const before = total;
  const more = await fetch("https://counts.example/" + id).then((answer) => answer.json());
  total = before + more; // expect: RC104 read=9
  held.delete("total");
}
