let session = null;

// Each login ends the one before.
export async function login(name) {
  if (session) return session;
  const answer = await fetch("https://id.example/sessions", { method: "POST", body: name });
  session = await answer.json(); // expect: RC104 read=5
  return session;
}
