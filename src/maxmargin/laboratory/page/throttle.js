// Questions that follow a moving hand: the latest one, not more often than bearable, never the same one twice in a row.

/**
 * @template {any[]} A
 * @param {(...given: A) => void} ask @param {number} pause  milliseconds between two questions
 * @returns {{(key: string, ...given: A): void, again(): void, stop(): void}}
 */
export function latest(ask, pause) {
  let asked = /** @type {string | null} */ (null);
  let waiting = /** @type {{key: string, given: A} | null} */ (null);
  let timer = /** @type {ReturnType<typeof setTimeout> | 0} */ (0);
  const go = () => {
    timer = 0;
    if (!waiting) return;
    const { key, given } = waiting;
    waiting = null;
    asked = key;
    timer = setTimeout(go, pause);
    ask(...given);
  };
  const made = (/** @type {string} */ key, /** @type {A} */ ...given) => {
    if (waiting ? waiting.key === key : asked === key) return;
    waiting = { key, given };
    if (!timer) timer = setTimeout(go, 0); // not within a frame: asking may draw
  };
  made.again = () => { asked = null; };
  made.stop = () => { clearTimeout(timer); waiting = null; };
  return made;
}
