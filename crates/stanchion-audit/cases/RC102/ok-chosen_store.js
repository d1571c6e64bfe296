// Both of the stores do it in one statement, or under a lock.
const { Server } = require("@modelcontextprotocol/sdk/server/index.js");
const { CallToolRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
const pg = require("pg");
const inOne = (url) => {
  const pool = new pg.Pool({ connectionString: url });
  return {
    take: async (seat, who) => {
      await pool.query("UPDATE seats SET taken_by = $1 WHERE id = $2 AND taken_by IS NULL", [who, seat]);
    },
  };
};
const inTurn = (url) => {
  const pool = new pg.Pool({ connectionString: url });
  return {
    take: async (seat, who) => {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        const found = await client.query("SELECT taken_by FROM seats WHERE id = $1 FOR UPDATE", [seat]);
        if (found.rows[0].taken_by === null) {
          await client.query("UPDATE seats SET taken_by = $1 WHERE id = $2", [who, seat]);
        }
        await client.query("COMMIT");
      } catch (error) {
        await client.query("ROLLBACK");
        throw error;
      } finally {
        client.release();
      }
    },
  };
};
const seats = process.env.SEATS === "one" ? inOne("postgres://seats") : inTurn("postgres://seats");
new Server({ name: "hall", version: "1" }, { capabilities: { tools: {} } }).setRequestHandler(
  CallToolRequestSchema,
  async (request) => {
    await seats.take(request.params.arguments.seat, request.params.arguments.who);
    return { content: [] };
  },
);
