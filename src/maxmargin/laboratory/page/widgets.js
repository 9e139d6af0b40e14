// The pieces controls are made of: each has a visible label, a tooltip in plain words and a data-name.
import { element } from "./text.js";
import { TIPS } from "./tips.js";

const SVG = "http://www.w3.org/2000/svg";
/** Paths on a 16 × 16 grid. */
const ICONS = {
  play: "M4 2.5v11l9.5-5.5z", pause: "M4 2.5h3v11H4zM9.5 2.5h3v11h-3z", next: "M3 3v10l6.5-5zM11 3h2v10h-2z", back: "M13 3v10L6.5 8zM3 3h2v10H3z",
  first: "M13.5 3v10L8.5 8zM8 3v10L3 8zM1 3h1.6v10H1z", last: "M2.5 3v10l5-5zM8 3v10l5-5zM13.4 3H15v10h-1.6z",
  undo: "M6.2 2.2 2 6l4.2 3.8V7.2h3.3a2.6 2.6 0 0 1 0 5.2H5v1.8h4.5a4.4 4.4 0 0 0 0-8.8H6.2z",
  redo: "M9.8 2.2 14 6 9.8 9.8V7.2H6.5a2.6 2.6 0 0 0 0 5.2H11v1.8H6.5a4.4 4.4 0 0 1 0-8.8h3.3z",
  point: "M7 1.5h2V7h5.5v2H9v5.5H7V9H1.5V7H7z", flip: "M5 1.5 1.5 5 5 8.5V6h8V4H5zM11 7.5v2.5H3v2h8v2.5l3.5-3.5z",
  erase: "M9.6 2 14 6.4 8.2 12.2H14V14H5.2L2 10.8a1 1 0 0 1 0-1.4zM4 10.1l1.9 1.9h.9l1.6-1.6-2.8-2.8z",
  clear: "M6 1.5h4V3h4v1.6H2V3h4zM3.2 6h9.6l-.8 8.5H4z", fit: "M2 2h4.5v1.7H3.7v2.8H2zM9.5 2H14v4.5h-1.7V3.7H9.5zM2 9.5h1.7v2.8h2.8V14H2zM12.3 9.5H14V14H9.5v-1.7h2.8z",
  theme: "M8 1.2a6.8 6.8 0 1 0 0 13.6A6.8 6.8 0 0 0 8 1.2zm0 1.9v9.8a4.9 4.9 0 0 1 0-9.8z",
  share: "M8 1 4.4 4.6l1.2 1.2L7.1 4.3V10h1.8V4.3l1.5 1.5 1.2-1.2zM2.5 8h1.8v4.7h7.4V8h1.8v6.5h-11z",
  draw: "M3 2h10a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1V3a1 1 0 0 1 1-1zm2.3 2a1.3 1.3 0 1 0 .01 0zm5.4 0a1.3 1.3 0 1 0 .01 0zM8 6.700a1.3 1.3 0 1 0 .01 0zm-2.7 2.700a1.3 1.3 0 1 0 .01 0zm5.4 0a1.3 1.3 0 1 0 .01 0z",
  save: "M8 11 4.4 7.400l1.2-1.2 1.5 1.500V1.500h1.800v6.200l1.5-1.5 1.2 1.200zM2.5 10h1.800v2.700h7.400V10h1.800v4.500h-11z",
  close: "M3.3 2 8 6.7 12.7 2 14 3.3 9.3 8l4.7 4.7-1.3 1.300L8 9.3 3.3 14 2 12.7 6.7 8 2 3.300z",
};

/** @param {string} name */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "mm-icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  path.setAttribute("fill-rule", "evenodd");
  svg.append(path);
  return svg;
}

/**
 * @param {{name: string, label: string, sign?: string, bare?: boolean, tip?: string, press: () => void}} spec  sign: an icon; bare: its label is for screen readers
 */
export function button({ name, label, sign, bare, tip, press }) {
  const made = /** @type {HTMLButtonElement} */ (element("button", { type: "button", class: bare ? "mm-button mm-bare" : "mm-button", "data-name": name, title: tip ?? TIPS[name] ?? label }));
  if (sign) made.append(icon(sign));
  if (bare) made.setAttribute("aria-label", label);
  else made.append(element("span", {}, label));
  made.addEventListener("click", press);
  return made;
}

/** Shown and usable or not. @param {HTMLElement} node @param {boolean} shown */
export function showIf(node, shown) {
  if (node.hidden === shown) node.hidden = !shown;
}

/** @param {string} label @param {string} name @param {string|undefined} tip @param {...Node} fields */
const field = (label, name, tip, ...fields) => element("label", { class: "mm-field", ...explained(name, tip) }, element("span", { class: "mm-name" }, label), ...fields);

/** Tooltip and the term it explains. @param {string} name @param {string} [tip] @returns {Object<string, string>} */
const explained = (name, tip) => (tip ? { title: tip } : { title: TIPS[name] ?? "", "data-term": name });

/**
 * A slider with its number beside it, which can be typed. `log`: the slider moves the exponent. `term`: what its tooltip explains.
 * @param {{name: string, label: string, min: number, max: number, step: number, log?: boolean, whole?: boolean,
 *          term?: string, digits?: number, said?: (value: number) => string, input: (value: number) => void, settle?: () => void}} spec
 */
export function slider({ name, label, min, max, step, log, whole, term = name, digits = 3, said, input, settle }) {
  const at = (/** @type {number} */ v) => (log ? Math.log10(v) : v);
  const range = /** @type {HTMLInputElement} */ (element("input", { type: "range", min: String(at(min)), max: String(at(max)), step: String(step), "data-name": name, "aria-label": label }));
  const text = /** @type {HTMLInputElement} */ (element("input", { type: "text", inputmode: "decimal", class: "mm-number", "data-name": `${name}-value`, "aria-label": `${label}, as a number`, autocomplete: "off", spellcheck: "false" }));
  let value = min;
  const tidy = (/** @type {number} */ v) => (whole ? Math.round(v) : Number(v.toPrecision(log ? 2 : digits)));
  const words = (/** @type {number} */ v) => String(Number(v.toPrecision(6))).replace(/^-/, "−");
  const fill = () => {
    const [low, high] = [Number(range.min), Number(range.max)];
    range.style.setProperty("--fill", `${(100 * (Number(range.value) - low)) / (high - low || 1)}%`);
    range.setAttribute("aria-valuetext", said ? said(value) : words(value));
  };
  range.addEventListener("input", () => {
    value = tidy(log ? 10 ** Number(range.value) : Number(range.value));
    text.value = words(value);
    fill();
    input(value);
  });
  range.addEventListener("change", () => settle && settle());
  text.addEventListener("change", () => {
    const typed = Number(text.value.replace("−", "-").replace(",", "."));
    if (text.value.trim() !== "" && Number.isFinite(typed)) {
      value = Math.max(min, Math.min(max, whole ? Math.round(typed) : typed));
      input(value);
      if (settle) settle();
    }
    set(value, true);
  });
  /** @param {number} next @param {boolean} [force]  also over what is being typed */
  function set(next, force) {
    if (next === value && text.value !== "" && !force) return;
    value = next;
    range.value = String(at(next));
    text.value = words(next);
    fill();
  }
  const node = element("div", { class: "mm-field mm-slider", ...explained(term) }, element("span", { class: "mm-name" }, label), range, text);
  return {
    node, set, value: () => value,
    /** Whether it is in a hand, or its number being typed. */
    busy: () => range.matches(":active") || document.activeElement === text,
    /** @param {number} low @param {number} high @param {number} [by] */
    limits(low, high, by) {
      if (low === min && high === max) return;
      [min, max] = [low, high];
      [range.min, range.max] = [String(at(low)), String(at(high))];
      if (by && !log) range.step = String(by);
      fill();
    },
  };
}

/**
 * A whole number to type; arrows count. `empty`: what nothing means, then null is a value too.
 * @param {{name: string, label: string, min: number, max: () => number, empty?: string, change: (value: any) => void}} spec
 */
export function numberField({ name, label, min, max, empty, change }) {
  const input = /** @type {HTMLInputElement} */ (element("input", { type: "text", inputmode: "numeric", class: "mm-number", "data-name": name, autocomplete: "off", spellcheck: "false", placeholder: empty ?? "" }));
  /** @type {number|null} */ let value = null;
  const within = (/** @type {number} */ v) => Math.max(min, Math.min(max(), Math.round(v)));
  const write = () => { input.value = value === null ? "" : String(value).replace(/^-/, "−"); };
  /** @param {number|null} next */
  function choose(next) {
    if (next !== value) { value = next; change(next); }
    write();
  }
  input.addEventListener("change", () => {
    const text = input.value.trim().replace("−", "-").replace(",", ".");
    if (text === "" && empty) choose(null);
    else if (text !== "" && Number.isFinite(Number(text))) choose(within(Number(text)));
    else write();
  });
  input.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    if (!by || value === null) return;
    event.preventDefault();
    choose(within(value + by));
  });
  return {
    node: field(label, name, undefined, input),
    /** @param {number|null} next */
    set(next) { if (next !== value || input.value === "") { value = next; write(); } },
  };
}

/** @param {{name: string, label: string, tip?: string, options?: [string, string, string?][], change: (value: string) => void}} spec */
export function choice({ name, label, tip, options = [], change }) {
  const select = /** @type {HTMLSelectElement} */ (element("select", { "data-name": name }));
  let key = "";
  /** Value, words, group. @param {[string, string, string?][]} list */
  function fill(list) {
    const next = JSON.stringify(list);
    if (next === key) return;
    key = next;
    const kept = select.value;
    /** @type {Map<string, HTMLElement>} */ const groups = new Map();
    select.replaceChildren();
    for (const [value, words, group] of list) {
      const option = element("option", { value }, words);
      if (!group) { select.append(option); continue; }
      if (!groups.has(group)) {
        groups.set(group, element("optgroup", { label: group }));
        select.append(/** @type {HTMLElement} */ (groups.get(group)));
      }
      groups.get(group)?.append(option);
    }
    select.value = kept;
  }
  fill(options);
  select.addEventListener("change", () => change(select.value));
  return { node: field(label, name, tip, select), select, fill, set(/** @type {string} */ value) { if (select.value !== value) select.value = value; } };
}

/** @param {{name: string, label: string, tip?: string, change: (on: boolean) => void}} spec */
export function tick({ name, label, tip, change }) {
  const input = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", "data-name": name }));
  input.addEventListener("change", () => change(input.checked));
  const node = element("label", { class: "mm-tick", ...explained(name, tip) }, input, element("span", {}, label));
  return { node, input, set(/** @type {boolean} */ on) { input.checked = on; } };
}

/**
 * A few buttons of which one is chosen; each is called `${name}-${value}`.
 * @param {{name: string, label: string, options: [string, string, string?][], bare?: boolean, tabs?: boolean, change: (value: string) => void}} spec
 * options: value, words, icon; tabs: what they choose is shown below
 */
export function segments({ name, label, options, bare, tabs, change }) {
  const buttons = new Map(options.map(([value, words, sign]) => [value, button({ name: `${name}-${value}`, label: words, sign, bare, press: () => change(value) })]));
  const keys = [...buttons.keys()];
  if (tabs) for (const [key, made] of buttons) {
    made.setAttribute("role", "tab");
    made.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      const usable = keys.filter((k) => !buttons.get(k)?.disabled);
      const to = usable[(usable.indexOf(key) + by + usable.length) % usable.length];
      change(to);
      buttons.get(to)?.focus();
    });
  }
  const node = element("div", { class: "mm-segments", role: tabs ? "tablist" : "group", "aria-label": label }, ...buttons.values());
  return { node, buttons, set(/** @type {string} */ value) { for (const [key, made] of buttons) {
    made.setAttribute(tabs ? "aria-selected" : "aria-pressed", String(key === value));
    if (tabs) made.tabIndex = key === value ? 0 : -1;
  } } };
}

/** @param {string} title @param {...(Node|string)} children */
export const group = (title, ...children) => element("section", { class: "mm-group", "aria-label": title }, element("h2", {}, title), ...children);
