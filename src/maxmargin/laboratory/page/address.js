// The whole state in the address of the page: JSON, deflated, base64url after "#s=".

const PREFIX = "#s=";

/** @param {Uint8Array} bytes @param {CompressionStream|DecompressionStream} stream */
async function through(bytes, stream) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

/** @param {any} state @returns {Promise<string>} the hash, with its "#" */
export async function toHash(state) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let text = "";
  for (let i = 0; i < bytes.length; i += 4096) text += String.fromCharCode(...bytes.subarray(i, i + 4096));
  return PREFIX + btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/**
 * The state in a hash, null if there is none, false if it cannot be read. Plain JSON after the prefix is read too.
 * @param {string} hash @returns {Promise<any>}
 */
export async function fromHash(hash) {
  if (!hash.startsWith(PREFIX)) return null;
  const body = hash.slice(PREFIX.length);
  try {
    const plain = decodeURIComponent(body);
    if (plain.startsWith("{")) return JSON.parse(plain);
    const bytes = Uint8Array.from(atob(body.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
  } catch {
    return false;
  }
}

const QUIET_MS = 300;

/**
 * Keep the address up to date (a moment after the last change) and notice when a person changes it.
 * @param {() => any} read  the state to write
 * @param {(state: any) => void} restore  called with a state from a changed address
 */
export function followAddress(read, restore) {
  let written = location.hash;
  /** @type {any} */ let timer = null;
  async function write() {
    timer = null;
    const before = location.hash;
    const hash = await toHash(read());
    if (location.hash !== before) return; // a link was pasted meanwhile: it wins
    written = hash;
    history.replaceState(history.state, "", written);
  }
  const changed = async () => {
    if (location.hash === written) return;
    const state = await fromHash(location.hash);
    if (state !== null) restore(state);
  };
  window.addEventListener("hashchange", changed);
  return {
    touch() {
      clearTimeout(timer);
      timer = setTimeout(write, QUIET_MS);
    },
    /** The link to this state, now. */
    async link() {
      return location.href.split("#")[0] + await toHash(read());
    },
    destroy() {
      clearTimeout(timer);
      window.removeEventListener("hashchange", changed);
    },
  };
}
