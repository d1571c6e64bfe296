import os from "node:os";
import path from "node:path";

export const PLACES = { editor: { style: "tabs", file: path.join(os.homedir(), ".editor.json") } };
