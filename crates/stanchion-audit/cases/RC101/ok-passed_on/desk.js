const { Server } = require("@modelcontextprotocol/sdk/server/index.js");
const { CallToolRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
const { openBook } = require("./index.js");
const server = new Server({ name: "desk", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(CallToolRequestSchema, async (request) => {
    await openBook("/data/guests.json").sign(request.params.arguments);
    return { content: [] };
});
