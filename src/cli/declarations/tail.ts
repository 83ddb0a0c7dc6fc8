/** What happens on a running service, as it happens, and what it has refused lately. */
import { TAIL_KINDS } from "../../telemetry/tail/event.ts";
import type { Command } from "../line/command.ts";
import { CONTROL, forLists } from "../line/flags.ts";

export const TAIL: readonly Command[] = [
  {
    name: "tail",
    summary: "print events from all nodes as they happen",
    flags: [
      { name: "app", value: "APP", meaning: "id or name of one application" },
      { name: "channel", value: "PATTERN", meaning: "channels that match, such as 'chat/*'" },
      { name: "peer", value: "PEER", meaning: "a peer id, or a prefix and '*'" },
      { name: "key", value: "KEY", meaning: "the id of a key, without its secret" },
      { name: "kind", value: "KINDS", meaning: `separated by commas: ${TAIL_KINDS.join(", ")}` },
      ...CONTROL.map((flag) =>
        flag.name === "json" ? { ...flag, meaning: "print each event as one line of JSON, and errors as JSON" } : flag,
      ),
    ],
    details: `Without filters, it prints everything, up to 2,000 events per second; the rest are counted.
Payloads are shown only for applications that allow it, and only to admins. Press Ctrl-C to stop.`,
    examples: ["parley tail", "parley tail --app shop --channel 'chat/*' --kind publish,error", "parley tail --json"],
    load: async () => (await import("../commands/control/tail.ts")).tail,
  },
  {
    name: "refusals",
    summary: "list refused connects and frames of the last 24 hours, newest first",
    flags: [
      { name: "app", value: "APP", meaning: "only those of this application, by id or name" },
      { name: "unknown", meaning: "only connects with unknown credentials, which belong to no application" },
      { name: "kind", value: "KIND", meaning: "connect or frame; default both", choices: ["connect", "frame"] },
      { name: "code", value: "CODE", meaning: "only with this error code, such as token_expired" },
      { name: "peer", value: "TEXT", meaning: "only of peers with this text in their id" },
      { name: "from", value: "TEXT", meaning: "only connects with this text in their origin or address" },
      { name: "limit", value: "N", meaning: "how many; default 50, at most 1000" },
      { name: "after", value: "NEXT", meaning: "continue where the previous page ended" },
      ...forLists(CONTROL),
    ],
    details: `Refusals that differ only in their time are one line: TIMES says how many there were.
Each node keeps them in memory until it restarts, at most 100 connects and 100 frames per application.`,
    examples: [
      "parley refusals",
      "parley refusals --app shop --code token_expired",
      "parley refusals --unknown --json",
    ],
    load: async () => (await import("../commands/control/refusals.ts")).refusals,
  },
];
