// Take it with you: the address that holds the whole state, a Python script, pictures, the film, the trace, the data.
import { printing } from "./canvas.js";
import { openDialog } from "./dialogs.js";
import { DROPPED } from "./link.js";
import { spoken, toCsv } from "./state.js";
import { element } from "./text.js";
import { button } from "./widgets.js";

const PREFIX = "#s=";

/** @param {Uint8Array} bytes @param {CompressionStream|DecompressionStream} stream */
async function through(bytes, stream) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

/** @param {any} state @returns {Promise<string>} the hash, with its "#" */
async function toHash(state) {
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

/** What needs a run, and why a margin machine has none. */
const RUNS = ["gif", "trace"];
const SOLVED = "A margin machine is solved at once: it has no updates to film or to list.";

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const anchor = /** @type {HTMLAnchorElement} */ (element("a", { download: name }));
  anchor.href = URL.createObjectURL(blob);
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}

/** @param {string} text @param {string} name @param {string} type */
export const saveText = (text, name, type) => save(new Blob([text], { type }), name);

/** To the clipboard, also where the page is not allowed to use the new way. @param {string} text @param {HTMLElement} root */
async function copy(text, root) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = /** @type {HTMLTextAreaElement} */ (element("textarea", { class: "mm-hidden", readonly: "" }));
    area.value = text;
    (root.querySelector("dialog[open]") ?? root).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** A canvas on the colour of its card. @param {HTMLCanvasElement[]} canvases @param {HTMLElement} root */
async function picture(canvases, root) {
  const gap = canvases.length > 1 ? Math.round(canvases[0].width / 40) : 0;
  const made = document.createElement("canvas");
  made.width = canvases.reduce((sum, c) => sum + c.width, 0) + gap * (canvases.length - 1);
  made.height = Math.max(...canvases.map((c) => c.height));
  const context = /** @type {CanvasRenderingContext2D} */ (made.getContext("2d"));
  context.fillStyle = getComputedStyle(root).getPropertyValue("--card").trim() || "white";
  context.fillRect(0, 0, made.width, made.height);
  let left = 0;
  for (const canvas of canvases) {
    context.drawImage(canvas, left, 0);
    left += canvas.width + gap;
  }
  return new Promise((/** @type {(blob: Blob) => void} */ resolve) => made.toBlob((blob) => resolve(/** @type {Blob} */ (blob)), "image/png"));
}

/**
 * The button in the header and its menu.
 * @param {HTMLElement} root  of the lab
 * @param {{store: import("./state.js").Store, link: import("./link.js").Link, address: () => Promise<string>, toast: (words: string, bad?: boolean, stay?: boolean) => void,
 *          canvases: () => {x: HTMLCanvasElement, w: HTMLCanvasElement}, redraw: () => void, time: () => number|null, notebook: boolean}} lab
 */
export function createShare(root, { store, link, address, toast, canvases, redraw, time, notebook }) {
  const state = () => ({ ...spoken(store.get()), time: time() });
  /** @param {string} ask @param {any} body @param {(answer: any) => any} use @param {string} [meanwhile] */
  async function fetched(ask, body, use, meanwhile) {
    if (!link.isOpen()) return toast("The connection to Python is lost. Try again when it is back; your points are safe here.", true);
    if (meanwhile) toast(meanwhile, false, true);
    try {
      const answer = await link.ask(ask, { state: state(), ...body });
      if (meanwhile) toast("");
      if (answer !== DROPPED) await use(answer);
      return undefined;
    } catch (error) {
      return toast(/** @type {Error} */ (error).message, true);
    }
  }
  /** @param {("x"|"w")[]} which @param {string} name */
  async function png(which, name) {
    printing.ratio = Math.max(2, Math.min(3, 2 * (devicePixelRatio || 1))); // fine enough for slides and paper
    redraw();
    const all = canvases();
    const made = picture(which.map((w) => all[w]), root); // copied at once; written a moment later
    printing.ratio = 0;
    redraw();
    save(await made, name);
  }
  /** What the view of the weights shows, for the name of a file. */
  const shown = () => ({ "3d-canvas": "3d", "section-canvas": "section" })[canvases().w.dataset.name ?? ""] ?? "w-space";
  const entries = /** @type {[string, string, () => any][]} */ ([
    ...(notebook ? [] : [["copy-link", "Copy link", async () => { await copy(await address(), root); toast("The link is copied: it holds everything on this page."); }]]),
    ["copy-python", "Copy as Python", () => fetched("script", {}, (answer) => showPython(root, answer, toast))],
    ["png-x", "Picture of x-space (PNG)", () => png(["x"], "maxmargin-x-space.png")],
    ["png-w", "Picture of w-space (PNG)", () => png(["w"], `maxmargin-${shown()}.png`)],
    ["png-both", "Picture of both (PNG)", () => png(["x", "w"], `maxmargin-x-space-${shown()}.png`)],
    ["gif", "Film of the run (GIF)", () => fetched("film", { format: "gif" }, (answer) => save(bytes(answer.base64, answer.type), answer.name), "Drawing the film…")],
    ["trace", "Trace of the run (JSON)", () => fetched("trace", {}, (answer) => saveText(answer.json, answer.name ?? "trace.json", "application/json"))],
    ["share-csv", "Data (CSV)", () => saveText(toCsv(store.get()), "points.csv", "text/csv")],
  ]);
  const menu = element("div", { class: "mm-menu", role: "menu", "aria-label": "Share", hidden: "" });
  const open = button({ name: "share", label: "Share", sign: "share", press: () => toggle() });
  open.setAttribute("aria-haspopup", "menu");
  menu.append(...entries.map(([name, label, act]) => {
    const made = button({ name, label, press: () => { toggle(false); if (made.classList.contains("mm-off")) toast(SOLVED, true); else act(); } });
    made.setAttribute("role", "menuitem");
    if (RUNS.includes(name)) made.append(element("small", { hidden: "" }, "no updates: solved at once"));
    return made;
  }));
  const holder = element("div", { class: "mm-share" }, open, menu);
  /** @param {boolean} [on] */
  function toggle(on = menu.hidden) {
    menu.hidden = !on;
    const solved = ["hard", "soft"].includes(store.get().algorithm);
    for (const made of menu.children) {
      const off = solved && RUNS.includes(/** @type {HTMLElement} */ (made).dataset.name ?? "");
      made.classList.toggle("mm-off", off);
      made.querySelector("small")?.toggleAttribute("hidden", !off);
    }
    open.setAttribute("aria-expanded", String(on));
    if (on) /** @type {HTMLElement} */ (menu.firstElementChild).focus();
  }
  holder.addEventListener("focusout", (event) => { if (!holder.contains(/** @type {Node|null} */ (event.relatedTarget)) && event.relatedTarget) toggle(false); });
  holder.addEventListener("keydown", (event) => {
    if (menu.hidden) return;
    const items = /** @type {HTMLElement[]} */ ([...menu.children]);
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Escape") { toggle(false); open.focus(); } else if (to !== undefined) items[to % items.length].focus(); else return;
    event.preventDefault();
    event.stopPropagation();
  });
  root.addEventListener("pointerdown", (event) => { if (!menu.hidden && !holder.contains(/** @type {Node} */ (event.target))) toggle(false); });
  return { node: holder };
}

/** @param {string} base64 @param {string} type */
function bytes(base64, type) {
  return new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], { type });
}

/** @param {HTMLElement} root @param {{python: string, name?: string}} script @param {(words: string, bad?: boolean) => void} toast */
async function showPython(root, { python: code, name = "lab.py" }, toast) {
  const pre = element("pre", { class: "mm-code", "data-name": "python-code", tabindex: "0" }, code);
  const again = async () => toast(await copy(code, root) ? "The script is copied." : "Select the script and copy it by hand.");
  openDialog(root, "python", "The same with Python",
    element("p", { class: "mm-words" }, "This script gives exactly the numbers on the page. It is on your clipboard."), pre,
    element("div", { class: "mm-row" }, button({ name: "python-copy", label: "Copy", tip: "Copy the script.", press: again }),
      button({ name: "python-save", label: "Download", sign: "save", tip: `Save it as ${name}.`, press: () => saveText(code, name, "text/x-python") })));
  await again();
}
