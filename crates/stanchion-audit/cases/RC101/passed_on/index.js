"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.openBook = exports.pages = void 0;
const book_js_1 = require("./book.js");
Object.defineProperty(exports, "openBook", { enumerable: true, get: function () { return book_js_1.openBook; } });
Object.defineProperty(exports, "pages", { enumerable: true, get() { return book_js_1.limits.pages; } });
