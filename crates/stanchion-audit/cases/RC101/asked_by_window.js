// also: RC302
// Two windows, or two copies of the program, ask at the same time.
const { app, ipcMain } = require("electron");
const { readFile, writeFile } = require("node:fs/promises");

const PLACE = "/data/recent.json";

ipcMain.handle("recent:add", async (_event, { place }) => {
  const all = JSON.parse(await readFile(PLACE, "utf8"));
  all.unshift(place);
  await writeFile(PLACE, JSON.stringify(all.slice(0, 10))); // expect: RC101 read=9
  return all;
});

ipcMain.handle("recent:all", async () => JSON.parse(await readFile(PLACE, "utf8")));

app.whenReady();
