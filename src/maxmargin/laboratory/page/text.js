// Numbers and small pieces of the page as text: one way to write them everywhere.

/** A number with four significant digits and a true minus sign. @param {number|null|undefined} value @param {number} [digits] */
export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e6 || size < 1e-4
    ? power(value, digits - 1)
    : String(Number(value.toPrecision(digits)));
  return text.replace(/^-/, "−");
}

/** The same as mantissa times a power of ten. @param {number} value @param {number} digits */
function power(value, digits) {
  const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 1)).split("e");
  const raised = exponent.replace("+", "").replace(/./g, (c) => RAISED[c] ?? c);
  return `${String(Number(mantissa))}·10${raised}`;
}

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** Whole numbers with thin groups: 12 345. @param {number} value */
export const count = (value) => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, " ");

/** "3 of 40 (7.5 %)" @param {number|null|undefined} part @param {number} whole */
export function share(part, whole) {
  if (part === null || part === undefined || !whole) return "–";
  return `${count(part)} of ${count(whole)} (${number((100 * part) / whole, 3)} %)`;
}

/** The first sentence of several. @param {string} text */
export const first = (text) => text.split(/(?<=[.!?]) /)[0];

/** (a, b, c) @param {number[]} values @param {number} [digits] */
export const tuple = (values, digits = 4) => `(${values.map((v) => number(v, digits)).join(", ")})`;

/**
 * Make an element. @param {string} tag @param {Object<string, string>} [attributes] @param {...(Node|string)} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Set a text only when it changed: a frame costs nothing when nothing moved. @param {Element} node @param {string} text */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
