/** The addresses of pages about one thing. `app` is an application's name. */
import { query, segment } from "../api/client.ts";
import { BASE } from "./router.ts";

const ofApp = (app: string, page: string): string => `${BASE}/apps/${segment(app)}/${page}`;

export const channelPage = (app: string, channel: string): string => ofApp(app, `channels/${segment(channel)}`);
export const peersPage = (app: string, search = ""): string => ofApp(app, `peers${query({ search })}`);
export const peerPage = (app: string, peer: string): string => ofApp(app, `peers/${segment(peer)}`);
export const keysPage = (app: string): string => ofApp(app, "keys");
/** With the form for a new one. */
export const newKeyPage = (app: string): string => ofApp(app, `keys${query({ create: "1" })}`);
/** `edit`: with the form open. */
export const keyPage = (app: string, key: string, edit?: "edit"): string =>
  ofApp(app, `keys/${segment(key)}${query({ edit: edit && "1" })}`);
export const rulesPage = (app: string, channel = ""): string => ofApp(app, `rules${query({ channel })}`);
export const streamsPage = (app: string): string => ofApp(app, "streams");
export const streamPage = (app: string, channel: string): string => ofApp(app, `streams/${segment(channel)}`);
export const roomPage = (app: string, room: string): string => ofApp(app, `rooms/${segment(room)}`);
export const roomsPage = (app: string): string => ofApp(app, "rooms");
/** No room can be named like that: a name has no ~. */
export const newRoomPage = (app: string): string => ofApp(app, "rooms/~new");
/** `part`: the group of settings that one has come for. */
export const editRoomPage = (app: string, room: string, part?: "Schedule"): string =>
  `${roomPage(app, room)}/edit${query({ part })}`;
/** `room` is an id or a name. */
export const meetingsPage = (app: string, room = ""): string => ofApp(app, `meetings${query({ room })}`);
export const meetingPage = (app: string, meeting: string): string => ofApp(app, `meetings/${segment(meeting)}`);
/** `meeting` is a meetingSession. */
export const playbackPage = (app: string, meeting: string): string => `${meetingPage(app, meeting)}/playback`;
export const recordingsPage = (app: string, filter: Readonly<Record<string, string>> = {}): string =>
  ofApp(app, `recordings${query(filter)}`);
export const recordingPage = (app: string, recording: string): string => ofApp(app, `recordings/${segment(recording)}`);
export const webhooksPage = (app: string): string => ofApp(app, "webhooks");
export const webhookPage = (app: string, webhook: string): string => ofApp(app, `webhooks/${segment(webhook)}`);
export const consolePage = (app: string, filter: Readonly<Record<string, string | undefined>>): string =>
  ofApp(app, `console${query(filter)}`);

/** Without an application: those of the whole service. */
export const refusalsPage = (
  app: string | undefined,
  filter: Readonly<Record<string, string | undefined>> = {},
): string => (app === undefined ? `${BASE}/refusals${query(filter)}` : ofApp(app, `refusals${query(filter)}`));

export const dataPage = (app: string): string => ofApp(app, "data");

/** Pages that the control plane names: some are of an application, the others of the service. */
const OF_SERVICE = ["audit", "operators"];
export const namedPage = (page: string, app: string | undefined): string | undefined => {
  if (OF_SERVICE.includes(page)) return `${BASE}/${page}${page === "audit" ? query({ app }) : ""}`;
  return app === undefined ? undefined : ofApp(app, page);
};
export const settingPage = (name: string): string => `${BASE}/settings${query({ search: name })}`;

/** What is known, never a secret: an address is kept in histories and logs. */
export const whyNotPage = (
  app: string | undefined,
  known: Readonly<Partial<Record<"key" | "origin" | "channel" | "code" | "peer" | "at", string | undefined>>>,
): string => (app === undefined ? `${BASE}/why-not${query(known)}` : ofApp(app, `why-not${query(known)}`));
