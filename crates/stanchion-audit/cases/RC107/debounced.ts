// also: RC302
import { readFileSync, writeFileSync, existsSync } from "node:fs";
import { EventEmitter } from "node:events";
import debounce from "lodash/debounce";

export interface Session { id: string; hits: number }

export class SessionManager extends EventEmitter {
  private sessions = new Map<string, Session>();
  private save = debounce(() => this.flush(), 500);

  constructor(private file: string) {
    super();
    if (existsSync(file)) {
      for (const s of JSON.parse(readFileSync(file, "utf8")) as Session[]) this.sessions.set(s.id, s);
    }
  }

  touch(id: string) {
    const s = this.sessions.get(id) ?? { id, hits: 0 };
    s.hits++;
    this.sessions.set(id, s);
    this.save();
    this.emit("touch", s);
  }

  flush() {
    writeFileSync(this.file, JSON.stringify([...this.sessions.values()])); // expect: RC107 read=15
  }
}

const manager = new SessionManager("sessions.json");
export const touch = (id: string) => manager.touch(id);
