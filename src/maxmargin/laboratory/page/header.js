// The line on top: name, sharing, light and dark, help.
import { button } from "./parts.js";
import { element } from "./text.js";

const KEPT = "maxmargin-theme";

/** What was chosen last time. */
function remembered() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null; // a private window
  }
}

/**
 * @param {HTMLElement} root  of the lab @param {HTMLElement} header
 * @param {{page: boolean, share: HTMLElement, help: () => void, changed: () => void}} lab  changed: the colours are others
 */
export function createHeader(root, header, { page, share, help, changed }) {
  const media = matchMedia("(prefers-color-scheme: dark)");
  let theme = page ? remembered() : null; // null: as the system has it
  const isDark = () => (theme ? theme === "dark" : media.matches);
  const turn = button({ name: "theme", label: "Theme", sign: "theme", bare: true, press: () => {
    const next = isDark() ? "light" : "dark";
    theme = (next === "dark") === media.matches ? null : next;
    if (page) try { if (theme) localStorage.setItem(KEPT, theme); else localStorage.removeItem(KEPT); } catch { /* a private window */ }
    dress();
  } });
  function dress() {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    turn.setAttribute("aria-label", isDark() ? "Dark: change to light" : "Light: change to dark");
    changed();
  }
  const status = element("span", { class: "mm-status", role: "status", "data-name": "status" });
  header.append(element("h1", {}, element("span", { class: "mm-mark", "aria-hidden": "true" }), "maxmargin ", element("span", {}, "lab")), status,
    element("span", { class: "mm-gap" }), share, turn, button({ name: "help", label: "Help", press: help }));
  media.addEventListener("change", dress);
  dress();
  return { status, destroy: () => media.removeEventListener("change", dress) };
}
