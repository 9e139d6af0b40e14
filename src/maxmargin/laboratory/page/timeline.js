// Time under the views: step, play, scrub, tempo.
import { LIMITS } from "./facts.js";
import { button, choice, icon, slider } from "./parts.js";
import { count, element, say } from "./text.js";
import { TIPS } from "./tips.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];

/**
 * @param {HTMLElement} root
 * @param {{player: import("./player.js").Player, store: import("./store.js").Store, leaveHand: () => void, startHere: () => void, startZero: () => void}} lab
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
