/** Webhooks of applications: who gets which events, and what was sent to them. */
import type { Command, Flag, Operand } from "../line/command.ts";
import { DELIVERIES_LISTED_DEFAULT, WEBHOOK_LISTEN_PORT } from "../line/defaults.ts";
import { CONTROL, forLists, YES } from "../line/flags.ts";

const APP: Flag = {
  name: "app",
  value: "APP",
  meaning: "id or name of the application; default PARLEY_APP, else demo",
};
const WEBHOOK: Operand = { name: "ID", meaning: "the webhook's id" };
const EVENTS: Flag = {
  name: "events",
  value: "LIST",
  meaning: "types of events, separated by commas: recording.ready, groups such as meeting.*, or * for all",
};
const CHANNELS: Flag = {
  name: "channels",
  value: "LIST",
  meaning: "patterns of channels to watch, required for channel.*, peer.* and message.published; ** for all",
};
const DESCRIPTION: Flag = { name: "description", value: "TEXT", meaning: "a note to yourself" };
const HEADERS: Flag = {
  name: "headers-file",
  value: "FILE",
  meaning: "file with headers to send, one 'Name: value' per line, up to 10; - reads stdin",
};
const FLAGS: readonly Flag[] = [APP, ...CONTROL];

const ADDRESSES = `The address must be public and use port 80 or 443; PARLEY_WEBHOOK_ALLOW allows others. docs/webhooks.md describes each event.`;

export const WEBHOOKS: readonly Command[] = [
  {
    name: "webhooks list",
    summary: "list the webhooks of an application, with their health",
    flags: forLists(FLAGS),
    examples: ["parley webhooks list", "parley webhooks list --app shop --json"],
    load: async () => (await import("../commands/control/webhooks.ts")).list,
  },
  {
    name: "webhooks create",
    summary: "create a webhook; its secret is printed only this once",
    operands: [{ name: "ADDRESS", meaning: "where events are sent: https://…" }],
    flags: [
      { ...EVENTS, required: true },
      CHANNELS,
      DESCRIPTION,
      HEADERS,
      { name: "disabled", meaning: "do not send events yet" },
      ...FLAGS,
    ],
    details: ADDRESSES,
    examples: [
      "parley webhooks create https://example.com/hooks --events 'recording.ready,meeting.*'",
      "parley webhooks create https://example.com/hooks --events 'channel.*' --channels 'chat/*' --app shop",
    ],
    load: async () => (await import("../commands/control/webhooks.ts")).create,
  },
  {
    name: "webhooks show",
    summary: "show one webhook, with its health",
    operands: [WEBHOOK],
    flags: FLAGS,
    examples: ["parley webhooks show 0123456789abcdef01234567"],
    load: async () => (await import("../commands/control/webhooks.ts")).show,
  },
  {
    name: "webhooks edit",
    summary: "change a webhook, or disable and enable it",
    operands: [WEBHOOK],
    flags: [
      { name: "address", value: "ADDRESS", meaning: "where events are sent" },
      EVENTS,
      { ...CHANNELS, meaning: `${CHANNELS.meaning}; '' removes them` },
      { ...DESCRIPTION, meaning: "a note to yourself; '' removes it" },
      {
        ...HEADERS,
        meaning:
          "file with headers to set, one 'Name: value' per line; 'Name:' removes one, others stay; - reads stdin",
      },
      {
        name: "disabled",
        value: "on|off",
        meaning: "on: send no events; off: send events again, even after it was disabled for too many failures",
      },
      ...FLAGS,
    ],
    details: `Only the values you pass change; a list replaces the whole old list.\n${ADDRESSES}`,
    examples: [
      "parley webhooks edit 0123456789abcdef01234567 --events 'recording.*'",
      "parley webhooks edit 0123456789abcdef01234567 --disabled off",
    ],
    load: async () => (await import("../commands/control/webhooks.ts")).edit,
  },
  {
    name: "webhooks delete",
    summary: "delete a webhook, its pending events and its log",
    operands: [WEBHOOK],
    flags: [YES, ...FLAGS],
    details: "This cannot be undone. The command asks for confirmation; without a terminal it needs --yes.",
    examples: [
      "parley webhooks delete 0123456789abcdef01234567",
      "parley webhooks delete 0123456789abcdef01234567 --yes",
    ],
    load: async () => (await import("../commands/control/webhooks.ts")).remove,
  },
  {
    name: "webhooks rotate",
    summary: "replace a webhook's secret; the new one is printed only this once",
    operands: [WEBHOOK],
    flags: [
      {
        name: "grace",
        value: "TIME",
        meaning: "how long the old secret also signs, in seconds or as 12h, 7d; 0: not at all (the server's setting)",
      },
      ...FLAGS,
    ],
    details:
      "During the grace period every request has two signatures, which gives receivers time to change their secret.",
    examples: [
      "parley webhooks rotate 0123456789abcdef01234567",
      "parley webhooks rotate 0123456789abcdef01234567 --grace 1h",
    ],
    load: async () => (await import("../commands/control/webhooks.ts")).rotate,
  },
  {
    name: "webhooks test",
    summary: "send a webhook.test event now, and print the response",
    operands: [WEBHOOK],
    flags: FLAGS,
    details: "The exit code is 1 if the response is not 2xx.",
    examples: ["parley webhooks test 0123456789abcdef01234567"],
    load: async () => (await import("../commands/control/webhook-deliveries.ts")).test,
  },
  {
    name: "webhooks deliveries",
    summary: "list a webhook's deliveries, newest first",
    operands: [WEBHOOK],
    flags: [
      { name: "status", value: "STATUS", meaning: "only these", choices: ["succeeded", "failed"] },
      { name: "event", value: "TYPE", meaning: "only events of this type" },
      { name: "limit", value: "N", meaning: `the maximum number (${DELIVERIES_LISTED_DEFAULT})` },
      ...forLists(FLAGS),
    ],
    examples: [
      "parley webhooks deliveries 0123456789abcdef01234567",
      "parley webhooks deliveries 0123456789abcdef01234567 --status failed --json",
    ],
    load: async () => (await import("../commands/control/webhook-deliveries.ts")).deliveries,
  },
  {
    name: "webhooks resend",
    summary: "resend a delivery's event, with the same webhook-id",
    operands: [WEBHOOK, { name: "DELIVERY", meaning: "the number of a delivery" }],
    flags: FLAGS,
    examples: ["parley webhooks resend 0123456789abcdef01234567 42"],
    load: async () => (await import("../commands/control/webhook-deliveries.ts")).resend,
  },
  {
    name: "webhooks replay",
    summary: "resend everything since a given time that has not succeeded",
    operands: [WEBHOOK],
    flags: [
      {
        name: "since",
        value: "TIME",
        meaning: "Unix seconds, a date such as 2030-01-31T18:00:00Z, or a time ago such as 2h or 3d",
        required: true,
      },
      ...FLAGS,
    ],
    examples: ["parley webhooks replay 0123456789abcdef01234567 --since 1d"],
    load: async () => (await import("../commands/control/webhook-deliveries.ts")).replay,
  },
  {
    name: "webhooks listen",
    summary: "receive webhooks on this machine, and print each event, verified",
    flags: [
      { name: "port", value: "N", meaning: `the port to listen on (${WEBHOOK_LISTEN_PORT})` },
      { ...EVENTS, meaning: `${EVENTS.meaning} (*)` },
      { ...CHANNELS, meaning: "patterns of channels to watch (**)" },
      {
        name: "secret-file",
        value: "FILE",
        meaning: "file with the secret of a webhook that you have made; default PARLEY_WEBHOOK_SECRET",
      },
      { name: "forward", value: "URL", meaning: "forward each request to this address, and return its response" },
      { name: "count", value: "N", meaning: "end after N requests" },
      APP,
      ...CONTROL.map((flag) =>
        flag.name === "json" ? { ...flag, meaning: "print each event as one line of JSON, and errors as JSON" } : flag,
      ),
    ],
    details: `Without a secret, the command creates a temporary webhook and deletes it at the end. The service must run on this machine and allow it:
start it with PARLEY_WEBHOOK_ALLOW=127.0.0.1:${WEBHOOK_LISTEN_PORT}. Press Ctrl-C to stop.`,
    examples: [
      "parley webhooks listen",
      "parley webhooks listen --events 'meeting.*' --forward http://127.0.0.1:3000/hooks",
      "parley webhooks listen --json | jq .data",
    ],
    load: async () => (await import("../commands/control/webhook-listen.ts")).listen,
  },
];
