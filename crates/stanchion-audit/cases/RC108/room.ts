// also: RC302, RC107, RC101
import * as fs from "fs";

interface Player { name: string; score: number }

export class Room {
  private players: Player[] = [];
  constructor(private file: string) {}

  load() {
    this.players = JSON.parse(fs.readFileSync(this.file, "utf8"));
  }

  join(name: string) {
    this.players.push({ name, score: 0 });
    this.persist();
  }

  score(name: string, points: number) {
    for (const player of this.players) if (player.name === name) player.score += points;
    this.persist();
  }

  private persist() {
    fs.promises.writeFile(this.file, JSON.stringify(this.players)).catch(console.error); // expect: RC108
  }
}
