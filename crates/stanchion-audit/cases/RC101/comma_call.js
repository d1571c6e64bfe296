// also: RC302
// As a compiler writes calls of what was imported: the brackets take the receiver away, and give the function as it is.
"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.lend = void 0;
const node_fs_1 = require("node:fs");
const register = "/data/register.json";
const lend = async (title) => {
    const lent = JSON.parse((0, node_fs_1.readFileSync)(register, "utf-8"));
    lent.push(title);
    (0, node_fs_1.writeFileSync)(register, JSON.stringify(lent)); // expect: RC101 read=9
};
exports.lend = lend;

let turns = 0;
exports.lendCounted = (title) => {
    const lent = (turns++, JSON.parse(node_fs_1.readFileSync(register, "utf-8")));
    return lent.push(title), node_fs_1.writeFileSync(register, JSON.stringify(lent)); // expect: RC101 read=17
};
