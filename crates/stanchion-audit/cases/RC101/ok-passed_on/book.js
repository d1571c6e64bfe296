const fs = require("node:fs");
exports.openEmptyBook = (file) => ({
    sign: async (guest) => fs.writeFileSync(file, JSON.stringify([guest])),
});
