// The points as a table that can be edited: for keyboards, for screen readers, for exact numbers.
import { openDialog } from "./modal.js";
import { button } from "./parts.js";
import { added, changed, removed } from "./points.js";
import { element, say } from "./text.js";

const PAGE = 100;

/**
 * @param {HTMLElement} root
 * @param {{store: import("./store.js").Store, edit: (part: any, kind: any, group?: string) => void, pointer: any}} lab
 */
export function openPointTable(root, { store, edit, pointer }) {
  const body = element("tbody");
  const words = element("span", { class: "mm-words" });
  let page = 0;
  const turn = (/** @type {number} */ by) => { page += by; draw(); };
  const before = button({ name: "table-before", label: "Earlier points", tip: "The hundred points before.", press: () => turn(-1) });
  const after = button({ name: "table-after", label: "Later points", tip: "The next hundred points.", press: () => turn(1) });
  const add = button({ name: "table-add", label: "Add a point", tip: "One more row at the end, of the chosen class.", press: () => {
    const { points } = store.get();
    edit({ points: added(points, [0, 0, pointer.brush, 0]) }, "add");
    page = Math.floor((store.get().points.length - 1) / PAGE);
    draw();
    /** @type {HTMLElement|null} */ (body.lastElementChild?.querySelector("input"))?.focus();
  } });
  const { names } = store.get();
  const head = element("tr", {}, ...["point", ...names, "class", "role", ""].map((t) => element("th", { scope: "col" }, t)));

  /** @param {number} row @param {"x"|"y"} axis @param {number} value @param {string} name */
  function coordinate(row, axis, value, name) {
    const input = /** @type {HTMLInputElement} */ (element("input", { type: "text", inputmode: "decimal", class: "mm-number", "aria-label": `${name} of point ${row + 1}`, "data-name": `cell-${row}-${axis}` }));
    input.value = String(value);
    input.addEventListener("change", () => {
      const typed = Number(input.value.replace("−", "-"));
      if (input.value.trim() === "" || !Number.isFinite(typed)) input.value = String(store.get().points[row][axis === "x" ? 0 : 1]);
      else edit({ points: changed(store.get().points, row, { [axis]: typed }) }, "move");
    });
    return input;
  }
  /** @param {number} row @param {[string, string][]} options @param {number} value @param {string} label @param {(value: number) => void} change */
  function pick(row, options, value, label, change) {
    const select = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": `${label} of point ${row + 1}`, "data-name": `cell-${row}-${label}` }, ...options.map(([v, t]) => element("option", { value: v }, t))));
    select.value = String(value);
    select.addEventListener("change", () => change(Number(select.value)));
    return select;
  }
  function draw() {
    const { points, labels } = store.get();
    const pages = Math.max(1, Math.ceil(points.length / PAGE));
    page = Math.max(0, Math.min(page, pages - 1));
    const from = page * PAGE;
    body.replaceChildren(...points.slice(from, from + PAGE).map(([x, y, kind, role], i) => {
      const row = from + i;
      const away = button({ name: `cell-${row}-remove`, label: `Remove point ${row + 1}`, sign: "close", bare: true, press: () => { edit({ points: removed(store.get().points, row) }, "data"); draw(); } });
      const cells = [coordinate(row, "x", x, names[0]), coordinate(row, "y", y, names[1]),
        pick(row, labels.map((t, c) => [String(c), t]), kind, "class", (value) => edit({ points: changed(store.get().points, row, { kind: value }) }, "flip")),
        pick(row, [["0", "train"], ["1", "validation"]], role, "role", (value) => edit({ points: changed(store.get().points, row, { role: value }) }, "flip")), away];
      return element("tr", {}, element("th", { scope: "row" }, String(row + 1)), ...cells.map((c) => element("td", {}, c)));
    }));
    say(words, points.length ? `${from + 1} to ${Math.min(points.length, from + PAGE)} of ${points.length}` : "no points");
    before.hidden = after.hidden = pages === 1;
    before.disabled = page === 0;
    after.disabled = page === pages - 1;
  }
  draw();
  return openDialog(root, "table", "The points",
    element("div", { class: "mm-row" }, add, element("span", { class: "mm-gap" }), words, before, after),
    element("div", { class: "mm-scroll" }, element("table", { class: "mm-points", "data-name": "points" }, element("thead", {}, head), body)));
}
