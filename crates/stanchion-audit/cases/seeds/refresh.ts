// bugs: the article's own wrong example; deployment: cluster
import fs from "node:fs";

export function refresh(place: string, text: string) {
  if (fs.existsSync(place)) {
    fs.writeFileSync(place, text); // expect: RC301 read=5
  }
}
