/** Every view has an address. Links are plain links; this module keeps them from loading the page anew. */
import { computed, signal } from "@preact/signals";

export const BASE = "/dashboard";

const location_ = signal(location.pathname + location.search);

/** The path below /dashboard, such as `/apps/shop/channels`. */
export const path = computed(() => decodeSafely(location_.value.split("?")[0]?.slice(BASE.length) || "/"));
export const parameters = computed(() => new URLSearchParams(location_.value.split("?")[1] ?? ""));

/** The raw path: segments are still percent-encoded, because a channel's name may contain a slash. */
export const rawPath = computed(() => location_.value.split("?")[0]?.slice(BASE.length) || "/");

/** `to` begins after /dashboard. `replace` keeps the back button from stopping here, for filters that change while one types. */
export function navigate(to: string, options: { readonly replace?: boolean } = {}): void {
  const address = `${BASE}${to === "/" ? "" : to}`;
  if (!options.replace) isReturn = false;
  if (options.replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  location_.value = location.pathname + location.search;
}

/** Changes of the same parameters that follow within this time are one step of the back button: a word that one types, a few clicks. */
const SAME_STEP_MS = 2000;
let lastChange = { names: "", atMs: Number.NEGATIVE_INFINITY };

interface SetOptions {
  /** For what is no view of its own, such as an open dialog: the back button does not stop here. */
  readonly isPassing?: boolean;
}

/** Sets parameters of the present address; an empty value removes one. The back button brings back what was set before. */
export function setParameters(changes: Readonly<Record<string, string>>, { isPassing = false }: SetOptions = {}): void {
  const next = new URLSearchParams(parameters.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  const to = `${rawPath.value}${text && `?${text}`}`;
  const names = `${rawPath.value} ${Object.keys(changes).join()}`;
  const atMs = performance.now();
  const isSameStep = names === lastChange.names && atMs - lastChange.atMs < SAME_STEP_MS;
  if (!isPassing) lastChange = { names, atMs };
  if (`${BASE}${to === "/" ? "" : to}` !== location_.value) navigate(to, { replace: isPassing || isSameStep });
}

/** The page was reached with the browser's Back or Forward, which bring back what it showed. */
let isReturn = false;
export const isReturned = (): boolean => isReturn;

export function followLinks(): void {
  addEventListener("popstate", () => {
    isReturn = true;
    lastChange = { names: "", atMs: Number.NEGATIVE_INFINITY };
    location_.value = location.pathname + location.search;
  });
  document.addEventListener("click", (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.target || link.origin !== location.origin || link.hasAttribute("download")) return;
    if (link.pathname !== BASE && !link.pathname.startsWith(`${BASE}/`)) return;
    // Within the page, such as "Skip to the page".
    if (link.hash) return;
    event.preventDefault();
    navigate(link.pathname.slice(BASE.length) + link.search || "/");
  });
}

/** Parameters of the address, decoded: `app` is the application's name. */
export type PageParameters = Readonly<Record<string, string>>;

/** The parameters of a path such as `/apps/:app/channels`, or undefined if it does not fit. */
export function matchPath(pattern: string, actual: string): PageParameters | undefined {
  const wanted = pattern.split("/");
  const given = actual.replace(/\/$/, "").split("/");
  if (wanted.length !== Math.max(given.length, 1)) return undefined;
  const found: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    if (part.startsWith(":")) found[part.slice(1)] = decodeSafely(given[at] ?? "");
    else if (part !== given[at]) return undefined;
  }
  return found;
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
