// Asking Python: per channel one request on its way and one waiting, the latest; older ones are forgotten.

/** Said by the page when a request was overtaken by a newer one: not an error, nothing to do. */
export const DROPPED = Symbol("dropped");
/** After so many ms a newer request is sent although the older one has not been answered: the server ends that one. */
const SLOW_MS = 800;
const PAUSES_MS = [300, 600, 1200, 2500, 5000];

/**
 * @typedef {Object} Request
 * @property {any} body @property {(answer: any) => void} resolve @property {(error: Error) => void} reject
 * @property {number} [id] @property {number} [since]
 *
 * @typedef {Object} Transport
 * @property {(body: any) => boolean} send  false when there is no connection now
 * @property {(take: (reply: any) => void, opened: () => void, closed: () => void) => void} listen
 * @property {() => void} close
 */

/**
 * @typedef {{flying: Request|null, waiting: Request|null, timer: any}} Channel
 *
 * @typedef {Object} Traffic  what is asked and not yet answered
 * @property {Transport} transport @property {boolean} open @property {number} number  of the last request
 * @property {Map<string, Channel>} channels @property {Map<number, {channel: string, request: Request}>} flying
 * @property {((open: boolean) => void)[]} watchers
 * @property {{sent: number, answered: number, dropped: number, errors: number}} stats
 */

/** @param {Transport} transport */
export function createLink(transport) {
  /** @type {Traffic} */
  const traffic = { transport, open: false, number: 0, channels: new Map(), flying: new Map(), watchers: [], stats: { sent: 0, answered: 0, dropped: 0, errors: 0 } };
  transport.listen((reply) => take(traffic, reply), () => setOpen(traffic, true), () => setOpen(traffic, false));
  return {
    stats: traffic.stats,
    /**
     * @param {string} ask @param {any} [body] @param {string} [name]  the channel, otherwise the ask's
     * @returns {Promise<any>} the answer, or DROPPED
     */
    ask(ask, body = {}, name = ask) {
      return new Promise((resolve, reject) => {
        const channel = channelOf(traffic, name);
        drop(traffic, channel.waiting);
        channel.waiting = { body: { ...body, ask }, resolve, reject };
        advance(traffic, name);
      });
    },
    /** How many are on their way or waiting. */
    pending: () => [...traffic.channels.values()].reduce((sum, c) => sum + (c.flying ? 1 : 0) + (c.waiting ? 1 : 0), 0),
    isOpen: () => traffic.open,
    /** @param {(open: boolean) => void} watch */
    watch(watch) { traffic.watchers.push(watch); },
    close: () => transport.close(),
  };
}

/** @param {Traffic} traffic @param {string} name */
function channelOf({ channels }, name) {
  let channel = channels.get(name);
  if (!channel) channels.set(name, channel = { flying: null, waiting: null, timer: null });
  return channel;
}

/** @param {Traffic} traffic @param {string} name @param {Request} request */
function send(traffic, name, request) {
  const channel = channelOf(traffic, name);
  request.id = ++traffic.number;
  request.since = performance.now();
  if (!traffic.transport.send({ ...request.body, id: request.id, channel: name })) {
    channel.waiting = request;
    return;
  }
  traffic.stats.sent += 1;
  channel.flying = request;
  traffic.flying.set(request.id, { channel: name, request });
}

/** @param {Traffic} traffic @param {Request|null} request */
function drop(traffic, request) {
  if (!request) return;
  traffic.stats.dropped += 1;
  request.resolve(DROPPED);
}

/** Send what waits, if its channel is free or the one before it is slow. @param {Traffic} traffic @param {string} name */
function advance(traffic, name) {
  const channel = channelOf(traffic, name);
  clearTimeout(channel.timer);
  if (!channel.waiting || !traffic.open) return;
  const age = channel.flying ? performance.now() - /** @type {number} */ (channel.flying.since) : Infinity;
  if (age < SLOW_MS) {
    channel.timer = setTimeout(() => advance(traffic, name), SLOW_MS - age + 5);
    return;
  }
  if (channel.flying) {
    traffic.flying.delete(/** @type {number} */ (channel.flying.id));
    drop(traffic, channel.flying);
    channel.flying = null;
  }
  const next = channel.waiting;
  channel.waiting = null;
  send(traffic, name, next);
}

/** @param {Traffic} traffic @param {any} reply */
function take(traffic, reply) {
  const known = traffic.flying.get(reply && reply.id);
  if (!known) return;
  traffic.flying.delete(reply.id);
  const channel = channelOf(traffic, known.channel);
  if (channel.flying === known.request) channel.flying = null;
  if (reply.dropped) drop(traffic, known.request);
  else if (reply.error !== undefined) {
    traffic.stats.errors += 1;
    known.request.reject(new Error(reply.error));
  } else {
    traffic.stats.answered += 1;
    known.request.resolve(reply.answer);
  }
  advance(traffic, known.channel);
}

/** The connection is there, or gone. @param {Traffic} traffic @param {boolean} open */
function setOpen(traffic, open) {
  traffic.open = open;
  for (const [name, channel] of traffic.channels) {
    if (!open && channel.flying) { // it will be asked again, unless a newer one waits already
      traffic.flying.delete(/** @type {number} */ (channel.flying.id));
      if (channel.waiting) drop(traffic, channel.flying);
      else channel.waiting = channel.flying;
      channel.flying = null;
    }
    if (open) advance(traffic, name);
  }
  for (const watch of traffic.watchers) watch(open);
}

/** @typedef {ReturnType<typeof createLink>} Link */

/** JSON text frames over a websocket that comes back by itself. @param {string} url @returns {Transport} */
export function overSocket(url) {
  /** @type {WebSocket|null} */ let socket = null;
  /** @type {any} */ let timer = null;
  let [tries, ended] = [0, false];
  return {
    send(body) {
      if (!socket || socket.readyState !== WebSocket.OPEN) return false;
      socket.send(JSON.stringify(body));
      return true;
    },
    listen(take, opened, closed) {
      const connect = () => {
        const made = new WebSocket(url);
        socket = made;
        made.onopen = () => { tries = 0; opened(); };
        made.onmessage = (event) => take(JSON.parse(event.data));
        made.onclose = () => {
          if (ended) return;
          closed();
          timer = setTimeout(connect, PAUSES_MS[Math.min(tries++, PAUSES_MS.length - 1)]);
        };
      };
      connect();
    },
    close() {
      ended = true;
      clearTimeout(timer);
      if (socket) socket.close();
    },
  };
}

/** The same bodies as custom messages of a notebook widget. @param {any} model @returns {Transport} */
export function overWidget(model) {
  /** @type {((reply: any) => void)|null} */ let handler = null;
  return {
    send(body) { model.send(body); return true; },
    listen(take, opened) {
      handler = take;
      model.on("msg:custom", handler);
      queueMicrotask(opened);
    },
    close() { if (handler) model.off("msg:custom", handler); },
  };
}

/**
 * @template {any[]} A
 * @param {(...given: A) => void} ask @param {number} pause  milliseconds between two questions
 * @returns {{(key: string, ...given: A): void, again(): void, stop(): void}}
 */
export function latest(ask, pause) {
  let asked = /** @type {string | null} */ (null);
  let waiting = /** @type {{key: string, given: A} | null} */ (null);
  let timer = /** @type {ReturnType<typeof setTimeout> | 0} */ (0);
  const go = () => {
    timer = 0;
    if (!waiting) return;
    const { key, given } = waiting;
    waiting = null;
    asked = key;
    timer = setTimeout(go, pause);
    ask(...given);
  };
  const made = (/** @type {string} */ key, /** @type {A} */ ...given) => {
    if (waiting ? waiting.key === key : asked === key) return;
    waiting = { key, given };
    if (!timer) timer = setTimeout(go, 0); // not within a frame: asking may draw
  };
  made.again = () => { asked = null; };
  made.stop = () => { clearTimeout(timer); waiting = null; };
  return made;
}
