// Changes to the points, each a new list: what the store keeps and undo brings back.
import { LIMITS } from "./facts.js";

/** @typedef {[number, number, number, number]} Point  x₁, x₂, class, role */

/** @param {Point[]} points @param {Point} point @returns {Point[]} */
export const added = (points, point) => (points.length < LIMITS.points ? [...points, point] : points);

/** @param {Point[]} points @param {number} row @param {Partial<{x: number, y: number, kind: number, role: number}>} part @returns {Point[]} */
export function changed(points, row, { x, y, kind, role }) {
  const next = points.slice();
  const old = points[row];
  next[row] = [x ?? old[0], y ?? old[1], kind ?? old[2], role ?? old[3]];
  return next;
}

/** @param {Point[]} points @param {number} row @returns {Point[]} */
export const removed = (points, row) => points.filter((_, i) => i !== row);

/** The share that is held out now. @param {Point[]} points */
export const heldOut = (points) => (points.length ? points.filter((p) => p[3]).length / points.length : 0);

/** @param {string} text */
const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

/**
 * The data as CSV, the label last; numbers are written so that they are read back as the same doubles.
 * @param {{points: Point[], labels: string[], names: string[]}} state
 */
export function toCsv({ points, labels, names }) {
  const split = points.some((p) => p[3]);
  const head = [...names, ...(split ? ["validation"] : []), "label"].map(quoted).join(",");
  const lines = points.map(([x, y, kind, role]) => [x, y, ...(split ? [role] : []), quoted(labels[kind].replace("−", "-"))].join(","));
  return `${[head, ...lines].join("\n")}\n`;
}

/** The name of one more class. @param {string[]} labels */
export function nextLabel(labels) {
  for (let i = labels.length; ; i++) if (!labels.includes(String(i))) return String(i);
}
