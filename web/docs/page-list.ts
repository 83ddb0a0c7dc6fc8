/** Beside the text the list of pages has a height of its own: scrolls it to the page that is open. */
export function showCurrentPage(): void {
  const list = document.querySelector<HTMLElement>("#pages");
  const current = list?.querySelector<HTMLElement>("[aria-current]");
  if (list && current) list.scrollTop = current.offsetTop - list.clientHeight / 2;
}
