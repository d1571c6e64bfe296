// also: RC302
// A function that another file passes on by a getter, as compilers do.
const fs = require("node:fs");
const openBook = (file) => ({
    sign: async (guest) => {
        const guests = JSON.parse(fs.readFileSync(file, "utf8"));
        guests.push(guest);
        fs.writeFileSync(file, JSON.stringify(guests)); // expect: RC101 read=6
    },
});
exports.limits = { pages: 40 };
exports.openBook = openBook;
