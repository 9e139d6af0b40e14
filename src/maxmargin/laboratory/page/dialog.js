// Your own data: paste a table, choose a file or drop one; then which column is the label and which are drawn.
import { openDialog } from "./modal.js";
import { button, choice, tick } from "./parts.js";
import { DROPPED } from "./link.js";
import { element, say } from "./text.js";

const EXAMPLE = "height,weight,kind\n1.2,3.4,a\n2.1,0.7,b\n…";
const LARGEST = 3 << 20;

/**
 * @param {HTMLElement} root
 * @param {{link: import("./link.js").Link, use: (data: any) => void, text?: string}} lab
 */
export function openTableDialog(root, { link, use, text = "" }) {
  const area = /** @type {HTMLTextAreaElement} */ (element("textarea", { class: "mm-paste", "data-name": "csv-text", rows: "8", spellcheck: "false", placeholder: EXAMPLE, "aria-label": "Table as text: comma, semicolon or tab between columns" }));
  const file = /** @type {HTMLInputElement} */ (element("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv,text/plain", "data-name": "csv-file", "aria-label": "Choose a file" }));
  const label = choice({ name: "csv-label", label: "The label is", tip: "The column that says which class a row belongs to.", change: read });
  const how = choice({ name: "csv-how", label: "Drawn are", tip: "Two of the columns, or all of them seen from the side: along the widest plane’s w and across it.",
    options: [["pair", "two columns"], ["projection", "all columns, projected on w"]], change: read });
  const first = choice({ name: "csv-x1", label: "across", tip: "The column drawn from left to right.", change: read });
  const second = choice({ name: "csv-x2", label: "upwards", tip: "The column drawn upwards.", change: read });
  const header = tick({ name: "csv-header", label: "The first line holds names", tip: "Whether the first line names the columns, or is a row of data already.", change: (on) => { named = on; read(); } });
  const note = element("p", { class: "mm-words", role: "status", "data-name": "csv-note" });
  const accept = button({ name: "csv-use", label: "Use this data", tip: "Take these points in place of the ones on the page. Undo brings those back.", press: take });
  accept.classList.add("mm-primary");
  accept.disabled = true;
  const choices = element("div", { class: "mm-choices" }, label.node, how.node, first.node, second.node, header.node);
  choices.hidden = true;
  /** @type {any} */ let found = null;
  /** @type {any} */ let timer = null;
  let asked = ""; // the text whose columns are offered
  /** @type {boolean|null} what a person says about the first line */ let named = null;

  const made = openDialog(root, "csv", "Your own data",
    element("p", { class: "mm-words" }, "Paste a table with a column for the label and at least two with numbers, or choose a file. It stays on this computer."),
    area, element("div", { class: "mm-row" }, file, element("span", { class: "mm-gap" }), accept), choices, note);

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
    if (chosen.size > LARGEST) return fail(`A file must have at most 3 MiB. This one has ${(chosen.size / 2 ** 20).toFixed(1)} MiB: take fewer rows.`);
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
    if (!now.trim()) { choices.hidden = true; accept.disabled = true; return say(note, ""); }
    const body = /** @type {any} */ ({ text: now });
    if (asked !== now) named = null;
    if (named !== null) body.header = named;
    if (asked === now) { // the choices belong to this text
      body.label = Number(label.select.value);
      const pair = [first, second].map((c) => Number(c.select.value)).filter((i) => i !== body.label);
      if (how.select.value === "projection") body.features = "projection";
      else if (pair.length === 2 && pair[0] !== pair[1] && first.select.value !== "") body.features = pair;
    }
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
      const answer = await link.ask("table", { text: now, look: true, ...(named === null ? {} : { header: named }) }, "look");
      if (answer === DROPPED || area.value !== now || !answer.columns) return;
      asked = now;
      list(answer);
    } catch {
      choices.hidden = true; // there are no columns at all: the note says why
    }
  }
  /** @param {any} answer */
  function offer(answer) {
    found = answer;
    list(answer);
    note.classList.remove("mm-bad");
    say(note, `${answer.points.length} points, ${answer.labels.length} classes (${answer.labels.join(", ")}).${answer.note ? ` ${answer.note}` : ""}`);
    accept.disabled = !answer.points.length;
  }
  /** What there is to choose from, and what is chosen. @param {any} answer */
  function list(answer) {
    choices.hidden = false;
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
