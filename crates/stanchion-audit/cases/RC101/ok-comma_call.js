// also: RC302
// What is read is thrown away by the comma: only the last part is a value.
"use strict";
const node_fs_1 = require("node:fs");
exports.fresh = (title) => {
    const list = ((0, node_fs_1.existsSync)("/data/old.json"), [title]);
    (0, node_fs_1.writeFileSync)("/data/fresh.json", JSON.stringify(list));
};
exports.shown = () => (0, JSON.parse)((0, node_fs_1.readFileSync)("/data/fresh.json", "utf8"));
