// What comes to the page from outside its controls: files dropped, tables pasted, and where the mouse leaves the focus.

/**
 * @param {HTMLElement} root
 * @param {{page: boolean, openCsv: (text: string) => void}} lab
 */
export function listenOutside(root, { page, openCsv }) {
  const element = (/** @type {Event} */ event) => (event.target instanceof Element ? event.target : null);

  root.addEventListener("mousedown", (event) => { // the mouse does not give the focus to buttons and pictures: space and arrows keep meaning time
    const on = element(event);
    if (!on || on.closest("input, select, textarea, dialog, [role=menu]")) return;
    if (on.closest("button, canvas")) event.preventDefault();
    if (!page) root.focus({ preventScroll: true });
    else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
  root.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    root.classList.add("mm-drop");
  });
  root.addEventListener("dragleave", (event) => {
    if (!root.contains(/** @type {Node|null} */ (event.relatedTarget))) root.classList.remove("mm-drop");
  });
  root.addEventListener("drop", async (event) => {
    root.classList.remove("mm-drop");
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    openCsv(await file.text());
  });
  const pasted = (/** @type {Event} */ raw) => {
    const event = /** @type {ClipboardEvent} */ (raw);
    const text = event.clipboardData?.getData("text") ?? "";
    if (element(event)?.closest("input, textarea, dialog") || root.querySelector("dialog[open]")) return;
    if (!/[,;\t].*\n/.test(text)) return; // not a table
    event.preventDefault();
    openCsv(text);
  };
  const target = page ? document : root;
  target.addEventListener("paste", pasted);
  return { destroy: () => target.removeEventListener("paste", pasted) };
}
