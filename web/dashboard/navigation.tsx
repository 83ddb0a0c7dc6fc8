/** The navigation: the application switcher, the pages of the chosen application, and those of the whole service. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { chooseScheme, keptScheme, SCHEMES, type Scheme } from "../theme/scheme.ts";
import { BASE, rawPath } from "./address/router.ts";
import { sessions } from "./api/client.ts";
import { mayChange, session, signedOut } from "./api/session.ts";
import { PaletteButton } from "./find/palette-button.tsx";
import { type Group, OF_APP, OF_SERVICE, OPERATE } from "./find/places.ts";
import { AppSwitcher } from "./find/switcher.tsx";
import { appName, currentApp } from "./live/apps.ts";
import { Segmented } from "./ui/fields.tsx";
import { messageOf, toast } from "./ui/notice.tsx";

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
        <a class="brand" href={BASE}>
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
        {(app === undefined ? OF_SERVICE : OF_APP).map((group) => (
          <Links key={group.title} group={group} root={root} />
        ))}
        <Links group={OPERATE} root="" />
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
  const scheme = useSignal(keptScheme());
  return (
    <Segmented<Scheme>
      label="Theme"
      value={scheme.value}
      options={SCHEMES.map((one) => [one, SCHEME_NAMES[one]] as const)}
      onChange={(chosen) => {
        chooseScheme(chosen);
        scheme.value = chosen;
      }}
    />
  );
}

function SignedInAs() {
  const leave = async (): Promise<void> => {
    try {
      await sessions.close();
      signedOut();
    } catch (error) {
      toast(messageOf(error), "bad");
    }
  };
  return (
    <div class="signed-in">
      <span class="muted small">
        Signed in as <strong>{session.value?.name}</strong>
        {!mayChange.value && " (read only)"}
      </span>
      <button type="button" class="small" onClick={leave}>
        Sign out
      </button>
    </div>
  );
}
