/** What happens on a running service, as it happens. */
import { TAIL_KINDS } from "../../telemetry/tail/event.ts";
import type { Command } from "../line/command.ts";
import { CONTROL } from "../line/flags.ts";

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
];
