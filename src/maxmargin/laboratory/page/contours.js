// Risk over w-space as a layer: a tint and isocontours (marching squares) of the grid that Python has computed.
import { faint, parts } from "./colours.js";

/** @typedef {{window: import("./geometry.js").Window, size: number, values: ArrayLike<number>, max: number, b: number}} Risk */
/** @typedef {[number, number, number, number]} Piece  from (x, y) to (x, y), in cells of the grid */

/**
 * The pieces of the level line of a grid, in units of cells. Each cell is cut into the two triangles of its
 * rising diagonal, so there are no ambiguous saddles.
 * @param {ArrayLike<number>} values  row by row @param {number} size  columns and rows @param {number} level
 * @returns {Piece[]}
 */
export function isoline(values, size, level) {
  const pieces = /** @type {Piece[]} */ ([]);
  const cut = (/** @type {number[]} */ p, /** @type {number[]} */ q, /** @type {number[]} */ r) => {
    const ends = [];
    for (const [s, t] of [[p, q], [q, r], [r, p]]) {
      if (s[2] < level === t[2] < level) continue;
      const u = (level - s[2]) / (t[2] - s[2]);
      ends.push(s[0] + u * (t[0] - s[0]), s[1] + u * (t[1] - s[1]));
    }
    if (ends.length === 4) pieces.push(/** @type {Piece} */ (ends));
  };
  for (let j = 0; j + 1 < size; j++) {
    for (let i = 0; i + 1 < size; i++) {
      const at = j * size + i;
      const [a, b, c, d] = [values[at], values[at + 1], values[at + size], values[at + size + 1]];
      if (Math.min(a, b, c, d) >= level || Math.max(a, b, c, d) < level) continue;
      const corners = [[i, j, a], [i + 1, j, b], [i, j + 1, c], [i + 1, j + 1, d]];
      cut(corners[0], corners[1], corners[3]);
      cut(corners[0], corners[3], corners[2]);
    }
  }
  return pieces;
}

/** Levels of a risk that grows like a cone: round numbers, closer together at the bottom. @param {number} max @param {number} [count] */
export function levels(max, count = 9) {
  if (!(max > 0) || !Number.isFinite(max)) return [];
  const found = new Set();
  for (let j = 1; j < count; j++) {
    const raw = max * (j / count) ** 1.7;
    const unit = 10 ** Math.floor(Math.log10(raw));
    found.add(Number(([1, 1.5, 2, 3, 4, 5, 6, 8, 10].reduce((best, m) => (Math.abs(m * unit - raw) < Math.abs(best - raw) ? m * unit : best), unit)).toPrecision(6)));
  }
  return /** @type {number[]} */ ([...found]);
}

/**
 * Draw a risk grid.
 * @param {CanvasRenderingContext2D} c @param {Risk} risk @param {import("./plane.js").Plane} plane @param {import("./colours.js").Colours} colours
 */
export function drawRisk(c, risk, plane, colours) {
  const { size, values, window, max } = risk;
  if (!(max > 0) || values.length !== size * size) return;
  const [left, bottom] = plane.pixel(window[0], window[2]);
  const [right, top] = plane.pixel(window[1], window[3]);
  const [dx, dy] = [(right - left) / (size - 1), (top - bottom) / (size - 1)];
  c.imageSmoothingEnabled = true;
  c.imageSmoothingQuality = "high";
  c.drawImage(tint(risk, colours), left - dx / 2, top + dy / 2, dx * size, -dy * size); // a value is the middle of its pixel
  c.strokeStyle = faint(colours.accent, 0.7);
  c.lineWidth = 1.1;
  for (const level of levels(max)) {
    c.beginPath();
    for (const [x, y, u, v] of isoline(values, size, level)) {
      c.moveTo(left + x * dx, bottom + y * dy);
      c.lineTo(left + u * dx, bottom + v * dy);
    }
    c.stroke();
  }
}

/** The grid as a small picture: nothing at zero, deeper with the root of the risk. @param {Risk} risk @param {import("./colours.js").Colours} colours */
function tint({ size, values, max }, colours) {
  const made = document.createElement("canvas");
  made.width = made.height = size;
  const inner = /** @type {CanvasRenderingContext2D} */ (made.getContext("2d"));
  const image = inner.createImageData(size, size);
  const [r, g, b] = parts(colours.accent);
  const deep = colours.dark ? 110 : 72;
  for (let j = 0; j < size; j++) {
    for (let i = 0; i < size; i++) {
      const at = 4 * ((size - 1 - j) * size + i); // pictures start at the top
      image.data.set([r, g, b, Math.round(deep * Math.sqrt(Math.max(0, values[j * size + i]) / max))], at);
    }
  }
  inner.putImageData(image, 0, 0);
  return made;
}
