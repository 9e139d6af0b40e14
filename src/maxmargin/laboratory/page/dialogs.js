// Boxes above the page: short notes, help, your own data, and the points as a table.
import { DROPPED } from "./link.js";
import { added, changed, removed } from "./state.js";
import { element, say } from "./text.js";
import { button, choice, tick } from "./widgets.js";

/**
 * A dialog that takes the keyboard until it is closed, then gives the focus back.
 * @param {HTMLElement} root @param {string} name @param {string} title @param {...(Node|string)} children
 */
export function openDialog(root, name, title, ...children) {
  const back = document.activeElement;
  const dialog = /** @type {HTMLDialogElement} */ (element("dialog", { class: "mm-dialog", "data-name": `${name}-dialog`, "aria-label": title }));
  const close = () => { dialog.close(); dialog.remove(); };
  dialog.append(
    element("header", {}, element("h2", {}, title), button({ name: `${name}-close`, label: "Close", sign: "close", bare: true, tip: "Close (Escape)", press: close })),
    element("div", { class: "mm-dialog-body" }, ...children),
  );
  dialog.addEventListener("click", (event) => { if (event.target === dialog) close(); });
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (back instanceof HTMLElement) back.focus({ preventScroll: true });
  });
  root.append(dialog);
  dialog.showModal();
  return { dialog, close };
}

/** @param {HTMLElement} root */
export function createToast(root) {
  const box = element("div", { class: "mm-toast", role: "status", "aria-live": "polite", "data-name": "toast" });
  /** @type {any} */ let timer = null;
  return (/** @type {string} */ words, bad = false, stay = false) => { // stay: until the next one; no words: away with it
    clearTimeout(timer);
    if (!words) return box.classList.remove("mm-open");
    (root.querySelector("dialog[open]") ?? root).append(box); // above a dialog, if there is one
    box.textContent = words;
    box.classList.toggle("mm-bad", bad);
    box.classList.add("mm-open");
    if (!stay) timer = setTimeout(() => box.classList.remove("mm-open"), bad ? 7000 : Math.max(2600, 60 * words.length));
    return undefined;
  };
}

/** Keys, views and terms in a few words. @param {HTMLElement} root @param {any} hello  what Python said first, or null */
export function openHelp(root, hello) {
  const version = hello ? hello.version : "";
  const glossary = Object.entries(hello?.glossary ?? {}).sort(([a], [b]) => a.localeCompare(b));
  const keys = /** @type {[string, string][]} */ ([
    ["space", "play or pause"], ["← →", "one update back or on"], ["Home End", "to the start, to the end"],
    ["Ctrl+Z", "undo"], ["Ctrl+Shift+Z Ctrl+Y", "redo"], ["Delete", "remove the selected point"], ["Escape", "back from weights set by hand; let a point go"],
    ["[ ]", "select the previous or next point"], ["Shift+arrows", "move the selected point"], ["f", "flip the selected point"],
    ["1–5", "the class of new points"], ["?", "this page"],
  ]); // letters and numbers: while a picture has the focus, or nothing has
  const list = element("dl", { class: "mm-keys" }, ...keys.map(([key, words]) => element("div", {}, element("dt", {}, ...key.split(" ").map((k) => element("kbd", {}, k))), element("dd", {}, words))));
  const views = [
    ["x-space", "Every point is a row of the data. Click to add one, drag to move it, click with the right button to flip it. The line is where f(x) = 0 for the weights shown (in more dimensions it is a plane); the arrow on it is w. Wheel to zoom, drag the ground to pan, double-click to see all."],
    ["w-space", "Every plane is a point (w₁, w₂) here, and every data point is a line: on one of its sides the point is classified correctly. Where all agree lies the cone of solutions. Click anywhere to set w by hand."],
    ["3-D and section", "With the bias there are three weights. The solutions of the margin machine form a polyhedron; its point nearest to the axis of b is the widest street."],
    ["Truth", "The verdict is decided in exact arithmetic, with a proof. Numbers come from the library, never from the page."],
  ];
  return openDialog(root, "help", "Keys and views",
    element("div", { class: "mm-help" }, list, element("div", {}, ...views.flatMap(([title, words]) => [element("h3", {}, title), element("p", {}, words)]))),
    ...(glossary.length ? [element("h3", {}, "Terms"), element("dl", { class: "mm-terms", "data-name": "glossary" },
      ...glossary.map(([term, words]) => element("div", {}, element("dt", {}, term), element("dd", {}, String(words)))))] : []),
    element("p", { class: "mm-quiet" }, version ? `maxmargin ${version}` : "maxmargin"));
}

const EXAMPLE_TABLE = "height,weight,kind\n1.2,3.4,a\n2.1,0.7,b\n…";
const MAX_FILE_BYTES = 3 << 20;

/** Which columns of a table are the label and the features, and whether its first line holds names. @param {() => void} read  after a choice */
function createColumnChoices(read) {
  let named = /** @type {boolean | null} */ (null); // what a person says about the first line
  const label = choice({ name: "csv-label", label: "The label is", tip: "The column that says which class a row belongs to.", change: read });
  const how = choice({ name: "csv-how", label: "Drawn are", tip: "Two of the columns, or all of them seen from the side: along the widest plane’s w and across it.",
    options: [["pair", "two columns"], ["projection", "all columns, projected on w"]], change: read });
  const first = choice({ name: "csv-x1", label: "across", tip: "The column drawn from left to right.", change: read });
  const second = choice({ name: "csv-x2", label: "upwards", tip: "The column drawn upwards.", change: read });
  const header = tick({ name: "csv-header", label: "The first line holds names", tip: "Whether the first line names the columns, or is a row of data already.", change: (on) => { named = on; read(); } });
  const node = element("div", { class: "mm-choices" }, label.node, how.node, first.node, second.node, header.node);
  node.hidden = true;
  return {
    node,
    /** Another table: nothing is known of its first line. */
    forget() { named = null; },
    header: () => (named === null ? {} : { header: named }),
    /** What is chosen, as Python is asked for it. */
    chosen() {
      const body = /** @type {any} */ ({ label: Number(label.select.value) });
      const pair = [first, second].map((c) => Number(c.select.value)).filter((i) => i !== body.label);
      if (how.select.value === "projection") body.features = "projection";
      else if (pair.length === 2 && pair[0] !== pair[1] && first.select.value !== "") body.features = pair;
      return body;
    },
    /** What there is to choose from, and what is chosen. @param {any} answer */
    fill(answer) {
      node.hidden = false;
      const columns = /** @type {any[]} */ (answer.columns);
      const offers = columns.map((c, i) => /** @type {[string, string]} */ ([String(i), c.name]));
      const numeric = offers.filter((_, i) => columns[i].numeric && i !== answer.label);
      label.fill(offers);
      label.set(String(answer.label ?? columns.length - 1));
      first.fill(numeric);
      second.fill(numeric);
      const projected = answer.features === "projection";
      how.set(projected ? "projection" : "pair");
      first.node.hidden = second.node.hidden = projected;
      if (!projected) {
        const pair = answer.features ?? numeric.map(([i]) => Number(i)).slice(0, 2);
        first.set(String(pair[0] ?? ""));
        second.set(String(pair[1] ?? pair[0] ?? ""));
      }
      header.set(columns.some((c, i) => c.name !== `column ${i + 1}`));
    },
  };
}

/**
 * @param {HTMLElement} root
 * @param {{link: import("./link.js").Link, use: (data: any) => void, text?: string}} lab
 */
export function openTableDialog(root, { link, use, text = "" }) {
  const area = /** @type {HTMLTextAreaElement} */ (element("textarea", { class: "mm-paste", "data-name": "csv-text", rows: "8", spellcheck: "false", placeholder: EXAMPLE_TABLE, "aria-label": "Table as text: comma, semicolon or tab between columns" }));
  const file = /** @type {HTMLInputElement} */ (element("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv,text/plain", "data-name": "csv-file", "aria-label": "Choose a file" }));
  const choices = createColumnChoices(read);
  const note = element("p", { class: "mm-words", role: "status", "data-name": "csv-note" });
  const accept = button({ name: "csv-use", label: "Use this data", tip: "Take these points in place of the ones on the page. Undo brings those back.", press: take });
  accept.classList.add("mm-primary");
  accept.disabled = true;
  /** @type {any} */ let found = null;
  /** @type {any} */ let timer = null;
  let asked = ""; // the text whose columns are offered

  const made = openDialog(root, "csv", "Your own data",
    element("p", { class: "mm-words" }, "Paste a table with a column for the label and at least two with numbers, or choose a file. It stays on this computer."),
    area, element("div", { class: "mm-row" }, file, element("span", { class: "mm-gap" }), accept), choices.node, note);

  area.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(read, 250); });
  file.addEventListener("change", () => { if (file.files && file.files[0]) load(file.files[0]); });
  made.dialog.addEventListener("dragover", (event) => event.preventDefault());
  made.dialog.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    const dropped = event.dataTransfer && event.dataTransfer.files[0];
    if (dropped) load(dropped);
  });

  /** @param {File} chosen */
  async function load(chosen) {
    if (chosen.size > MAX_FILE_BYTES) return fail(`A file must have at most 3 MiB. This one has ${(chosen.size / 2 ** 20).toFixed(1)} MiB: take fewer rows.`);
    area.value = await chosen.text();
    return read();
  }
  /** @param {string} words */
  function fail(words) {
    found = null;
    accept.disabled = true;
    note.classList.add("mm-bad");
    say(note, words);
  }
  async function read() {
    const now = area.value;
    if (!now.trim()) { choices.node.hidden = true; accept.disabled = true; return say(note, ""); }
    if (asked !== now) choices.forget(); // they belong to another text
    const body = { text: now, ...choices.header(), ...(asked === now ? choices.chosen() : {}) };
    if (!link.isOpen()) return fail("The connection to Python is lost. Try again when it is back.");
    try {
      const answer = await link.ask("table", body);
      if (answer === DROPPED) return undefined;
      asked = now;
      return offer(answer);
    } catch (error) {
      fail(/** @type {Error} */ (error).message);
      return asked === now ? undefined : look(now);
    }
  }
  /** The columns of a table that cannot be used as it is: perhaps others can. @param {string} now */
  async function look(now) {
    try {
      const answer = await link.ask("table", { text: now, look: true, ...choices.header() }, "look");
      if (answer === DROPPED || area.value !== now || !answer.columns) return;
      asked = now;
      choices.fill(answer);
    } catch {
      choices.node.hidden = true; // there are no columns at all: the note says why
    }
  }
  /** @param {any} answer */
  function offer(answer) {
    found = answer;
    choices.fill(answer);
    note.classList.remove("mm-bad");
    say(note, `${answer.points.length} points, ${answer.labels.length} classes (${answer.labels.join(", ")}).${answer.note ? ` ${answer.note}` : ""}`);
    accept.disabled = !answer.points.length;
  }
  function take() {
    if (!found) return;
    use(found);
    made.close();
  }
  if (text) { area.value = text; read(); }
  area.focus();
  return made;
}

const ROWS_PER_PAGE = 100;

/**
 * @param {HTMLElement} root
 * @param {{store: import("./state.js").Store, edit: (part: any, kind: any, group?: string) => void, pointer: any}} lab
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
    page = Math.floor((store.get().points.length - 1) / ROWS_PER_PAGE);
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
    const pages = Math.max(1, Math.ceil(points.length / ROWS_PER_PAGE));
    page = Math.max(0, Math.min(page, pages - 1));
    const from = page * ROWS_PER_PAGE;
    body.replaceChildren(...points.slice(from, from + ROWS_PER_PAGE).map(([x, y, kind, role], i) => {
      const row = from + i;
      const away = button({ name: `cell-${row}-remove`, label: `Remove point ${row + 1}`, sign: "close", bare: true, press: () => { edit({ points: removed(store.get().points, row) }, "data"); draw(); } });
      const cells = [coordinate(row, "x", x, names[0]), coordinate(row, "y", y, names[1]),
        pick(row, labels.map((t, c) => [String(c), t]), kind, "class", (value) => edit({ points: changed(store.get().points, row, { kind: value }) }, "flip")),
        pick(row, [["0", "train"], ["1", "validation"]], role, "role", (value) => edit({ points: changed(store.get().points, row, { role: value }) }, "flip")), away];
      return element("tr", {}, element("th", { scope: "row" }, String(row + 1)), ...cells.map((c) => element("td", {}, c)));
    }));
    say(words, points.length ? `${from + 1} to ${Math.min(points.length, from + ROWS_PER_PAGE)} of ${points.length}` : "no points");
    before.hidden = after.hidden = pages === 1;
    before.disabled = page === 0;
    after.disabled = page === pages - 1;
  }
  draw();
  return openDialog(root, "table", "The points",
    element("div", { class: "mm-row" }, add, element("span", { class: "mm-gap" }), words, before, after),
    element("div", { class: "mm-scroll" }, element("table", { class: "mm-points", "data-name": "points" }, element("thead", {}, head), body)));
}
