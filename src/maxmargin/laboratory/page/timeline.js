// Time: which update is shown, and the controls under the views that step, play and scrub.
import { LIMITS } from "./state.js";
import { count, element, say } from "./text.js";
import { TIPS } from "./tips.js";
import { button, choice, icon, slider } from "./widgets.js";

/** Updates per second after k of them: the lecture's tempo is ten slowly, then a hundred fast, then a rush. */
const TEMPI = {
  lecture: (/** @type {number} */ k) => (k < 10 ? 1.25 : k < 110 ? 30 : Math.max(150, k / 2)),
  even: () => 5,
  rush: () => 120,
};

/**
 * The position after some seconds, k being real: whole part done, the rest is progress to the next update.
 * Goes from one whole update to the next, so that a long frame obeys the tempo as many short ones do.
 * @param {number} k @param {number} seconds @param {(k: number) => number} tempo @param {number} K
 */
function advance(k, seconds, tempo, K) {
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

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];

/**
 * @param {HTMLElement} root
 * @param {{player: Player, store: import("./state.js").Store, leaveHand: () => void, startHere: () => void, startZero: () => void}} lab
 */
export function createTimeline(root, { player, store, leaveHand, startHere, startZero }) {
  const act = (/** @type {() => void} */ move) => () => { leaveHand(); move(); };
  const buttons = {
    first: button({ name: "first", label: "To the start", sign: "first", bare: true, press: act(() => player.seek(0)) }),
    back: button({ name: "back", label: "Step back", sign: "back", bare: true, press: act(() => player.step(-1)) }),
    play: button({ name: "play", label: "Play", sign: "play", bare: true, press: act(() => player.toggle()) }),
    next: button({ name: "step", label: "Step", sign: "next", bare: true, tip: TIPS.step1, press: act(() => player.step(1)) }),
    last: button({ name: "last", label: "To the end", sign: "last", bare: true, press: act(() => player.seek(player.K())) }),
  };
  buttons.play.classList.add("mm-primary");
  const scrub = /** @type {HTMLInputElement} */ (element("input", { type: "range", min: "0", max: "0", step: "1", value: "0", "data-name": "scrub", "aria-label": "Update shown", title: TIPS.scrub }));
  scrub.addEventListener("input", act(() => player.seek(Number(scrub.value))));
  const where = element("output", { class: "mm-where", "data-name": "position", "aria-live": "off" });
  const note = element("p", { class: "mm-note", "data-name": "time-note" });
  const tempo = choice({ name: "tempo", label: "Tempo", options: [["lecture", "ten slow, then a hundred fast"], ["even", "all the same"], ["rush", "rush"]],
    change: (value) => store.set({ view: { ...store.get().view, tempo: value } }, "view") });
  const speed = slider({ name: "speed", label: "Speed", min: 0, max: SPEEDS.length - 1, step: 1, whole: true, said: (place) => `${SPEEDS[place]}×`,
    input: (place) => store.set({ view: { ...store.get().view, speed: SPEEDS[place] } }, "view") });
  const speedText = element("output", { class: "mm-speed", "aria-live": "off" });
  speed.node.querySelector(".mm-number")?.replaceWith(speedText);
  const here = button({ name: "start-here", label: "Start here", press: startHere });
  const zero = button({ name: "start-zero", label: "Start at zero", press: startZero });
  const drive = element("div", { class: "mm-drive", role: "group", "aria-label": "Time" }, ...Object.values(buttons));
  root.append(
    element("div", { class: "mm-time" }, drive, scrub, where),
    element("div", { class: "mm-time mm-below" }, here, zero, element("span", { class: "mm-gap" }), tempo.node, speed.node), note,
  );
  let [shownPlaying, shownKey] = [false, ""];

  return {
    /** @param {import("./scene.js").Scene} scene */
    draw(scene) {
      const [place, length] = [player.k(), player.K()];
      const run = scene.answer && scene.answer.usable ? scene.answer.run : null;
      const key = [place, length, scene.playing, scene.stale, scene.final, scene.hand, scene.continued, Boolean(run), scene.state.view.speed, scene.state.view.tempo, Boolean(scene.state.start), scene.state.algorithm].join();
      if (key === shownKey) return;
      shownKey = key;
      if (shownPlaying !== scene.playing) {
        shownPlaying = scene.playing;
        buttons.play.replaceChildren(icon(scene.playing ? "pause" : "play"));
        buttons.play.setAttribute("aria-label", scene.playing ? "Pause" : "Play");
      }
      if (scrub.max !== String(length)) scrub.max = String(length);
      if (scrub.value !== String(place)) scrub.value = String(place);
      scrub.style.setProperty("--fill", `${length ? (100 * place) / length : 0}%`);
      scrub.disabled = buttons.play.disabled = length === 0;
      buttons.first.disabled = buttons.back.disabled = place === 0 && !scene.hand;
      buttons.next.disabled = buttons.last.disabled = place === length && !scene.hand;
      const unit = run && run.words ? run.words.update : "update";
      const words = !run ? "" : scene.final ? "the model" : `${unit} ${count(scene.k)} of ${count(scene.K)}${run.cut ? "…" : ""}`;
      say(where, words);
      scrub.setAttribute("aria-valuetext", words);
      say(note, remark(scene, run));
      here.hidden = !run || scene.state.algorithm !== "perceptron" || (scene.k === 0 && !scene.hand) || scene.playing;
      zero.hidden = !run || !scene.state.start;
      tempo.set(scene.state.view.tempo);
      speed.set(Math.max(0, SPEEDS.indexOf(scene.state.view.speed)));
      say(speedText, `${scene.state.view.speed}×`);
    },
  };
}

/** @param {import("./scene.js").Scene} scene @param {any} run */
function remark(scene, run) {
  if (!scene.answer || !scene.answer.usable) return "";
  if (scene.hand) return "Weights set by hand. Press Escape, or step, to go back.";
  if (!run) return "This machine is solved at once: there are no updates to play.";
  if (scene.final) return `Shown: ${run.final_note}. ${ended(scene, run)}`;
  const past = scene.continued ? `Continued after ${count(scene.continued)} earlier updates. ` : scene.state.start ? "Started from chosen weights. " : "";
  return scene.k === scene.K && !scene.playing ? `${past}${ended(scene, run)}` : past;
}

/** Why there is no further update. @param {import("./scene.js").Scene} scene @param {any} run */
function ended(scene, run) {
  if (run.finished) return scene.K ? "The run has ended." : "";
  if (run.cut) return scene.K >= LIMITS.updates ? `Stopped after ${count(scene.K)} updates, the most that can be played.` : `Stopped after ${count(scene.K)} updates; raise ‘Updates at most’ for more.`;
  return `Stopped after ${count(run.epochs)} round${run.epochs === 1 ? "" : "s"}; raise ‘Rounds at most’ for more.`;
}
