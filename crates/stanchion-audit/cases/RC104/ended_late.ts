// What is closed ends later: if it is opened anew before that, the end of the old one takes the new one out of the map.
import { spawn, type ChildProcess } from "node:child_process";

const shells = new Map<string, ChildProcess>();

export function open(name: string): ChildProcess {
  const there = shells.get(name);
  if (there) return there;
  const shell = spawn("bash", ["-i"]);
  shell.on("exit", () => {
    shells.delete(name); // expect: RC104
  });
  shells.set(name, shell);
  return shell;
}

export function close(name: string) {
  const shell = shells.get(name);
  if (!shell) return;
  shell.kill();
  shells.delete(name);
}
