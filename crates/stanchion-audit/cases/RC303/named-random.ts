import fs from "node:fs/promises";

const uuid = "next";
const pid = () => `rapid-${uuid}`;

export async function save(text: string): Promise<void> {
  const random = `/data/${pid()}.tempfile`;
  await fs.writeFile(random, text);
  await fs.rename(random, "/data/state.json"); // expect: RC303 read=8
}
