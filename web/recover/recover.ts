/**
 * Loaded by every page before its other scripts, under a name that does not change. A release changes the names of scripts and styles: a page
 * that was sent by a node of the release before asks another node for names that are gone, and would stay blank. The same happens while
 * the service restarts. The page is loaded again once the service responds, but only once in a while, so that it never loops.
 */
import { followScheme } from "../theme/scheme.ts";

const RETRY_MS = 2000;
const RELOADED = "parley-reloaded";
/** A page that has been loaded again within this time says what happened instead. */
const RELOAD_EVERY_MS = 60_000;

const TEXTS = {
  en: ["This page could not be loaded completely.", "Reload"],
  de: ["Diese Seite konnte nicht vollständig geladen werden.", "Neu laden"],
  fr: ["Cette page n’a pas pu être chargée entièrement.", "Recharger"],
  es: ["Esta página no se ha podido cargar por completo.", "Recargar"],
} as const;

/** Without storage the page cannot know whether it was loaded again: then only the button does it. */
function mayReload(): boolean {
  try {
    const now = Date.now();
    // Either way: the clock may have been set back since.
    if (Math.abs(now - Number(sessionStorage.getItem(RELOADED) ?? 0)) < RELOAD_EVERY_MS) return false;
    sessionStorage.setItem(RELOADED, String(now));
    return true;
  } catch {
    return false;
  }
}

async function responds(): Promise<boolean> {
  try {
    return (await fetch(location.href, { method: "HEAD", cache: "no-store" })).status < 500;
  } catch {
    return false;
  }
}

function explain(): void {
  const language = navigator.language.slice(0, 2);
  const [text, label] = TEXTS[language in TEXTS ? (language as keyof typeof TEXTS) : "en"];
  const paragraph = document.createElement("p");
  paragraph.setAttribute("role", "alert");
  const button = document.createElement("button");
  button.textContent = label;
  button.onclick = () => location.reload();
  paragraph.append(`${text} `, button);
  document.body.prepend(paragraph);
}

async function recover(): Promise<void> {
  if (document.readyState === "loading")
    await new Promise((resolve) => addEventListener("DOMContentLoaded", resolve, { once: true }));
  explain();
  while (!(await responds())) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  if (mayReload()) location.reload();
}

let isRecovering = false;
const begin = (): void => {
  if (isRecovering) return;
  isRecovering = true;
  void recover();
};
// Such errors do not bubble: they are seen on their way down.
addEventListener(
  "error",
  ({ target }) => {
    if (target instanceof HTMLScriptElement ? target.dataset.later === undefined : target instanceof HTMLLinkElement)
      begin();
  },
  true,
);
// What a page loads later (`data-later`) is its own matter: it says so.
addEventListener("parley-outdated", begin);

// Before anything is painted: other scripts of the page run too late for that.
followScheme();
