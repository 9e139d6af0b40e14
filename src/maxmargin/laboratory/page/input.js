// What a person does: gestures on a canvas, keys, and files or tables from outside.

/** @typedef {[number, number]} Pair */
/**
 * @typedef {Object} Meanings  all optional but locate; places are pixels of the canvas
 * @property {(event: PointerEvent | WheelEvent) => Pair} locate
 * @property {(at: Pair, event: PointerEvent) => boolean} [grab]  a press; true if something is taken in hand
 * @property {(at: Pair, event: PointerEvent) => void} [drag]  what is in hand moves
 * @property {(at: Pair, moved: boolean) => void} [drop]  it is let go; moved is false after a mere tap
 * @property {(at: Pair, event: PointerEvent) => void} [tap]  a press that did not move
 * @property {(at: Pair, event: PointerEvent) => void} [twice]  a second tap at the same place
 * @property {(at: Pair, event: PointerEvent) => void} [second]  right button, or a click with alt or ctrl
 * @property {(dx: number, dy: number, event: PointerEvent) => void} [pan]
 * @property {(by: number, at: Pair) => void} [zoom]
 * @property {(dx: number, dy: number) => void} [arrow]  an arrow key, up is +1; with shift it is a tenth
 * @property {(at: Pair | null, event: PointerEvent) => void} [hover]  null when the pointer leaves
 */

const TAP_PIXELS = 4; // pixels a press may wander and still be a tap (fingers: three times that)
const DOUBLE_TAP_MS = 350;
const ARROWS = /** @type {Record<string, Pair>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] });

/**
 * @typedef {Object} Hand  what fingers and mouse are doing on a canvas
 * @property {HTMLCanvasElement} canvas @property {Meanings} means
 * @property {Map<number, Pair>} down  pointers that are pressed, and where they are
 * @property {{id: number, from: Pair, last: Pair, held: boolean, pan: boolean, moved: boolean, second: boolean} | null} press
 * @property {boolean} pinched  until all fingers are up
 * @property {{time: number, at: Pair}} tapped  the last tap
 */

/**
 * @param {HTMLCanvasElement} canvas @param {Meanings} means
 * @returns {{busy: () => boolean, destroy: () => void}}
 */
export function listen(canvas, means) {
  /** @type {Hand} */
  const hand = { canvas, means, down: new Map(), press: null, pinched: false, tapped: { time: -1e9, at: [0, 0] } };
  canvas.style.touchAction = "none";
  const events = /** @type {[string, any, AddEventListenerOptions?][]} */ ([
    ["pointerdown", pressed], ["pointermove", moved], ["pointerup", released], ["pointercancel", released],
    ["pointerleave", left], ["wheel", wheel, { passive: false }], ["contextmenu", prevent], ["keydown", key],
  ]).map(([name, act, options]) => /** @type {const} */ ([name, (/** @type {any} */ event) => act(hand, event), options]));
  for (const [name, act, options] of events) canvas.addEventListener(name, act, options);
  return {
    busy: () => hand.down.size > 0,
    destroy() { for (const [name, act] of events) canvas.removeEventListener(name, act); },
  };
}

/** @param {Hand} hand @param {PointerEvent} event */
function pressed(hand, event) {
  const { canvas, means, down, press } = hand;
  const at = means.locate(event);
  down.set(event.pointerId, at);
  try { canvas.setPointerCapture(event.pointerId); } catch { /* a pointer that is already gone */ }
  if (down.size === 2 && press) { // a second finger: from now on it is a pinch
    if (press.held) means.drop?.(press.last, press.moved);
    hand.press = null;
    hand.pinched = true;
    return;
  }
  if (down.size > 1) return;
  const second = event.button === 2 || (event.button === 0 && (event.altKey || event.ctrlKey));
  const pan = event.button === 1 || (event.button === 0 && event.shiftKey);
  if (event.button === 1) event.preventDefault(); // no scrolling by the middle button
  const held = !second && !pan && event.button === 0 && Boolean(means.grab?.(at, event));
  hand.press = { id: event.pointerId, from: at, last: at, held, pan, moved: false, second };
}

/** @param {Hand} hand @param {PointerEvent} event */
function moved(hand, event) {
  const { means, down, press } = hand;
  const at = means.locate(event);
  const before = down.get(event.pointerId);
  if (!before) {
    if (event.pointerType !== "touch") means.hover?.(at, event);
    return;
  }
  if (down.size === 2 && hand.pinched) pinch(hand, event, before, at);
  down.set(event.pointerId, at);
  if (!press || press.id !== event.pointerId) return;
  const still = event.pointerType === "touch" ? 3 * TAP_PIXELS : TAP_PIXELS;
  if (!press.moved && Math.hypot(at[0] - press.from[0], at[1] - press.from[1]) < still) return;
  press.moved = true;
  if (press.held) means.drag?.(at, event);
  else if (!press.second) means.pan?.(at[0] - press.last[0], at[1] - press.last[1], event);
  press.last = at;
}

/** Two fingers: their middle pans, their distance zooms. @param {Hand} hand @param {PointerEvent} event @param {Pair} before @param {Pair} at */
function pinch({ means, down }, event, before, at) {
  const other = /** @type {Pair} */ ([...down].find(([id]) => id !== event.pointerId)?.[1]);
  means.pan?.((at[0] - before[0]) / 2, (at[1] - before[1]) / 2, event);
  const [old, now] = [Math.hypot(before[0] - other[0], before[1] - other[1]), Math.hypot(at[0] - other[0], at[1] - other[1])];
  if (old > 8 && now > 8) means.zoom?.(old / now, [(at[0] + other[0]) / 2, (at[1] + other[1]) / 2]);
}

/** @param {Hand} hand @param {PointerEvent} event */
function released(hand, event) {
  const { means, down, press, tapped } = hand;
  if (!down.delete(event.pointerId)) return;
  if (!down.size) hand.pinched = false;
  if (!press || press.id !== event.pointerId) return;
  const { held, moved: far, second, pan, last } = press;
  const at = event.type === "pointercancel" ? last : means.locate(event);
  hand.press = null;
  if (held) means.drop?.(far ? at : last, far);
  if (far || event.type === "pointercancel") return;
  if (second) return means.second?.(at, event);
  if (pan) return;
  const now = performance.now();
  const again = now - tapped.time < DOUBLE_TAP_MS && Math.hypot(at[0] - tapped.at[0], at[1] - tapped.at[1]) < 8;
  hand.tapped = { time: again ? -1e9 : now, at };
  if (again && means.twice) means.twice(at, event);
  else means.tap?.(at, event);
}

/** @param {Hand} hand @param {PointerEvent} event */
function left({ means, down }, event) {
  if (!down.size) means.hover?.(null, event);
}

/** @param {Hand} hand @param {WheelEvent} event */
function wheel({ means }, event) {
  event.preventDefault();
  const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 160 : 1;
  means.zoom?.(Math.exp(Math.max(-60, Math.min(60, event.deltaY * lines)) * (event.ctrlKey ? 0.012 : 0.0035)), means.locate(event));
}

/** @param {Hand} hand @param {Event} event */
function prevent(hand, event) {
  event.preventDefault();
}

/** @param {Hand} hand @param {KeyboardEvent} event */
function key({ canvas, means }, event) {
  const way = ARROWS[event.key];
  const by = { "+": 1 / 1.2, "=": 1 / 1.2, "-": 1.2 }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey || !(way ? means.arrow : by && means.zoom)) return;
  event.preventDefault();
  const size = event.shiftKey ? 0.1 : 1;
  if (way) means.arrow?.(way[0] * size, way[1] * size);
  else if (by) means.zoom?.(by, [canvas.clientWidth / 2, canvas.clientHeight / 2]);
}

/**
 * @param {EventTarget} target  the document, or the lab's element in a notebook @param {HTMLElement} root  the lab's element
 * @param {{player: import("./timeline.js").Player, store: import("./state.js").Store, pointer: any, actions: any, leaveHand: () => void,
 *          help: () => void, refresh: () => void, redraw: () => void, nudge: () => number}} lab
 */
export function createKeys(target, root, { player, store, pointer, actions, leaveHand, help, refresh, redraw, nudge }) {
  /** @param {number} by */
  function select(by) {
    const n = store.get().points.length;
    if (!n) return;
    pointer.selected = pointer.selected < 0 ? (by > 0 ? 0 : n - 1) : (pointer.selected + by + n) % n;
    refresh();
  }
  /** Whether a letter means the pictures: one of them has the focus, or nothing has. @param {KeyboardEvent} event */
  const free = (event) => !(event.target instanceof Element) || event.target === root || event.target.matches("canvas, body, html");
  /** Keys that act on the selected point; true if this was one. @param {KeyboardEvent} event */
  function onPoint(event) {
    const row = pointer.selected;
    const point = store.get().points[row];
    if (!point) return false;
    if (event.shiftKey && event.key in ARROWS) {
      const [dx, dy] = ARROWS[event.key];
      const by = nudge() * (event.altKey ? 0.1 : 1);
      const [x, y] = [point[0] + dx * by, point[1] + dy * by].map((v) => Number(v.toPrecision(12)));
      actions.move(row, x, y, "key");
    } else if (event.key === "f" && free(event)) actions.flip(row);
    else if (event.key === "Delete" || event.key === "Backspace") actions.remove(row);
    else return false;
    return true;
  }
  /** @param {KeyboardEvent} event */
  function onTime(event) {
    const moves = { " ": () => player.toggle(), ArrowLeft: () => player.step(-1), ArrowRight: () => player.step(1), Home: () => player.seek(0), End: () => player.seek(player.K()) };
    if (!(event.key in moves) || event.shiftKey) return false;
    leaveHand();
    moves[event.key]();
    return true;
  }
  /** @param {KeyboardEvent} event */
  function onAny(event) {
    const kind = "12345".indexOf(event.key);
    if (event.key === "Escape") {
      if (store.get().hand) leaveHand(); else pointer.selected = -1;
      refresh();
    } else if (!free(event)) return false;
    else if (event.key === "?") help();
    else if (kind >= 0 && kind < store.get().labels.length && event.key.length === 1) { pointer.brush = kind; redraw(); } else if (event.key === "[") select(-1);
    else if (event.key === "]") select(1);
    else return false;
    return true;
  }
  /** @param {Event} raw */
  function pressed(raw) {
    const event = /** @type {KeyboardEvent} */ (raw);
    const on = event.target instanceof Element ? event.target : document.body;
    if (event.defaultPrevented || on.closest("dialog") || root.querySelector("dialog[open]")) return;
    const typing = on.matches("input[type=text], textarea, [contenteditable]");
    if ((event.ctrlKey || event.metaKey) && !typing && ["z", "y"].includes(event.key.toLowerCase())) {
      event.preventDefault();
      if (event.shiftKey || event.key.toLowerCase() === "y") store.redo(); else store.undo();
      return;
    }
    if (event.ctrlKey || event.metaKey || typing) return;
    const scrub = on.matches("[data-name=scrub]");
    if (!scrub && on.matches("select, input[type=range]") && event.key !== " ") return; // their own arrows
    if (event.key === " " && on.matches("button, summary, select, input[type=checkbox]")) return; // pressed by the keyboard
    if (onPoint(event) || onTime(event) || onAny(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }
  target.addEventListener("keydown", pressed);
  return { destroy: () => target.removeEventListener("keydown", pressed) };
}

/**
 * @param {HTMLElement} root
 * @param {{page: boolean, openCsv: (text: string) => void}} lab
 */
export function listenOutside(root, { page, openCsv }) {
  const element = (/** @type {Event} */ event) => (event.target instanceof Element ? event.target : null);

  root.addEventListener("mousedown", (event) => { // the mouse does not give the focus to buttons and pictures: space and arrows keep meaning time
    const on = element(event);
    if (!on || on.closest("input, select, textarea, dialog, [role=menu]")) return;
    if (on.closest("button, canvas")) event.preventDefault();
    if (!page) root.focus({ preventScroll: true });
    else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
  root.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    root.classList.add("mm-drop");
  });
  root.addEventListener("dragleave", (event) => {
    if (!root.contains(/** @type {Node|null} */ (event.relatedTarget))) root.classList.remove("mm-drop");
  });
  root.addEventListener("drop", async (event) => {
    root.classList.remove("mm-drop");
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    openCsv(await file.text());
  });
  const pasted = (/** @type {Event} */ raw) => {
    const event = /** @type {ClipboardEvent} */ (raw);
    const text = event.clipboardData?.getData("text") ?? "";
    if (element(event)?.closest("input, textarea, dialog") || root.querySelector("dialog[open]")) return;
    if (!/[,;\t].*\n/.test(text)) return; // not a table
    event.preventDefault();
    openCsv(text);
  };
  const target = page ? document : root;
  target.addEventListener("paste", pasted);
  return { destroy: () => target.removeEventListener("paste", pasted) };
}
