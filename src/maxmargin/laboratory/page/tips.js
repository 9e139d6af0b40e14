// Every term in plain words, the box that shows them on hover and on focus, and words that explain themselves.
import { element, say } from "./text.js";

/** The page's own words; those of the library come from Python. @type {Object<string, string>} */
export const TIPS = {
  preset: "Ready-made data: what the lectures draw on the board, and data made to order.",
  n: "How many points are made.",
  noise: "How much the points are scattered; more noise makes the classes run into each other.",
  balance: "Which share of the points belongs to the second class: 0.5 is as many of one as of the other.",
  "data-margin": "How wide the empty street between the two classes is made.",
  draw: "Make the same kind of data again with other random numbers.",
  "open-csv": "Bring your own data: paste a table, choose a file or drop one on the page.",
  "save-csv": "Download the points as a table.",
  table: "All points as a table that can be edited: made for keyboards, screen readers and exact numbers.",
  split: "Hold out this share of the points for validation: they are not learned from, only judged (drawn hollow).",
  "tool-point": "Click to add a point of the chosen class; drag a point to move it. The answer follows while you drag.",
  "tool-flip": "Click on a point to give it the next class.",
  "tool-erase": "Click on a point to take it away.",
  brush: "The class of the next points you add.",
  "class-add": "One more class, up to five. Several classes are learned by several machines.",
  "class-remove": "Take the last class away, with its points.",
  undo: "Take back the last change (Ctrl+Z). A drag is one change.",
  redo: "Do it again (Ctrl+Shift+Z).",
  clear: "Take all points away.",
  algorithm: "How the plane is found.",
  "step-kind": "How far each step goes: exactly to the lowest point along its direction, or a fixed length.",
  scheme: "Several classes with machines for two: one class against the rest, or one machine for every pair.",
  epochs: "How many rounds over the data before giving up.",
  updates: "How many updates are made at most. Empty: on classes that overlap as many as can be followed while dragging.",
  watch: "Which of the machines is drawn and followed in time.",
  "start-zero": "Let the run begin with w = 0.",
  "start-here": "Let the run begin with the weights that are shown now.",
  play: "Play or pause (space).",
  step1: "One update (→).",
  back: "One update back (←).",
  first: "To the start (Home).",
  last: "To the end (End).",
  scrub: "The place in time: drag it anywhere.",
  speed: "How fast it plays.",
  tempo: "Lecture: the first ten updates slowly, the next hundred fast, the rest in a rush.",
  "tab-w": "Weight space: every plane is a point (w₁, w₂) here, every data point is a line.",
  "tab-3d": "Weight space with the bias as the third direction: drag to turn it, wheel to come nearer.",
  "tab-section": "A cut through weight space where w₁ is held: the slider moves the cut.",
  "section-w1": "Where the cut is made: the value of w₁.",
  "layer-risk": "Lines of equal risk R(w): how much the misclassified points hurt.",
  "layer-verdict": "The proof, drawn: the widest street when the classes can be separated, otherwise the point that both hulls share.",
  "layer-regions": "Tint the side that each class would get.",
  "fit-x": "Show all points.",
  "fit-w": "Show what matters in weight space.",
  share: "Take it with you: a link, a Python script, pictures, the data.",
  "copy-link": "The whole state of this page is in the link.",
  "copy-python": "A script that gives exactly these numbers with the library.",
  "png-x": "The data view as a picture.",
  "png-w": "The weight view that is shown as a picture.",
  gif: "The run as a film.",
  trace: "Every update of the run, as JSON.",
  theme: "Light or dark.",
  help: "Keys, and what the views show (?).",
};

/** What Python explains is said in its words. @param {HTMLElement} root @param {Object<string, string>} glossary */
export function learnTips(root, glossary) {
  Object.assign(TIPS, glossary);
  for (const node of root.querySelectorAll("[data-term]")) {
    const { term } = /** @type {HTMLElement} */ (node).dataset;
    if (term && TIPS[term]) node.setAttribute("title", TIPS[term]);
  }
}

const CONTROL = "button, input, select, textarea, canvas";

/**
 * Show titles of elements within the root in a box of our own, on hover and on keyboard focus.
 * @param {HTMLElement} root @param {string} prefix  of the ids on this page
 */
export function createTips(root, prefix) {
  const box = element("div", { class: "mm-tip", role: "tooltip", id: `${prefix}-tip`, hidden: "" });
  root.append(box);
  /** @type {HTMLElement|null} */ let owner = null;
  /** @type {HTMLElement|null} the control that the words describe */ let told = null;
  /** @type {HTMLElement|null} whose box was open when a finger came down */ let open = null;
  /** @type {any} */ let timer = null;

  function hide() {
    clearTimeout(timer);
    if (!owner) return;
    owner.title = owner.dataset.tip ?? "";
    delete owner.dataset.tip;
    told?.removeAttribute("aria-describedby");
    owner = told = null;
    box.hidden = true;
  }
  /** @param {HTMLElement} target @param {number} wait */
  function show(target, wait) {
    if (target === owner) return;
    hide();
    owner = target;
    owner.dataset.tip = owner.title;
    owner.removeAttribute("title"); // the browser's own box stays away meanwhile
    box.textContent = owner.dataset.tip ?? "";
    told = owner.matches(CONTROL) ? owner : owner.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement) : owner.querySelector(CONTROL) ?? owner;
    told.setAttribute("aria-describedby", box.id);
    timer = setTimeout(() => {
      if (!owner || !owner.isConnected) return;
      (owner.closest("dialog") ?? root).append(box);
      box.hidden = false;
      place(owner);
    }, wait);
  }
  /** @param {HTMLElement} target */
  function place(target) {
    const [at, size] = [target.getBoundingClientRect(), box.getBoundingClientRect()];
    const below = at.bottom + 8 + size.height < innerHeight;
    const left = Math.max(8, Math.min(innerWidth - size.width - 8, at.left + at.width / 2 - size.width / 2));
    box.style.left = `${left}px`;
    box.style.top = `${below ? at.bottom + 8 : Math.max(8, at.top - size.height - 8)}px`;
  }
  /** @param {Event} event */
  const titled = (event) => /** @type {HTMLElement|null} */ (event.target instanceof Element ? event.target.closest("[title], [data-tip]") : null);

  root.addEventListener("pointerover", (event) => {
    const target = titled(event);
    if (target && (target.title || target === owner)) show(target, 450);
    else if (!target) hide();
  });
  root.addEventListener("pointerleave", hide);
  root.addEventListener("pointerdown", () => { open = box.hidden ? null : owner; hide(); });
  root.addEventListener("click", (event) => { // a term is asked for: also by a finger or Enter
    const on = event.target instanceof Element ? event.target : null;
    const touched = /** @type {any} */ (event).pointerType === "touch" && on && !on.closest(CONTROL) && on.closest("[title]");
    const target = on?.closest(".mm-term") || touched ? titled(event) : null;
    if (target && target !== open) { hide(); show(target, 0); }
    open = null;
  });
  root.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  root.addEventListener("focusin", (event) => {
    const target = titled(event);
    if (target && target.title && /** @type {Element} */ (event.target).matches(":focus-visible")) show(target, 700);
  });
  root.addEventListener("focusout", hide);
  root.addEventListener("scroll", hide, true);
  return { hide };
}

/** Words that explain themselves: on hover, on focus and on a tap. @param {string} words @param {string} name */
export const term = (words, name) => element("button", { class: "mm-term", type: "button", "data-name": `about-${name}` }, words);

/** A heading that a screen reader can jump to. @param {string} title @param {string} tip @param {string} name */
export const heading = (title, tip, name) => element("h3", { title: tip }, term(title, name));

/**
 * A list of name and value. @param {[string, string, string][]} rows  data-name, words, tooltip
 * @returns {{list: HTMLElement, set: (name: string, text: string|null) => void, name: (name: string, words: string, tip: string) => void}}
 */
export function pairs(rows) {
  const list = element("dl", { class: "mm-pairs" });
  const cells = new Map(rows.map(([name, words, tip]) => {
    const value = element("dd", { "data-name": name });
    const pair = element("div", { title: tip }, element("dt", {}, term(words, name)), value);
    list.append(pair);
    return [name, [pair, value]];
  }));
  return {
    list,
    set(name, text) {
      const [pair, value] = /** @type {HTMLElement[]} */ (cells.get(name));
      pair.hidden = text === null;
      if (text !== null) say(value, text);
    },
    name(name, words, tip) {
      const [pair] = /** @type {HTMLElement[]} */ (cells.get(name));
      if (pair.dataset.tip === undefined) pair.title = tip; // not while it is shown
      say(/** @type {HTMLElement} */ (pair.querySelector("button")), words);
    },
  };
}
