// A record that was fetched, or a token that is fetched anew when it has ended: whoever fetches twice has it twice.
import { secret, signedIn } from "./remote.js";

let found: { id: string; key: string } | null = null;

export async function secrets() {
  if (found) return found;
  const id = await secret("id");
  found = { id: id.value, key: (await secret("key")).value };
  return found;
}

export class Session {
  private token: string | null = null;
  private until = 0;

  async get(): Promise<string> {
    if (this.token && this.until > Date.now()) return this.token;
    const answer = await signedIn();
    this.token = answer.token;
    this.until = new Date(answer.until).getTime();
    return answer.token;
  }
}
