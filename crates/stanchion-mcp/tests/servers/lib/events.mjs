// One stream of server-sent events, which may outlive its connection (legacy resumption).

/** Events that are kept for a client that comes back. */
const KEPT = 1000;
/** How soon a client that was hung up on shall come back. */
const RETRY_MS = 100;

let named = 0;

export class EventStream {
  #events = [];
  #first = 0;
  #sent = 0;
  #response = null;
  #finished = false;
  #session;
  /** Was a client ever connected? From then on the answer must be an event. */
  opened = false;

  constructor(session) {
    named += 1;
    this.name = `s${named}`;
    this.#session = session;
  }

  /** Only legacy sessions keep streams, and only this version knows the empty first event. */
  get #resumable() {
    return this.#session.streams !== undefined && this.#session.version >= '2025-11-25';
  }

  /** Connects a client, which has seen every event before number `from`. */
  attach(response, head, from = undefined) {
    const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', ...head };
    this.opened = true;
    if (this.#resumable) this.#session.streams.set(this.name, this);
    if (response.destroyed) return;
    response.writeHead(200, headers);
    response.flushHeaders();
    this.#response = response;
    response.on('close', () => {
      if (this.#response === response) this.#response = null;
    });
    const unseen = this.#events.slice(Math.max((from ?? this.#sent) - this.#first, 0));
    if (from === undefined && this.#resumable) this.#push('', `retry: ${RETRY_MS}\n`);
    unseen.forEach((event) => response.write(event));
    this.#sent = this.#first + this.#events.length;
    if (this.#finished) this.#end();
  }

  send(text) {
    this.#push(text, '');
  }

  finish(text) {
    this.#push(text, '');
    this.#finished = true;
    if (this.#response) this.#end();
  }

  /** Everything was handed over: nobody will ask for it again. */
  #end() {
    this.#response.end();
    this.#session.streams?.delete(this.name);
  }

  hangUp() {
    this.#response?.end();
    this.#response = null;
  }

  #push(text, extra) {
    const number = this.#first + this.#events.length;
    const id = this.#resumable ? `id: ${this.name}_${number}\n` : '';
    const event = `${id}${extra}data: ${text}\n\n`;
    this.#events.push(event);
    if (this.#events.length > KEPT) {
      this.#events.shift();
      this.#first += 1;
    }
    if (!this.#response) return;
    this.#response.write(event);
    this.#sent = number + 1;
  }
}
