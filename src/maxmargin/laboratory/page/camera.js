// A camera that looks at a box from any side: boxes of (w₁, w₂, b) become a cube, cubes become pixels.

/** @typedef {[number, number, number]} Triple */
/** @typedef {[[number, number], [number, number], [number, number]]} Box  lowest and highest of each coordinate */

const NEAR = 0.13; // how much larger what is near appears

/**
 * @param {Box} box @param {number} turn  angle about the third axis @param {number} tilt  angle above the floor
 * @param {{left: number, top: number, width: number, height: number}} frame
 * @returns {(p: ArrayLike<number>) => Triple}  pixel across, pixel down, nearness (larger is nearer)
 */
export function camera(box, turn, tilt, frame) {
  const [st, ct, se, ce] = [Math.sin(turn), Math.cos(turn), Math.sin(tilt), Math.cos(tilt)];
  const scale = Math.min(frame.width, frame.height) * 0.3;
  const [mx, my] = [frame.left + frame.width / 2, frame.top + frame.height / 2];
  return (p) => {
    const [u, v, h] = [0, 1, 2].map((j) => (2 * (p[j] - box[j][0])) / (box[j][1] - box[j][0]) - 1);
    const [across, deep] = [u * ct - v * st, u * st + v * ct]; // deep: away from the eye on the floor
    const near = -deep * ce + h * se;
    const size = scale * (1 + NEAR * near);
    return [mx + across * size, my - (h * ce + deep * se) * size, near];
  };
}

/** The eight corners; bit j of the index says low or high of coordinate j. @param {Box} box @returns {Triple[]} */
export const boxCorners = (box) => [0, 1, 2, 3, 4, 5, 6, 7].map((i) => /** @type {Triple} */ ([box[0][i & 1], box[1][(i >> 1) & 1], box[2][(i >> 2) & 1]]));

/** The twelve edges as pairs of corners, with the coordinate along which each runs. */
export const EDGES = [0, 1, 2].flatMap((j) => [0, 1, 2, 3, 4, 5, 6, 7].filter((i) => !(i & (1 << j))).map((i) => [i, i | (1 << j), j]));

/** The part of a flat polygon inside a box. @param {number[][]} polygon @param {Box} box @returns {number[][]} */
export function cutToBox(polygon, box) {
  let kept = polygon;
  for (let j = 0; j < 3; j++) {
    for (const side of [0, 1]) {
      const value = (/** @type {number[]} */ p) => (side ? box[j][1] - p[j] : p[j] - box[j][0]);
      const found = /** @type {number[][]} */ ([]);
      kept.forEach((p, i) => {
        const q = kept[(i + 1) % kept.length];
        const [f, g] = [value(p), value(q)];
        if (f >= 0) found.push(p);
        if ((f > 0 && g < 0) || (f < 0 && g > 0)) found.push(p.map((v, m) => v + (f / (f - g)) * (q[m] - v)));
      });
      kept = found;
    }
  }
  return kept.length >= 3 ? kept : [];
}

/** A segment inside a box, or null. @param {number[]} p @param {number[]} q @param {Box} box @returns {[number[], number[]] | null} */
export function segmentInBox(p, q, box) {
  let [low, high] = [0, 1];
  for (let j = 0; j < 3; j++) {
    const u = q[j] - p[j];
    if (u === 0) { if (p[j] < box[j][0] || p[j] > box[j][1]) return null; continue; }
    const [s, t] = [(box[j][0] - p[j]) / u, (box[j][1] - p[j]) / u];
    low = Math.max(low, Math.min(s, t));
    high = Math.min(high, Math.max(s, t));
  }
  if (!(low <= high)) return null;
  const at = (/** @type {number} */ t) => p.map((v, j) => v + t * (q[j] - v));
  return [at(low), at(high)];
}

/** @param {ArrayLike<number>} p @param {Box} box */
export const inBox = (p, box) => [0, 1, 2].every((j) => p[j] >= box[j][0] && p[j] <= box[j][1]);

/** Whether a pixel is inside a polygon of pixels. @param {ArrayLike<number>} at @param {ArrayLike<number>[]} polygon */
export function covers(polygon, at) {
  let odd = false;
  polygon.forEach((p, i) => {
    const q = polygon[(i + 1) % polygon.length];
    if (p[1] > at[1] !== q[1] > at[1] && at[0] < p[0] + ((at[1] - p[1]) / (q[1] - p[1])) * (q[0] - p[0])) odd = !odd;
  });
  return odd;
}
