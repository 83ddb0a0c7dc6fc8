/** The navigation: the application switcher, the pages of the chosen application, and those of the whole service. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { chooseScheme, SCHEME_CHANGED, SCHEMES, type Scheme, shownScheme } from "../theme/scheme.ts";
import { BASE, rawPath } from "./address/router.ts";
import { mayChange, session } from "./api/session.ts";
import { PaletteButton } from "./find/palette-button.tsx";
import { type Group, OF_APP, OF_SERVICE, OPERATE } from "./find/places.ts";
import { signOut } from "./find/sign-out.ts";
import { AppSwitcher } from "./find/switcher.tsx";
import { appName, currentApp, home } from "./live/apps.ts";
import { Segmented } from "./ui/fields.tsx";

export function Navigation() {
  const isOpen = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  // On a narrow screen the menu covers the page: it closes when another page opens.
  useSignalEffect(() => {
    if (rawPath.value) isOpen.value = false;
  });
  // An application that does not exist has no pages.
  const app = currentApp.value && appName.value;
  const root = app === undefined ? "" : `/apps/${encodeURIComponent(app)}`;
  return (
    <nav
      class={`side ${isOpen.value ? "open" : ""}`}
      aria-label="Dashboard"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isOpen.value || event.defaultPrevented) return;
        isOpen.value = false;
        button.current?.focus();
      }}
    >
      <div class="side-head">
        <a class="brand" href={`${BASE}${home.value}`}>
          <span class="logo" aria-hidden="true" />
          Parley
        </a>
        <PaletteButton />
        <button
          ref={button}
          type="button"
          class="menu-button"
          aria-expanded={isOpen.value}
          aria-controls="menu"
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          Menu
        </button>
      </div>
      <div id="menu" class="menu">
        <AppSwitcher />
        <div class="menu-groups">
          {(app === undefined ? OF_SERVICE : OF_APP).map((group) => (
            <Links key={group.title} group={group} root={root} />
          ))}
          <Links group={OPERATE} root="" />
        </div>
        <div class="menu-foot">
          <ThemeSwitch />
          <SignedInAs />
        </div>
      </div>
    </nav>
  );
}

function Links({ group: { title, entries }, root }: { readonly group: Group; readonly root: string }) {
  return (
    <div class="menu-group">
      {title && <h2>{title}</h2>}
      <ul>
        {entries.map((entry) => {
          const to = root + entry.to;
          return (
            <li key={entry.title}>
              <a href={`${BASE}${to === "/" ? "" : to}`} aria-current={isCurrent(to, root) ? "page" : undefined}>
                {entry.title}
              </a>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** A page within another, such as one channel, belongs to that entry; the overview only to itself. */
function isCurrent(to: string, root: string): boolean {
  const path = rawPath.value.replace(/\/$/, "") || "/";
  return path === to || (to !== root && to !== "/" && path.startsWith(`${to}/`));
}

const SCHEME_NAMES: Readonly<Record<Scheme, string>> = { system: "System", light: "Light", dark: "Dark" };

/** Counts for all pages of this host. */
function ThemeSwitch() {
  const scheme = useSignal(shownScheme());
  // The command palette and other tabs change it too.
  useEffect(() => {
    const look = (): void => {
      scheme.value = shownScheme();
    };
    addEventListener(SCHEME_CHANGED, look);
    return () => removeEventListener(SCHEME_CHANGED, look);
  }, []);
  return (
    <Segmented<Scheme>
      label="Theme"
      value={scheme.value}
      options={SCHEMES.map((one) => [one, SCHEME_NAMES[one]] as const)}
      onChange={chooseScheme}
    />
  );
}

function SignedInAs() {
  return (
    <div class="signed-in">
      <span class="muted small">
        <span class="hidden-text">Signed in as </span>
        <strong>{session.value?.name}</strong>
        {!mayChange.value && " (read only)"}
      </span>
      <button type="button" class="small" onClick={signOut}>
        Sign out
      </button>
    </div>
  );
}
