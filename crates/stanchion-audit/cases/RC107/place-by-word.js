// also: RC302, RC101, RC205
// The caller says the same word for both.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { readFileSync, writeFileSync } from "fs";

const place = (which) => (which === "list" ? "/data/list.json" : "/data/choice.json");

const known = JSON.parse(readFileSync(place("list"), "utf8"));
const server = new McpServer({ name: "desk", version: "1" });
server.tool("add", {}, async ({ name }) => {
  known.push({ name });
  writeFileSync(place("list"), JSON.stringify(known)); // expect: RC107 read=8
  return { content: [] };
});
