/** A button at every block of code that copies it. */
const COPIED_MS = 2000;

export function addCopyButtons(): void {
  for (const block of document.querySelectorAll<HTMLElement>(".code > pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small";
    button.textContent = "Copy";
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", () => void copy(block, button));
    block.after(button);
  }
}

async function copy(block: HTMLElement, button: HTMLElement): Promise<void> {
  // Browsers allow the clipboard only on https and localhost; elsewhere the text is selected, ready to copy.
  const isCopied = await navigator.clipboard?.writeText(block.textContent ?? "").then(
    () => true,
    () => false,
  );
  if (!isCopied) getSelection()?.selectAllChildren(block);
  button.textContent = isCopied ? "Copied" : "Press Ctrl+C";
  setTimeout(() => {
    button.textContent = "Copy";
  }, COPIED_MS);
}
