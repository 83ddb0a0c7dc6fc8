/** The inventory for people: what is kept, by subject. A subject has the retention of its main table or file. */
import type { SubjectId } from "./entry.ts";

/** Where it lies. */
export type PlaceId = "store" | "histories" | "recordings" | "files";

/** A page of the dashboard: of an application, or of the service. */
export type PageName =
  | "keys"
  | "rules"
  | "streams"
  | "rooms"
  | "meetings"
  | "recordings"
  | "usage"
  | "peers"
  | "audit"
  | "operators";

export interface Subject {
  readonly id: SubjectId;
  readonly title: string;
  readonly holds: string;
  /** A table, or a path of a file: its retention, backup and deletion are shown. */
  readonly main: string;
  readonly places: readonly PlaceId[];
  /** What is counted: one of them, and several. Absent: nothing is. */
  readonly counted?: readonly [one: string, several: string];
  /** The table of the store whose rows are counted; absent: histories and files are counted in another way. */
  readonly table?: string;
  /** An application has some of its own. */
  readonly isOfApps: boolean;
  /** The page where it is seen, and changed if that is possible. */
  readonly page?: PageName;
}

export const SUBJECTS: readonly Subject[] = [
  {
    id: "messages",
    title: "Messages",
    holds:
      "Messages of channels with history, of chats in rooms, and of signals between the pages of a meeting; of the whole service also those in streams",
    main: "runs",
    places: ["histories"],
    counted: ["message", "messages"],
    isOfApps: true,
    page: "rules",
  },
  {
    id: "streams",
    title: "Streams",
    holds: "Streams that were created over HTTP, with their messages, and who has written to them",
    main: "created",
    places: ["histories"],
    counted: ["stream", "streams"],
    isOfApps: true,
    page: "streams",
  },
  {
    id: "recordings",
    title: "Recordings",
    holds: "Recordings of meetings and of your own uploads, with who is on them",
    main: "recordings",
    places: ["recordings", "store"],
    counted: ["recording", "recordings"],
    table: "recordings",
    isOfApps: true,
    page: "recordings",
  },
  {
    id: "uploads",
    title: "Uploads in progress",
    holds: "Recordings that are not complete yet",
    main: "uploads",
    places: ["recordings", "store"],
    counted: ["upload", "uploads"],
    table: "uploads",
    isOfApps: true,
    page: "recordings",
  },
  {
    id: "deleted recordings",
    title: "Deleted recordings",
    holds: "Ids of deleted recordings, and files that belong to no recording, set aside",
    main: "deleted_recordings",
    places: ["store", "recordings"],
    counted: ["id", "ids"],
    table: "deleted_recordings",
    isOfApps: true,
    page: "recordings",
  },
  {
    id: "meetings",
    title: "Meetings",
    holds: "When meetings took place, and who took part, by name and by your id of the user",
    main: "meetings",
    places: ["store"],
    counted: ["meeting", "meetings"],
    table: "meetings",
    isOfApps: true,
    page: "meetings",
  },
  {
    id: "visitors",
    title: "Visitors",
    holds: "People who wait in a lobby or are about to enter a room",
    main: "lobby_tickets",
    places: ["store"],
    counted: ["visitor", "visitors"],
    table: "lobby_tickets",
    isOfApps: true,
    page: "meetings",
  },
  {
    id: "rooms",
    title: "Rooms",
    holds: "Rooms with their fields, archived ones too",
    main: "rooms",
    places: ["store"],
    counted: ["room", "rooms"],
    table: "rooms",
    isOfApps: true,
    page: "rooms",
  },
  {
    id: "keys",
    title: "Keys",
    holds: "Publishable and secret keys; secrets are sealed with the master key",
    main: "keys",
    places: ["store"],
    counted: ["key", "keys"],
    table: "keys",
    isOfApps: true,
    page: "keys",
  },
  {
    id: "blocks",
    title: "Blocked peers",
    holds: "Peers that may not connect for some time",
    main: "blocks",
    places: ["store"],
    counted: ["peer", "peers"],
    table: "blocks",
    isOfApps: true,
    page: "peers",
  },
  {
    id: "usage",
    title: "Usage",
    holds: "How many messages and connections an application had in each month",
    main: "usage",
    places: ["store"],
    counted: ["month", "months"],
    table: "usage",
    isOfApps: true,
    page: "usage",
  },
  {
    id: "applications",
    title: "Applications",
    holds: "Names, plans, limits and channel rules; app secrets are sealed with the master key",
    main: "apps",
    places: ["store"],
    counted: ["application", "applications"],
    table: "apps",
    isOfApps: true,
    page: "keys",
  },
  {
    id: "audit",
    title: "Audit log",
    holds: "Who changed what, when, and from which address; never a secret",
    main: "audit",
    places: ["store"],
    counted: ["entry", "entries"],
    table: "audit",
    isOfApps: true,
    page: "audit",
  },
  {
    id: "members",
    title: "Members after a restart",
    holds: "Members of channels that are expected back, with their metadata",
    main: "held_members",
    places: ["store"],
    counted: ["note", "notes"],
    table: "held_members",
    isOfApps: false,
  },
  {
    id: "webhooks",
    title: "Webhooks",
    holds:
      "Endpoints with their secrets sealed, what they are still to be sent, the log, and who is connected where endpoints ask for it",
    main: "webhooks",
    places: ["store"],
    counted: ["endpoint", "endpoints"],
    table: "webhooks",
    isOfApps: true,
  },
  {
    id: "operators",
    title: "Operators",
    holds: "Operators and sessions of the dashboard, with digests of tokens and cookies",
    main: "operators",
    places: ["store"],
    counted: ["operator", "operators"],
    table: "operators",
    isOfApps: false,
    page: "operators",
  },
  {
    id: "secrets",
    title: "Secrets in files",
    holds: "master.key, first-run.txt, and what commands keep in command-line/",
    main: "first-run.txt",
    places: ["files"],
    counted: ["file", "files"],
    isOfApps: false,
  },
  {
    id: "copies",
    title: "Copies set aside",
    holds: "Histories that were damaged, and copies from before an upgrade",
    main: "history.sqlite.damaged-*",
    places: ["files"],
    counted: ["file", "files"],
    isOfApps: false,
  },
  {
    id: "notes",
    title: "The service's own notes",
    holds: "Versions, counters and addresses of processes; nothing about people",
    main: "meta",
    places: ["store", "files"],
    isOfApps: false,
  },
];
