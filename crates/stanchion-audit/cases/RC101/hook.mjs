// also: RC302
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import os from "node:os";

const file = join(os.homedir(), ".hooks", "usage.json");
const input = JSON.parse(readFileSync(0, "utf8"));

const usage = JSON.parse(readFileSync(file, "utf8"));
usage[input.tool_name] = (usage[input.tool_name] ?? 0) + 1;
writeFileSync(file, JSON.stringify(usage)); // expect: RC101 read=9
