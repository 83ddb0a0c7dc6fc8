/**
 * The colours that a visitor has chosen: those of the system, light or dark. Kept in the browser for all pages of the host. The first script of
 * every page (web/recover) applies the choice before anything is painted.
 */
export const SCHEMES = ["system", "light", "dark"] as const;
export type Scheme = (typeof SCHEMES)[number];

const KEPT = "parley-scheme";
/** What the window reports when the choice has changed, for what is painted by scripts. */
export const SCHEME_CHANGED = "parley-scheme";

function keptScheme(): Scheme {
  try {
    const kept = localStorage.getItem(KEPT);
    return SCHEMES.find((one) => one === kept) ?? "system";
  } catch {
    return "system";
  }
}

/** What the page has now. */
export const shownScheme = (): Scheme =>
  SCHEMES.find((one) => one === document.documentElement.dataset.scheme) ?? "system";

/** theme.css has the rest. */
function apply(scheme: Scheme): void {
  const { dataset } = document.documentElement;
  if (scheme === "system") delete dataset.scheme;
  else dataset.scheme = scheme;
  dispatchEvent(new Event(SCHEME_CHANGED));
}

export function chooseScheme(scheme: Scheme): void {
  try {
    if (scheme === "system") localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, scheme);
  } catch {
    // Without storage the choice is that of this page.
  }
  apply(scheme);
}

/** The choice of now, and those made in other tabs later. */
export function followScheme(): void {
  apply(keptScheme());
  addEventListener("storage", ({ key }) => {
    if (key === KEPT) apply(keptScheme());
  });
}
