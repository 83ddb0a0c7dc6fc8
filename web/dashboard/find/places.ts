/** The pages that the navigation and the command palette lead to. */
export interface Entry {
  readonly title: string;
  /** Below /dashboard, or below the application. */
  readonly to: string;
}

/** What people look for who do not know the title of the page: the command palette finds it by these, too. */
const ALSO: Readonly<Record<string, string>> = {
  Overview: "home, dashboard, charts, traffic, statistics, first steps",
  Channels: "topics, subscribers, members, presence, messages, history",
  Peers: "people, users, clients, connections, who is online, kick, ban, block, disconnect, unblock",
  Refusals: "errors, denied, rejected, cannot connect, unauthorized, failed connects",
  Console: "live log, events, tail, debug, stream of events",
  Keys: "credentials, api key, secret, token, origins, cors, permissions, code, snippet",
  "Channel rules": "history, retention, store messages, grace",
  Streams: "append, event log, durable",
  Rooms: "invite, guests, link, call, video, lobby, password, schedule",
  Meetings: "who spoke, who took part, participants, calls, attendance, past",
  Recordings: "who spoke, video, audio, playback, play, download, transcript",
  Webhooks: "callbacks, notifications, deliveries, http events",
  Usage: "price, plan, quota, limits, billing, cost, how much",
  Data: "privacy, gdpr, retention, delete, storage, disk",
  "Why not?": "help, explain, debug, cannot connect, refused, unauthorized, origin, cors",
  Nodes: "servers, workers, cluster, cpu, memory, health, version, status",
  Backups: "restore, export, copy",
  "Audit log": "history, who changed, who did, activity",
  Operators: "invite, admins, team, users, accounts, access, roles",
  Settings: "configuration, environment variables, options, limits",
};

/** With this in what people call it, from the beginning of a word. */
export function isAlso(title: string, typed: string): boolean {
  const wanted = typed.trim().toLowerCase();
  return wanted.length > 1 && ` ${ALSO[title] ?? ""}`.includes(` ${wanted}`);
}

export interface Group {
  readonly title?: string;
  readonly entries: readonly Entry[];
}

export const OF_APP: readonly Group[] = [
  { entries: [{ title: "Overview", to: "" }] },
  {
    title: "Live",
    entries: [
      { title: "Channels", to: "/channels" },
      { title: "Peers", to: "/peers" },
      { title: "Refusals", to: "/refusals" },
      { title: "Console", to: "/console" },
    ],
  },
  {
    title: "Application",
    entries: [
      { title: "Keys", to: "/keys" },
      { title: "Channel rules", to: "/rules" },
      { title: "Streams", to: "/streams" },
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

export const OF_SERVICE: readonly Group[] = [
  {
    entries: [
      { title: "Overview", to: "/" },
      { title: "Data", to: "/data" },
    ],
  },
  {
    title: "Live",
    entries: [
      { title: "Refusals", to: "/refusals" },
      { title: "Console", to: "/console" },
    ],
  },
  { title: "Help", entries: [{ title: "Why not?", to: "/why-not" }] },
];

export const OPERATE: Group = {
  title: "Operate",
  entries: [
    { title: "Nodes", to: "/nodes" },
    { title: "Backups", to: "/backups" },
    { title: "Audit log", to: "/audit" },
    { title: "Operators", to: "/operators" },
    { title: "Settings", to: "/settings" },
  ],
};

/** Pages that the service has as well as each application. */
const OF_BOTH = ["console", "data", "refusals", "why-not"];

/** The same kind of page of another application, or of all of them: below /dashboard. What is inside it does not exist there. */
export function samePage(path: string, app: string | undefined): string {
  const [, first = "", , inner = ""] = path.split("/");
  const page = first === "apps" ? inner : OF_BOTH.includes(first) ? first : "";
  if (app === undefined) return OF_BOTH.includes(page) ? `/${page}` : "/";
  return `/apps/${encodeURIComponent(app)}${page && `/${page}`}`;
}
