import pRetry from "p-retry";

async function d3(order: { id: string; amount: number }) {
  const answer = await fetch("https://pay.example/charges", { method: "POST", body: JSON.stringify(order) }); // expect: RC402
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

export async function settle(order: { id: string; amount: number }) {
  return pRetry(() => d3(order), { retries: 4 });
}
