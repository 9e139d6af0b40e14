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

/** @param {Transport} transport */
export function createLink(transport) {
  const stats = { sent: 0, answered: 0, dropped: 0, errors: 0 };
  /** @type {Map<string, {flying: Request|null, waiting: Request|null, timer: any}>} */ const channels = new Map();
  /** @type {Map<number, {channel: string, request: Request}>} */ const flying = new Map();
  /** @type {((open: boolean) => void)[]} */ const watchers = [];
  let [number, open] = [0, false];

  /** @param {string} name */
  function channelOf(name) {
    let channel = channels.get(name);
    if (!channel) channels.set(name, channel = { flying: null, waiting: null, timer: null });
    return channel;
  }

  /** @param {string} name @param {Request} request */
  function send(name, request) {
    const channel = channelOf(name);
    request.id = ++number;
    request.since = performance.now();
    if (!transport.send({ ...request.body, id: request.id, channel: name })) {
      channel.waiting = request;
      return;
    }
    stats.sent += 1;
    channel.flying = request;
    flying.set(request.id, { channel: name, request });
  }

  /** @param {Request|null} request */
  function drop(request) {
    if (!request) return;
    stats.dropped += 1;
    request.resolve(DROPPED);
  }

  /** Send what waits, if its channel is free or the one before it is slow. @param {string} name */
  function advance(name) {
    const channel = channelOf(name);
    clearTimeout(channel.timer);
    if (!channel.waiting || !open) return;
    const age = channel.flying ? performance.now() - /** @type {number} */ (channel.flying.since) : Infinity;
    if (age < SLOW_MS) {
      channel.timer = setTimeout(() => advance(name), SLOW_MS - age + 5);
      return;
    }
    if (channel.flying) {
      flying.delete(/** @type {number} */ (channel.flying.id));
      drop(channel.flying);
      channel.flying = null;
    }
    const next = channel.waiting;
    channel.waiting = null;
    send(name, next);
  }

  /** @param {any} reply */
  function take(reply) {
    const known = flying.get(reply && reply.id);
    if (!known) return;
    flying.delete(reply.id);
    const channel = channelOf(known.channel);
    if (channel.flying === known.request) channel.flying = null;
    if (reply.dropped) drop(known.request);
    else if (reply.error !== undefined) {
      stats.errors += 1;
      known.request.reject(new Error(reply.error));
    } else {
      stats.answered += 1;
      known.request.resolve(reply.answer);
    }
    advance(known.channel);
  }

  /** @param {boolean} now */
  function status(now) {
    open = now;
    for (const [name, channel] of channels) {
      if (!now && channel.flying) { // it will be asked again, unless a newer one waits already
        flying.delete(/** @type {number} */ (channel.flying.id));
        if (channel.waiting) drop(channel.flying);
        else channel.waiting = channel.flying;
        channel.flying = null;
      }
      if (now) advance(name);
    }
    for (const watch of watchers) watch(now);
  }
  transport.listen(take, () => status(true), () => status(false));

  return {
    stats,
    /**
     * @param {string} ask @param {any} [body] @param {string} [name]  the channel, otherwise the ask's
     * @returns {Promise<any>} the answer, or DROPPED
     */
    ask(ask, body = {}, name = ask) {
      return new Promise((resolve, reject) => {
        const channel = channelOf(name);
        drop(channel.waiting);
        channel.waiting = { body: { ...body, ask }, resolve, reject };
        advance(name);
      });
    },
    /** How many are on their way or waiting. */
    pending: () => [...channels.values()].reduce((sum, c) => sum + (c.flying ? 1 : 0) + (c.waiting ? 1 : 0), 0),
    isOpen: () => open,
    /** @param {(open: boolean) => void} watch */
    watch(watch) { watchers.push(watch); },
    close: () => transport.close(),
  };
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
