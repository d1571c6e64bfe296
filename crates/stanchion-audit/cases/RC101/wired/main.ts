import { Disk } from "./disk";
import { made } from "./tools.js";

async function start() {
  const server = made(new Disk("/data/list.json"));
  await server.connect();
}

start();
