// Methods that only ask, whatever they are called: who asks twice has the same answer twice.
const AT = "https://books.example";
let shelf = null;

export async function findShelf() {
  if (shelf) return shelf;
  const answer = await fetch(`${AT}/dav/`, { method: "PROPFIND", headers: { depth: "0" } });
  const text = await answer.text();
  shelf = { folder: text.slice(text.indexOf("<href>") + 6) };
  return shelf;
}
