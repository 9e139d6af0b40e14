// The box around weight space: its edges, the names of the axes and where they begin and end.
import { boxCorners, EDGES } from "./camera.js";
import { faint } from "./colours.js";
import { FONT, label, segment } from "./marks.js";
import { number } from "./text.js";

const NAMES = ["w₁", "w₂", "b"];

/**
 * Draw the edges that are behind everything, or those before it with names and ends of the axes.
 * @param {CanvasRenderingContext2D} c @param {import("./colours.js").Colours} colours @param {import("./camera.js").Box} seen
 * @param {(p: ArrayLike<number>) => number[]} see  the camera @param {boolean} front @param {number} width  of the canvas
 */
export function drawBox(c, colours, seen, see, front, width) {
  const corners = boxCorners(seen).map(see);
  const far = corners.reduce((best, p, i) => (p[2] < corners[best][2] ? i : best), 0);
  c.lineWidth = 1;
  for (const [i, j] of EDGES) {
    const behind = i === far || j === far;
    if (behind === front) continue;
    c.strokeStyle = faint(colours.quiet, front ? 0.75 : 0.35);
    segment(c, [corners[i][0], corners[i][1]], [corners[j][0], corners[j][1]]);
  }
  if (!front) return;
  const [mx, my] = [0, 1].map((m) => corners.reduce((sum, p) => sum + p[m], 0) / 8);
  for (let axis = 0; axis < 3; axis++) {
    const own = EDGES.filter(([i, j, along]) => along === axis && i !== far && j !== far);
    const rank = (/** @type {number[]} */ [i, j]) => (axis === 2 ? -corners[i][0] - corners[j][0] : corners[i][1] + corners[j][1]); // left, or lowest
    const [i, j] = own.reduce((best, edge) => (rank(edge) > rank(best) ? edge : best), own[0]);
    const [p, q] = [corners[i], corners[j]];
    const [ox, oy] = [(p[0] + q[0]) / 2 - mx, (p[1] + q[1]) / 2 - my]; // outwards
    const out = [(ox / Math.hypot(ox, oy)) * 17, (oy / Math.hypot(ox, oy)) * 13];
    const put = (/** @type {number} */ t, /** @type {string} */ text, /** @type {string} */ colour, /** @type {string} */ font) => {
      const half = text.length * 3.5 + 4;
      const x = p[0] + t * (q[0] - p[0]) + out[0];
      label(c, text, [Math.max(half, Math.min(width - half, x)), p[1] + t * (q[1] - p[1]) + out[1]], colour, colours.card, "center", font);
    };
    put(0.12, number(seen[axis][0], 3), colours.quiet, FONT);
    put(0.5, NAMES[axis], colours.ink, FONT.replace("12px", "italic 600 14px"));
    put(0.88, number(seen[axis][1], 3), colours.quiet, FONT);
  }
}
