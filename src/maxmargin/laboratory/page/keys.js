// The keyboard: time everywhere, points when the data view has the focus.

/**
 * @param {EventTarget} target  the document, or the lab's element in a notebook @param {HTMLElement} root  the lab's element
 * @param {{player: import("./player.js").Player, store: import("./store.js").Store, pointer: any, actions: any, leaveHand: () => void,
 *          help: () => void, refresh: () => void, redraw: () => void, nudge: () => number}} lab
 */
export function createKeys(target, root, { player, store, pointer, actions, leaveHand, help, refresh, redraw, nudge }) {
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
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
