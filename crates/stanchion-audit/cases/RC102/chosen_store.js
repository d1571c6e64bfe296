// also: RC302, RC301
// One of two stores, made by functions that give objects without a class: each of them may be the one.
const { Server } = require("@modelcontextprotocol/sdk/server/index.js");
const { CallToolRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
const pg = require("pg");
const fs = require("node:fs");
const inBase = (url) => {
  const pool = new pg.Pool({ connectionString: url });
  return {
    take: async (seat, who) => {
      const found = await pool.query("SELECT taken_by FROM seats WHERE id = $1", [seat]);
      if (found.rows[0].taken_by !== null) return false;
      await pool.query("UPDATE seats SET taken_by = $1 WHERE id = $2", [who, seat]); // expect: RC102 read=11
      return true;
    },
  };
};
const inFile = (file) => ({
  take: async (seat, who) => {
    const all = JSON.parse(fs.readFileSync(file, "utf8"));
    all[seat] = who;
    fs.writeFileSync(file, JSON.stringify(all)); // expect: RC101 read=20
    return true;
  },
});
let seats = null;
const open = () => {
  if (seats) return seats;
  switch (process.env.SEATS) {
    case "base":
      seats = inBase("postgres://seats");
      break;
    default:
      seats = inFile("/data/seats.json");
  }
  return seats;
};
new Server({ name: "hall", version: "1" }, { capabilities: { tools: {} } }).setRequestHandler(
  CallToolRequestSchema,
  async (request) => {
    await open().take(request.params.arguments.seat, request.params.arguments.who);
    return { content: [] };
  },
);
