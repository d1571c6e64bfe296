// Starts a server as its command line says: `--stdio` (the default) or `--http PORT` (0: any; the address is told on
// standard output), and `--era legacy|modern` to know only one era. With `--while-stdin` an HTTP server ends when its
// standard input does, so that it cannot outlive a test that was killed.

import { serveHttp } from './http.mjs';
import { Hub } from './protocol.mjs';
import { serveStdio } from './stdio.mjs';

/** The word after `--name`, or undefined. */
export function option(name) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}

export function start(server) {
  server.hub = new Hub();
  server.era = option('era');
  const port = option('http');
  if (port === undefined) serveStdio(server);
  else serveHttp(server, Number(port));
  if (port !== undefined && process.argv.includes('--while-stdin')) {
    process.stdin.resume().on('end', () => process.exit(0));
  }
}
