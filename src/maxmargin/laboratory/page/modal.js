// Boxes above the page: dialogs, and short notes that go by themselves.
import { button } from "./parts.js";
import { element } from "./text.js";

/**
 * A dialog that takes the keyboard until it is closed, then gives the focus back.
 * @param {HTMLElement} root @param {string} name @param {string} title @param {...(Node|string)} children
 */
export function openDialog(root, name, title, ...children) {
  const back = document.activeElement;
  const dialog = /** @type {HTMLDialogElement} */ (element("dialog", { class: "mm-dialog", "data-name": `${name}-dialog`, "aria-label": title }));
  const close = () => { dialog.close(); dialog.remove(); };
  dialog.append(
    element("header", {}, element("h2", {}, title), button({ name: `${name}-close`, label: "Close", sign: "close", bare: true, tip: "Close (Escape)", press: close })),
    element("div", { class: "mm-dialog-body" }, ...children),
  );
  dialog.addEventListener("click", (event) => { if (event.target === dialog) close(); });
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (back instanceof HTMLElement) back.focus({ preventScroll: true });
  });
  root.append(dialog);
  dialog.showModal();
  return { dialog, close };
}

/** @param {HTMLElement} root */
export function createToast(root) {
  const box = element("div", { class: "mm-toast", role: "status", "aria-live": "polite", "data-name": "toast" });
  /** @type {any} */ let timer = null;
  return (/** @type {string} */ words, bad = false, stay = false) => { // stay: until the next one; no words: away with it
    clearTimeout(timer);
    if (!words) return box.classList.remove("mm-open");
    (root.querySelector("dialog[open]") ?? root).append(box); // above a dialog, if there is one
    box.textContent = words;
    box.classList.toggle("mm-bad", bad);
    box.classList.add("mm-open");
    if (!stay) timer = setTimeout(() => box.classList.remove("mm-open"), bad ? 7000 : Math.max(2600, 60 * words.length));
    return undefined;
  };
}

/** Keys, views and terms in a few words. @param {HTMLElement} root @param {any} hello  what Python said first, or null */
export function openHelp(root, hello) {
  const version = hello ? hello.version : "";
  const glossary = Object.entries(hello?.glossary ?? {}).sort(([a], [b]) => a.localeCompare(b));
  const keys = /** @type {[string, string][]} */ ([
    ["space", "play or pause"], ["← →", "one update back or on"], ["Home End", "to the start, to the end"],
    ["Ctrl+Z", "undo"], ["Ctrl+Shift+Z Ctrl+Y", "redo"], ["Delete", "remove the selected point"], ["Escape", "back from weights set by hand; let a point go"],
    ["[ ]", "select the previous or next point"], ["Shift+arrows", "move the selected point"], ["f", "flip the selected point"],
    ["1–5", "the class of new points"], ["?", "this page"],
  ]); // letters and numbers: while a picture has the focus, or nothing has
  const list = element("dl", { class: "mm-keys" }, ...keys.map(([key, words]) => element("div", {}, element("dt", {}, ...key.split(" ").map((k) => element("kbd", {}, k))), element("dd", {}, words))));
  const views = [
    ["x-space", "Every point is a row of the data. Click to add one, drag to move it, click with the right button to flip it. The line is where f(x) = 0 for the weights shown (in more dimensions it is a plane); the arrow on it is w. Wheel to zoom, drag the ground to pan, double-click to see all."],
    ["w-space", "Every plane is a point (w₁, w₂) here, and every data point is a line: on one of its sides the point is classified correctly. Where all agree lies the cone of solutions. Click anywhere to set w by hand."],
    ["3-D and section", "With the bias there are three weights. The solutions of the margin machine form a polyhedron; its point nearest to the axis of b is the widest street."],
    ["Truth", "The verdict is decided in exact arithmetic, with a proof. Numbers come from the library, never from the page."],
  ];
  return openDialog(root, "help", "Keys and views",
    element("div", { class: "mm-help" }, list, element("div", {}, ...views.flatMap(([title, words]) => [element("h3", {}, title), element("p", {}, words)]))),
    ...(glossary.length ? [element("h3", {}, "Terms"), element("dl", { class: "mm-terms", "data-name": "glossary" },
      ...glossary.map(([term, words]) => element("div", {}, element("dt", {}, term), element("dd", {}, String(words)))))] : []),
    element("p", { class: "mm-quiet" }, version ? `maxmargin ${version}` : "maxmargin"));
}
