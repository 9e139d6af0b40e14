// Plane geometry that the views share: windows, lines cut to a window, polygons, ticks. Pure functions.

/** @typedef {[number, number, number, number]} Window  lowest x, highest x, lowest y, highest y */
/** @typedef {[number, number]} Pair  a point of the plane */

/** The corners of a window, anticlockwise. @param {Window} w @returns {Pair[]} */
export const corners = (w) => [[w[0], w[2]], [w[1], w[2]], [w[1], w[3]], [w[0], w[3]]];

/**
 * The part of the line a·x + c·y + d = 0 inside a window, or null.
 * @param {number} a @param {number} c @param {number} d @param {Window} w @returns {[Pair, Pair] | null}
 */
export function cutLine(a, c, d, w) {
  const size = a * a + c * c;
  if (!(size > 0) || !Number.isFinite(size) || !Number.isFinite(d)) return null;
  const [mx, my] = [(w[0] + w[1]) / 2, (w[2] + w[3]) / 2];
  const off = (a * mx + c * my + d) / size; // start at the foot of the window's middle: no large numbers
  return cutRay([mx - a * off, my - c * off], [-c, a], w, -Infinity);
}

/**
 * From which to which t p + t·u is inside a box, in any number of dimensions, or null.
 * @param {ArrayLike<number>} p @param {ArrayLike<number>} u @param {ArrayLike<number>[]} sides  lowest and highest of each coordinate
 * @param {number} low @param {number} high  ends of t @returns {[number, number] | null}
 */
export function insideBox(p, u, sides, low, high) {
  for (let j = 0; j < sides.length; j++) {
    const [lo, hi] = [sides[j][0], sides[j][1]];
    if (u[j] === 0) {
      if (p[j] < lo || p[j] > hi) return null;
      continue;
    }
    const [one, two] = [(lo - p[j]) / u[j], (hi - p[j]) / u[j]];
    low = Math.max(low, Math.min(one, two));
    high = Math.min(high, Math.max(one, two));
  }
  return low <= high ? [low, high] : null;
}

/**
 * The part of {p + t·u : t ≥ from} inside a window, or null.
 * @param {Pair} p @param {Pair} u @param {Window} w @param {number} [from] @returns {[Pair, Pair] | null}
 */
function cutRay(p, u, w, from = 0) {
  const ends = insideBox(p, u, [[w[0], w[1]], [w[2], w[3]]], from, Infinity);
  if (!ends || !(ends[0] < ends[1]) || !ends.every(Number.isFinite)) return null;
  const [first, last] = ends.map((t) => /** @type {Pair} */ ([p[0] + t * u[0], p[1] + t * u[1]]));
  return [first, last];
}

/**
 * The part of a convex polygon, in any number of dimensions, where a linear function is not negative.
 * @template {number[]} Point
 * @param {Point[]} polygon @param {(p: Point) => number} value @returns {Point[]}
 */
export function cutConvex(polygon, value) {
  const kept = /** @type {Point[]} */ ([]);
  for (let i = 0; i < polygon.length; i++) {
    const [p, q] = [polygon[i], polygon[(i + 1) % polygon.length]];
    const [f, g] = [value(p), value(q)];
    if (f >= 0) kept.push(p);
    if ((f > 0 && g < 0) || (f < 0 && g > 0)) kept.push(/** @type {Point} */ (p.map((v, j) => v + (f / (f - g)) * (q[j] - v))));
  }
  return kept.length >= 3 ? kept : [];
}

/** The part of a convex polygon where a·x + c·y + d ≥ 0. @param {Pair[]} polygon @param {number} a @param {number} c @param {number} d @returns {Pair[]} */
export const cutPolygon = (polygon, a, c, d) => cutConvex(polygon, (p) => a * p[0] + c * p[1] + d);

/** The mean of the corners: inside, if the polygon is convex. @param {Pair[]} polygon @returns {Pair} */
export function middle(polygon) {
  const sum = polygon.reduce((s, p) => [s[0] + p[0], s[1] + p[1]], [0, 0]);
  return [sum[0] / polygon.length, sum[1] / polygon.length];
}

/** Twice the signed area. @param {Pair[]} polygon */
export function area(polygon) {
  return polygon.reduce((sum, p, i) => {
    const q = polygon[(i + 1) % polygon.length];
    return sum + p[0] * q[1] - p[1] * q[0];
  }, 0);
}

/**
 * The smallest window around points, with a margin on each side as a share of its size.
 * @param {Iterable<ArrayLike<number>>} points @param {number} [margin] @returns {Window | null}  null without points
 */
export function around(points, margin = 0.12) {
  let [a, b, c, d] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const p of points) {
    if (!Number.isFinite(p[0]) || !Number.isFinite(p[1])) continue;
    a = Math.min(a, p[0]); b = Math.max(b, p[0]); c = Math.min(c, p[1]); d = Math.max(d, p[1]);
  }
  if (!(a <= b)) return null;
  const size = Math.max(b - a, d - c) || Math.max(Math.abs(a), Math.abs(c)) || 1;
  const [wide, high] = [Math.max(b - a, size * 0.05), Math.max(d - c, size * 0.05)]; // never flat
  const [mx, my] = [(a + b) / 2, (c + d) / 2];
  const grow = 0.5 + margin;
  return [mx - wide * grow, mx + wide * grow, my - high * grow, my + high * grow];
}

/** @param {Window} w @param {ArrayLike<number>} p @param {number} [slack]  share of the size */
export function inside(w, p, slack = 0) {
  const [sx, sy] = [(w[1] - w[0]) * slack, (w[3] - w[2]) * slack];
  return p[0] >= w[0] - sx && p[0] <= w[1] + sx && p[1] >= w[2] - sy && p[1] <= w[3] + sy;
}

/** A window `by` times as large about its middle. @param {Window} w @param {number} by @returns {Window} */
export function grown(w, by) {
  const [mx, my, hx, hy] = [(w[0] + w[1]) / 2, (w[2] + w[3]) / 2, ((w[1] - w[0]) / 2) * by, ((w[3] - w[2]) / 2) * by];
  return [mx - hx, mx + hx, my - hy, my + hy];
}

/** Distance of a point from the segment pq. @param {Pair} at @param {Pair} p @param {Pair} q */
export function distance(at, p, q) {
  const [ux, uy] = [q[0] - p[0], q[1] - p[1]];
  const size = ux * ux + uy * uy;
  const t = size > 0 ? Math.max(0, Math.min(1, ((at[0] - p[0]) * ux + (at[1] - p[1]) * uy) / size)) : 0;
  return Math.hypot(at[0] - p[0] - t * ux, at[1] - p[1] - t * uy);
}

/** Round numbers from lo to hi, about `count` of them. @param {number} lo @param {number} hi @param {number} count */
export function ticks(lo, hi, count) {
  const rough = (hi - lo) / Math.max(1, count);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) ?? 10 * power;
  const found = [];
  for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9 && found.length < 60; i++) {
    found.push(i === 0 ? 0 : Number((i * step).toPrecision(12)));
  }
  return found;
}

/**
 * A number that changes whenever any of the numbers does (FNV over the bits of the doubles): what a cached layer
 * is kept by, whether or not the array itself was replaced.
 * @param {ArrayLike<ArrayLike<number>>} rows @param {number} [skip]  a row that does not count
 */
export function fingerprint(rows, skip = -1) {
  let h = 0x811c9dc5 ^ rows.length;
  for (let i = 0; i < rows.length; i++) {
    if (i === skip) continue;
    const row = rows[i];
    for (let j = 0; j < row.length; j++) {
      DOUBLE[0] = row[j];
      h = Math.imul(h ^ BITS[0], 0x01000193);
      h = Math.imul(h ^ BITS[1] ^ (h >>> 15), 0x01000193);
    }
  }
  return h >>> 0;
}
const DOUBLE = new Float64Array(1);
const BITS = new Uint32Array(DOUBLE.buffer);

/** A number for each object, the same one for as long as it lives: a key for layers made of answers. @param {object | null | undefined} thing */
export function identity(thing) {
  if (!thing) return 0;
  let id = IDS.get(thing);
  if (!id) IDS.set(thing, (id = ++made));
  return id;
}
const IDS = /** @type {WeakMap<object, number>} */ (new WeakMap());
let made = 0;
