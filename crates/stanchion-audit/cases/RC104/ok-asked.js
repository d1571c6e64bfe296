let shapes = null;
let key;

// Whoever only asks has the same answer twice.
export async function loadShapes() {
  if (shapes) return shapes;
  const answer = await fetch("/shapes.json");
  shapes = await answer.json();
  return shapes;
}

export async function publicKey() {
  if (!key) {
    const answer = await fetch("https://id.example/keys");
    key = (await answer.json()).first;
  }
  return key;
}
