// also: RC302
// Which file it is follows from what the caller says: one is read at the start, another one is written.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { readFileSync, writeFileSync } from "fs";

const place = (which) => (which === "list" ? "/data/list.json" : "/data/choice.json");

function spelled(which) {
  switch (which) {
    case "list":
      return "/data/names.json";
    default:
      return "/data/chosen.json";
  }
}

class Desk {
  constructor() {
    this.list = [];
    this.names = [];
    this.chosen = null;
  }
  start() {
    this.list = JSON.parse(readFileSync(place("list"), "utf8"));
    this.names = JSON.parse(readFileSync(spelled("list"), "utf8"));
  }
  choose(name) {
    this.chosen = this.list.find((one) => one.name === name).id;
    writeFileSync(place("choice"), JSON.stringify({ id: this.chosen }));
  }
  call(name) {
    this.chosen = this.names.find((one) => one.name === name).id;
    writeFileSync(spelled("choice"), JSON.stringify({ id: this.chosen }));
  }
}

const desk = new Desk();
desk.start();
const server = new McpServer({ name: "desk", version: "1" });
server.tool("choose", {}, async ({ name }) => {
  desk.choose(name);
  return { content: [] };
});
server.tool("call", {}, async ({ name }) => {
  desk.call(name);
  return { content: [] };
});
