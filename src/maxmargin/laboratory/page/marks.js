// Colours and marks on a canvas: the shapes of the classes, arrows, rings, labels with a halo, small cards.

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

/** 0 black … 1 white. @param {string} colour */
function brightness(colour) {
  const [r, g, b] = parts(colour);
  return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
}

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

/** @typedef {[number, number]} Pair */
/** @typedef {CanvasRenderingContext2D} Context */

/**
 * Add the shape of a class to the path: ● ■ ▲ ◆ ▼, of about equal area.
 * @param {Context} c @param {number} kind @param {number} x @param {number} y @param {number} r
 */
export function shape(c, kind, x, y, r) {
  if (kind === 0) { c.moveTo(x + r, y); c.arc(x, y, r, 0, 2 * Math.PI); return; }
  if (kind === 1) { const a = r * 0.89; c.rect(x - a, y - a, 2 * a, 2 * a); return; }
  const corners = OUTLINES[kind] ?? OUTLINES[3];
  corners.forEach(([dx, dy], i) => (i ? c.lineTo(x + r * dx, y + r * dy) : c.moveTo(x + r * dx, y + r * dy)));
  c.closePath();
}
const OUTLINES = /** @type {Record<number, Pair[]>} */ ({
  2: [[0, -1.25], [1.15, 0.8], [-1.15, 0.8]],
  3: [[0, -1.28], [1.28, 0], [0, 1.28], [-1.28, 0]],
  4: [[0, 1.25], [1.15, -0.8], [-1.15, -0.8]],
});

/** Radius of a point among n. @param {number} n */
export const radius = (n) => Math.max(2.6, Math.min(6.5, 6.5 * (60 / Math.max(1, n)) ** 0.25));

/** @param {Context} c @param {Pair} p @param {Pair} q */
export function segment(c, p, q) {
  c.beginPath();
  c.moveTo(p[0], p[1]);
  c.lineTo(q[0], q[1]);
  c.stroke();
}

/**
 * An arrow from p to q; nothing if it is too short to see.
 * @param {Context} c @param {Pair} p @param {Pair} q @param {string} colour @param {number} [width]
 */
export function arrow(c, p, q, colour, width = 2.2) {
  const length = Math.hypot(q[0] - p[0], q[1] - p[1]);
  if (!(length > 1.5) || !Number.isFinite(length)) return;
  const head = Math.min(5 + 2.4 * width, length * 0.7);
  const [ux, uy] = [(q[0] - p[0]) / length, (q[1] - p[1]) / length];
  const foot = /** @type {Pair} */ ([q[0] - ux * head * 0.8, q[1] - uy * head * 0.8]);
  c.strokeStyle = c.fillStyle = colour;
  c.lineWidth = width;
  segment(c, p, foot);
  c.beginPath();
  c.moveTo(q[0], q[1]);
  c.lineTo(q[0] - ux * head - uy * head * 0.45, q[1] - uy * head + ux * head * 0.45);
  c.lineTo(q[0] - ux * head + uy * head * 0.45, q[1] - uy * head - ux * head * 0.45);
  c.closePath();
  c.fill();
}

/** A ring. @param {Context} c @param {Pair} at @param {number} r @param {string} colour @param {number} [width] */
export function ring(c, at, r, colour, width = 2) {
  c.strokeStyle = colour;
  c.lineWidth = width;
  c.beginPath();
  c.arc(at[0], at[1], r, 0, 2 * Math.PI);
  c.stroke();
}

/** A dot with a halo. @param {Context} c @param {Pair} at @param {number} r @param {string} colour @param {string} halo @param {number} [width]  of the halo */
export function dot(c, at, r, colour, halo, width = 3) {
  c.fillStyle = colour;
  c.strokeStyle = halo;
  c.lineWidth = width;
  c.beginPath();
  c.arc(at[0], at[1], r, 0, 2 * Math.PI);
  c.stroke();
  c.fill();
}

/** A star with four points: what has been proven. @param {Context} c @param {Pair} at @param {string} colour @param {string} halo */
export function star(c, at, colour, halo) {
  c.beginPath();
  for (let i = 0; i < 8; i++) {
    const [a, s] = [(i * Math.PI) / 4, i % 2 ? 3.6 : 10];
    c.lineTo(at[0] + s * Math.sin(a), at[1] - s * Math.cos(a));
  }
  c.closePath();
  c.strokeStyle = halo;
  c.lineWidth = 2.5;
  c.stroke();
  c.fillStyle = colour;
  c.fill();
}

/** A polygon as path. @param {Context} c @param {Pair[]} pixels */
export function outline(c, pixels) {
  c.beginPath();
  pixels.forEach((p, i) => (i ? c.lineTo(p[0], p[1]) : c.moveTo(p[0], p[1])));
  c.closePath();
}

/**
 * A text that stays readable on anything.
 * @param {Context} c @param {string} text @param {Pair} at @param {string} colour @param {string} halo
 * @param {CanvasTextAlign} [align] @param {string} [font] @param {Box} [box]  it stays inside
 */
export function label(c, text, at, colour, halo, align = "center", font = FONT, box = undefined) {
  c.font = font;
  c.textAlign = "left";
  c.textBaseline = "middle";
  c.lineWidth = 4;
  c.strokeStyle = faint(halo, 0.85);
  const { left, top, high } = extent(c, text, at, align, font, box);
  const y = top + high / 2;
  c.strokeText(text, left, y);
  c.fillStyle = colour;
  c.fillText(text, left, y);
}

/** @typedef {{left: number, top: number, width: number, height: number}} Box */

/**
 * The room that a text takes, moved into a box if there is one.
 * @param {Context} c @param {string} text @param {Pair} at @param {CanvasTextAlign} [align] @param {string} [font] @param {Box} [box]
 * @returns {{left: number, top: number, wide: number, high: number}}
 */
export function extent(c, text, at, align = "center", font = FONT, box = undefined) {
  c.font = font;
  const [wide, high] = [c.measureText(text).width, 16];
  let left = at[0] - (align === "left" ? 0 : align === "right" ? wide : wide / 2);
  let top = at[1] - high / 2;
  if (box) {
    left = Math.max(box.left + 4, Math.min(box.left + box.width - wide - 4, left));
    top = Math.max(box.top + 3, Math.min(box.top + box.height - high - 3, top));
  }
  return { left, top, wide, high };
}

/**
 * A small card of lines beside a place, kept inside a box; the first line is strong.
 * @param {Context} c @param {string[]} lines @param {Pair} at @param {{left: number, top: number, width: number, height: number}} box
 * @param {Colours} colours
 */
export function card(c, lines, at, box, colours) {
  const strong = FONT.replace("12px", "600 12px");
  const wide = Math.max(...lines.map((line, i) => { c.font = i ? FONT : strong; return c.measureText(line).width; })) + 18;
  const high = 17 * lines.length + 11;
  const x = at[0] + 16 + wide > box.left + box.width ? Math.max(box.left + 2, at[0] - 16 - wide) : at[0] + 16;
  const y = Math.max(box.top + 2, Math.min(box.top + box.height - high - 2, at[1] - high - 10));
  c.fillStyle = faint(colours.card, 0.95);
  c.strokeStyle = faint(colours.quiet, 0.6);
  c.lineWidth = 1;
  c.beginPath();
  c.roundRect(x, y, wide, high, 6);
  c.fill();
  c.stroke();
  c.textAlign = "left";
  c.textBaseline = "middle";
  lines.forEach((line, i) => {
    c.font = i ? FONT : strong;
    c.fillStyle = colours.ink;
    c.fillText(line, x + 9, y + 14 + 17 * i);
  });
}
