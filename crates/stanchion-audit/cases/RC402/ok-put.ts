// also: RC403
// Put twice or deleted twice is as done once.
import axios from "axios";
import pRetry from "p-retry";

export const put = (id: string, body: unknown) =>
  pRetry(() => axios.put(`https://api.example/items/${id}`, body), { retries: 3 });

export const remove = (id: string) =>
  pRetry(() => fetch(`https://api.example/items/${id}`, { method: "DELETE" }), { retries: 3 });

// One after the other is not one again.
export async function alive(hosts: string[]) {
  for (const host of hosts) {
    try {
      await fetch(`https://${host}/ping`, { method: "POST" });
      return host;
    } catch {
      console.error(host);
    }
  }
  return null;
}
