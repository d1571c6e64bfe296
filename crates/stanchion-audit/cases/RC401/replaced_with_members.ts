// A group is made if there is none, by a function that replaces a group with all its members: the second caller's removes
// whom the first one has put in.
import Database from "better-sqlite3";

interface Group {
  id: string;
  title: string;
  members: string[];
}

export class Groups {
  private db = new Database("/data/groups.db");

  constructor() {
    this.db.exec(`
      CREATE TABLE IF NOT EXISTS team (id TEXT PRIMARY KEY, title TEXT);
      CREATE TABLE IF NOT EXISTS member (team TEXT, who TEXT, PRIMARY KEY (team, who));
    `);
  }

  private put(group: Group) {
    this.db.transaction(() => {
      this.db.prepare("INSERT OR REPLACE INTO team (id, title) VALUES (?, ?)").run(group.id, group.title); // expect: RC401 read=32
      this.db.prepare("DELETE FROM member WHERE team_id = ?").run(group.id);
      for (const who of group.members) {
        this.db.prepare("INSERT INTO member (team_id, who) VALUES (?, ?)").run(group.id, who);
      }
    })();
  }

  enter(id: string, who: string) {
    const found = this.db.prepare("SELECT id FROM team WHERE id = ?").get(id);
    if (!found) this.put({ id, title: id, members: [] });
    this.db.prepare("INSERT OR IGNORE INTO member (team_id, who) VALUES (?, ?)").run(id, who);
  }
}
