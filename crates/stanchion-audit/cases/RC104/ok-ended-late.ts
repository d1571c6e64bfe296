// It is removed only if it is still there, nobody else takes it out, or each has a key of its own.
import { randomUUID } from "node:crypto";
import { spawn, type ChildProcess } from "node:child_process";

const shells = new Map<string, ChildProcess>();
const jobs = new Map<string, ChildProcess>();
const guests = new Map<string, ChildProcess>();

export function open(name: string): ChildProcess {
  const there = shells.get(name);
  if (there) return there;
  const shell = spawn("bash", ["-i"]);
  shell.on("exit", () => {
    if (shells.get(name) === shell) shells.delete(name);
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

export function run(name: string): ChildProcess {
  const there = jobs.get(name);
  if (there) return there;
  const job = spawn("make", [name]);
  job.on("exit", () => {
    jobs.delete(name);
  });
  jobs.set(name, job);
  return job;
}

export function stop(name: string) {
  jobs.get(name)?.kill();
}

export function invite(): string {
  const id = randomUUID();
  const guest = spawn("bash", ["-i"]);
  guest.on("exit", () => {
    guests.delete(id);
  });
  guests.set(id, guest);
  return id;
}

export function dismiss(id: string) {
  const guest = guests.get(id);
  if (!guest) return;
  guest.kill();
  guests.delete(id);
}
