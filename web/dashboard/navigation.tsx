/** The navigation: the application switcher, the pages of the chosen application, and those of the whole service. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { BASE, navigate, rawPath } from "./address/router.ts";
import { sessions } from "./api/client.ts";
import { mayChange, session, signedOut } from "./api/session.ts";
import { appName, apps, currentApp } from "./live/apps.ts";
import { messageOf, toast } from "./ui/notice.tsx";

interface Entry {
  readonly title: string;
  /** Below /dashboard, or below the application. */
  readonly to: string;
}

interface Group {
  readonly title?: string;
  readonly entries: readonly Entry[];
}

const OF_APP: readonly Group[] = [
  { entries: [{ title: "Overview", to: "" }] },
  {
    title: "Live",
    entries: [
      { title: "Channels", to: "/channels" },
      { title: "Peers", to: "/peers" },
      { title: "Console", to: "/console" },
    ],
  },
  {
    title: "Application",
    entries: [
      { title: "Keys", to: "/keys" },
      { title: "Channel rules", to: "/rules" },
      { title: "Rooms", to: "/rooms" },
      { title: "Meetings", to: "/meetings" },
      { title: "Recordings", to: "/recordings" },
      { title: "Webhooks", to: "/webhooks" },
      { title: "Usage", to: "/usage" },
      { title: "Data", to: "/data" },
    ],
  },
  { title: "Help", entries: [{ title: "Why not?", to: "/why-not" }] },
];

const OF_SERVICE: readonly Group[] = [
  {
    entries: [
      { title: "Overview", to: "/" },
      { title: "Data", to: "/data" },
    ],
  },
  { title: "Live", entries: [{ title: "Console", to: "/console" }] },
  { title: "Help", entries: [{ title: "Why not?", to: "/why-not" }] },
];

const OPERATE: Group = {
  title: "Operate",
  entries: [
    { title: "Nodes", to: "/nodes" },
    { title: "Backups", to: "/backups" },
    { title: "Audit", to: "/audit" },
    { title: "Operators", to: "/operators" },
    { title: "Settings", to: "/settings" },
  ],
};

export function Navigation() {
  const isOpen = useSignal(false);
  // On a narrow screen the menu covers the page: it closes when another page opens.
  useSignalEffect(() => {
    if (rawPath.value) isOpen.value = false;
  });
  // An application that does not exist has no pages.
  const app = currentApp.value && appName.value;
  const root = app === undefined ? "" : `/apps/${encodeURIComponent(app)}`;
  return (
    <nav class={`side ${isOpen.value ? "open" : ""}`} aria-label="Dashboard">
      <div class="side-head">
        <a class="brand" href={BASE}>
          <span class="logo" aria-hidden="true" />
          Parley
        </a>
        <button
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
        <SignedInAs />
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

const ALL = "";
const NEW = "+";
/** Pages that the service has as well as each application. */
const OF_BOTH = ["console", "data", "why-not"];

function AppSwitcher() {
  const choose = (chosen: string): void => {
    if (chosen === NEW) return navigate("/new-application");
    const [, first = "", , inner = ""] = rawPath.value.split("/");
    const page = first === "apps" ? inner : OF_BOTH.includes(first) ? first : "";
    // The same kind of page, of the other application; what is inside it does not exist there.
    if (chosen === ALL) navigate(OF_BOTH.includes(page) ? `/${page}` : "/");
    else navigate(`/apps/${encodeURIComponent(chosen)}${page && `/${page}`}`);
  };
  return (
    <select
      class="switcher"
      aria-label="Application"
      value={currentApp.value?.name ?? ALL}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      <option value={ALL}>All applications</option>
      {apps.value?.map(({ _id, name }) => (
        <option key={_id} value={name}>
          {name}
        </option>
      ))}
      {mayChange.value && <option value={NEW}>New application …</option>}
    </select>
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
