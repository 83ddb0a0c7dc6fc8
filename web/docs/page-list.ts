/** The lists beside the text: of pages, and of the page's own sections. On a narrow screen each opens from a button. */

/** Beside the text the list of pages has a height of its own: scrolls it to the page that is open. */
export function showCurrentPage(): void {
  const list = document.querySelector<HTMLElement>("#pages");
  const current = list?.querySelector<HTMLElement>("[aria-current]");
  if (list && current) list.scrollTop = current.offsetTop - list.clientHeight / 2;
  // Hidden, it has no height.
  list?.addEventListener("toggle", () => current?.scrollIntoView({ block: "center" }));
}

/** A link to a section leaves the page where it is: the list that covers it closes. So does an open list for which there is room now. */
export function closePopovers(): void {
  const close = (): void => {
    for (const list of document.querySelectorAll<HTMLElement>("[popover]:popover-open")) list.hidePopover();
  };
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("[popover] a")) close();
  });
  for (const width of ["52rem", "76rem"]) matchMedia(`(min-width: ${width})`).addEventListener("change", close);
}

/** Marks the section that is being read: the last whose heading has passed the top. */
export function followReading(): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("#contents a")];
  const headings = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  if (links.length === 0) return;
  const mark = (): void => {
    const passed = headings.findLastIndex((heading) => heading && heading.getBoundingClientRect().top < READ_LINE_PX);
    for (const [at, link] of links.entries()) {
      if (at === passed) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  let isDue = false;
  addEventListener(
    "scroll",
    () => {
      if (isDue) return;
      isDue = true;
      requestAnimationFrame(() => {
        isDue = false;
        mark();
      });
    },
    { passive: true },
  );
  mark();
}
const READ_LINE_PX = 120;
