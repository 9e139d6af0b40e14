// What a screen reader is told as it happens: the point that was chosen, and the step that was made.
import { words } from "./reading.js";
import { element, number, say } from "./text.js";

const WAIT_MS = 250; // only where it came to rest

/**
 * @param {HTMLElement} root
 * @returns {{draw: (scene: any, sentence: string) => void}}  sentence: of the step that is shown
 */
export function createLive(root) {
  const region = element("p", { class: "mm-hidden", role: "status", "aria-live": "polite", "data-name": "live" });
  root.append(region);
  let last = /** @type {any} */ ({ selected: -1, answer: null, k: 0, final: false, playing: false });
  /** @type {any} */ let timer = null;
  /** @param {string} text */
  function tell(text) {
    clearTimeout(timer);
    timer = setTimeout(() => say(region, text), WAIT_MS);
  }
  return {
    draw(scene, sentence) {
      const { selected, answer, k, final, playing } = scene;
      const point = scene.state.points[selected];
      const stepped = !playing && (last.playing || (last.answer === answer && (k !== last.k || final !== last.final)));
      if (playing) clearTimeout(timer);
      else if (selected !== last.selected && point) tell(`Selected: ${words(scene, selected, number).join(", ")}.`);
      else if (stepped || (final !== last.final && last.answer)) tell(sentence);
      last = { selected, answer, k, final, playing };
    },
  };
}
