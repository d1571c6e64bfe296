// also: RC302
// Read, emptied and written through one handle.
import { open } from "node:fs/promises";

export async function seat(guest: string): Promise<void> {
  const handle = await open("/data/guests.json", "a+");
  const guests = JSON.parse((await handle.readFile("utf8")) || "[]");
  guests.push(guest);
  await handle.truncate(0);
  await handle.writeFile(JSON.stringify(guests)); // expect: RC101 read=7
  await handle.close();
}
