// The same calls, but something is made by them: of two, one is never given back.
const AT = "https://books.example";
let shelf = null;

export async function openShelf() {
  if (shelf) return shelf;
  const answer = await fetch(`${AT}/dav/`, { method: "LOCK", headers: { depth: "0" } });
  const text = await answer.text();
  shelf = { token: text.slice(text.indexOf("<href>") + 6) }; // expect: RC104 read=6
  return shelf;
}
