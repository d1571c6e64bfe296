// A command runs once, and node ends only when its write has ended.
import { program } from "commander";
import { Settings } from "./settings.js";

const settings = new Settings();

program.command("put <kind> <value>").action(async (kind, value) => {
  await settings.put(kind, value);
});

program.parse();
