const { Server } = require("@modelcontextprotocol/sdk/server/index.js");
const { CallToolRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
const index_js_1 = require("./index.js");
const server = new Server({ name: "desk", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(CallToolRequestSchema, async (request) => {
    await (0, index_js_1.openBook)("/data/guests.json").sign(request.params.arguments);
    return { content: [] };
});
