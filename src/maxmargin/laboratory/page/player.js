// Time: which update is shown. Moved by frames while playing, by steps and by the scrubber.

/** Updates per second after k of them: the lecture's tempo is ten slowly, then a hundred fast, then a rush. */
export const TEMPI = {
  lecture: (/** @type {number} */ k) => (k < 10 ? 1.25 : k < 110 ? 30 : Math.max(150, k / 2)),
  even: () => 5,
  rush: () => 120,
};

/**
 * The position after some seconds, k being real: whole part done, the rest is progress to the next update.
 * Goes from one whole update to the next, so that a long frame obeys the tempo as many short ones do.
 * @param {number} k @param {number} seconds @param {(k: number) => number} tempo @param {number} K
 */
export function advance(k, seconds, tempo, K) {
  let [place, left] = [k, seconds];
  while (place < K && left > 0) {
    const next = Math.floor(place) + 1;
    const needed = (next - place) / tempo(Math.floor(place));
    if (needed > left) return place + left * tempo(Math.floor(place));
    place = next;
    left -= needed;
  }
  return Math.min(place, K);
}

/**
 * @param {() => void} changed  called whenever what is shown changes
 * @param {(reason: "pause"|"seek") => void} settled  called when the position has come to rest
 */
export function createPlayer(changed, settled) {
  let [place, K] = [0, 0];
  let [playing, atEnd] = [false, true];
  let [speed, tempo] = [1, TEMPI.lecture];
  /** @type {number|null} */ let last = null;
  document.addEventListener("visibilitychange", forget);
  function forget() { last = null; }

  /** @param {number} to */
  function go(to) {
    place = Math.max(0, Math.min(K, Math.round(to)));
    atEnd = place === K;
    changed();
  }
  function pause() {
    if (!playing) return;
    playing = false;
    place = Math.floor(place);
    atEnd = place === K;
    changed();
    settled("pause");
  }

  return {
    k: () => Math.min(Math.floor(place), K),
    /** How far the next update is away, in [0, 1). */
    part: () => place - Math.floor(place),
    K: () => K,
    playing: () => playing,
    atEnd: () => atEnd,
    play() {
      if (playing || K === 0) return;
      if (place >= K) place = 0;
      [playing, atEnd, last] = [true, false, null];
      changed();
    },
    pause,
    toggle() { if (playing) pause(); else this.play(); },
    /** @param {number} by */
    step(by) { pause(); go(Math.floor(place) + by); settled("seek"); },
    /** @param {number} to */
    seek(to) { pause(); go(to); settled("seek"); },
    /** The place as a real number, the way to the next update included. */
    place: () => place,
    /**
     * A new run of length `length` is there. @param {number} length
     * @param {number|null} at  where to stand; null keeps the place, and the end if it was the end
     * @param {boolean} [whole]  nothing was there before: null is the end
     */
    load(length, at = null, whole = false) {
      const end = at === null && (whole || (atEnd && !playing));
      K = length;
      place = end ? K : Math.min(at ?? place, K);
      if (playing && K === 0) playing = false;
      if (!playing) [place, atEnd] = [Math.floor(place), end || place >= K];
    },
    /** @param {string} name @param {number} factor */
    setTempo(name, factor) {
      tempo = TEMPI[name] ?? TEMPI.lecture;
      speed = factor;
    },
    /** One frame. @param {number} now  performance.now() @returns {boolean} whether the shown update moved */
    frame(now) {
      if (!playing) { last = null; return false; }
      const before = place;
      if (last !== null) place = advance(place, Math.max(0, (now - last) / 1000) * speed, tempo, K);
      last = now;
      if (place >= K) pause();
      return Math.floor(before) !== Math.floor(place);
    },
    destroy() { document.removeEventListener("visibilitychange", forget); },
  };
}

/** @typedef {ReturnType<typeof createPlayer>} Player */
