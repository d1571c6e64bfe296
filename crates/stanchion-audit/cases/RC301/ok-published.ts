// The same content is put into place as a whole: whoever comes second replaces it with its like.
import fs from "node:fs";
import { randomUUID } from "node:crypto";

export function render(path: string, text: string) {
  if (fs.existsSync(path)) {
    return;
  }
  const draft = `${path}.${randomUUID()}.tmp`;
  fs.writeFileSync(draft, text);
  fs.renameSync(draft, path);
}
