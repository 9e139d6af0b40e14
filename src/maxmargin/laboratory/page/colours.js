// The colours of the page as the canvases need them: read from the CSS variables once per theme.

/**
 * @typedef {Object} Colours
 * @property {string[]} classes  of the classes 0 … 4
 * @property {string} ink @property {string} quiet @property {string} paper @property {string} card @property {string} line
 * @property {string} accent @property {string} good @property {string} warn @property {string} bad
 * @property {string} cone @property {string} path
 * @property {boolean} dark
 * @property {string} key  changes when any colour does
 */

const LIGHT = {
  c0: "#0072B2", c1: "#D55E00", c2: "#009E73", c3: "#CC79A7", c4: "#E69F00", ink: "#1b1f24", quiet: "#5b6470",
  paper: "#f6f7f9", card: "#ffffff", line: "#d9dde3", accent: "#3b5bdb", good: "#18794e", warn: "#946200", bad: "#c11f2f",
  cone: "#f0e442", path: "#1b1f24",
};

/**
 * Read the colours that hold for an element: `--c0` … `--c4`, `--ink` and so on, with the light ones where none is set.
 * @param {Element} element @returns {Colours}
 */
export function readColours(element) {
  const style = getComputedStyle(element);
  const found = /** @type {Record<string, string>} */ ({});
  for (const [name, usual] of Object.entries(LIGHT)) found[name] = style.getPropertyValue(`--${name}`).trim() || usual;
  const { c0, c1, c2, c3, c4, ...rest } = found;
  const made = { classes: [c0, c1, c2, c3, c4], ...rest, dark: brightness(found.card) < 0.5, key: Object.values(found).join() };
  return /** @type {Colours} */ (/** @type {unknown} */ (made));
}

/**
 * Colours of an element, read again only when the theme changes (`data-theme` or `class` of an element around it, or the system's).
 * @param {Element} element @param {() => void} [changed]
 * @returns {{now: () => Colours, destroy: () => void}}
 */
export function watchColours(element, changed) {
  let held = /** @type {Colours | null} */ (null);
  const forget = () => { held = null; changed?.(); };
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", forget);
  const observer = new MutationObserver(forget);
  for (let node = /** @type {Element | null} */ (element); node; node = node.parentElement) {
    observer.observe(node, { attributes: true, attributeFilter: ["data-theme", "class"] });
  }
  return {
    now: () => (held ??= readColours(element)),
    destroy() { media.removeEventListener("change", forget); observer.disconnect(); },
  };
}

/** Red, green and blue of "#rgb", "#rrggbb" or "rgb(…)", each 0 … 255. @param {string} colour @returns {[number, number, number]} */
export function parts(colour) {
  const known = PARTS.get(colour);
  if (known) return known;
  const hex = /^#([0-9a-f]{3,8})$/i.exec(colour);
  let found = /** @type {[number, number, number]} */ ([128, 128, 128]);
  if (hex) {
    const text = hex[1].length < 6 ? hex[1].replace(/./g, "$&$&") : hex[1];
    found = [0, 2, 4].map((i) => parseInt(text.slice(i, i + 2), 16));
  } else {
    const numbers = colour.match(/[\d.]+/g);
    if (numbers && numbers.length >= 3) found = numbers.slice(0, 3).map(Number);
  }
  PARTS.set(colour, found);
  return found;
}
const PARTS = new Map();

/** The colour, see-through. @param {string} colour @param {number} share  0 … 1 */
export const faint = (colour, share) => `rgba(${parts(colour).join(",")},${share})`;

/** Between two colours. @param {string} one @param {string} two @param {number} t  0 is one, 1 is two */
export function between(one, two, t) {
  const [a, b] = [parts(one), parts(two)];
  return `rgb(${a.map((v, i) => Math.round(v + t * (b[i] - v))).join(",")})`;
}

/** 0 black … 1 white. @param {string} colour */
export function brightness(colour) {
  const [r, g, b] = parts(colour);
  return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
}
