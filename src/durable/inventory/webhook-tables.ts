/** Tables of the store about webhooks: endpoints, what they are still to be sent, the log, and what events are derived from. */
import {
  WEBHOOK_FAILED_MAX,
  WEBHOOK_LOG_ATTEMPTS,
  WEBHOOK_LOG_FAILURE_MS,
  WEBHOOK_LOG_FAILURES,
} from "../../store/contract/webhooks.ts";
import {
  BACKLOG_MAX,
  ENDPOINTS_PER_APP_MAX,
  PREVIOUS_SECRETS_MAX,
  ROOM_ENDPOINTS_PER_APP_MAX,
} from "../../webhooks/limits.ts";
import { CURSORS_MAX } from "../../webhooks/streams/limits.ts";
import { TRACKED_ROWS_MAX } from "../../webhooks/tracking/limits.ts";
import { AS_ITS_APPLICATION, type DurableTable, type Limit, WITH_ITS_DATABASE } from "./entry.ts";
import { timeText } from "./texts.ts";

const count = (number: number): string => number.toLocaleString("en");
const AS_ITS_ENDPOINT: Limit = { fixed: "as long as its endpoint" };
/** A move is like a restart. After a restore, who was connected then is no news. */
const OF_NOW = {
  backup: "copied",
  restore: { emptiedBecause: "everyone who is connected then connects anew" },
  move: "rows",
} as const;
const TRACKED_AMOUNT: Limit = {
  fixed: `${count(TRACKED_ROWS_MAX)} per application, of those with an endpoint that asks for them`,
};

const ENDPOINTS: readonly DurableTable[] = [
  {
    name: "webhooks",
    key: ["id"],
    columns: [
      "app",
      "kind",
      "url",
      "events",
      "channel_patterns",
      "description",
      "header_names",
      "headers_sealed",
      "created",
      "disabled",
      "disabled_why",
    ],
    subject: "webhooks",
    holds: "endpoints of webhooks: address, events, names of headers, their values sealed",
    ...WITH_ITS_DATABASE,
    move: "rows",
    retention: {
      age: { fixed: "until they are deleted" },
      amount: { fixed: `${ENDPOINTS_PER_APP_MAX} per application, and ${ROOM_ENDPOINTS_PER_APP_MAX} of its rooms` },
    },
    deletion: "at once",
  },
  {
    name: "webhook_secrets",
    key: ["webhook", "seq"],
    columns: ["sealed", "created", "ends"],
    subject: "webhooks",
    holds: "the sealed secrets of endpoints",
    ...WITH_ITS_DATABASE,
    move: "rows",
    retention: { age: AS_ITS_ENDPOINT, amount: { fixed: `${1 + PREVIOUS_SECRETS_MAX} per endpoint` } },
    deletion: "at once",
  },
  {
    name: "webhook_apps",
    key: ["app"],
    columns: [],
    subject: "webhooks",
    holds: "applications that have had an endpoint: events are written for them only",
    ...WITH_ITS_DATABASE,
    move: "rows",
    retention: { age: AS_ITS_APPLICATION, amount: { fixed: "a row per application" } },
    deletion: "at once",
  },
];

const QUEUE: readonly DurableTable[] = [
  {
    name: "webhook_events",
    key: ["id"],
    columns: ["nr", "app", "type", "subject", "happened", "fact", "webhook"],
    subject: "webhooks",
    holds: "what has happened and was not given to endpoints yet, with the rows it is about",
    ...WITH_ITS_DATABASE,
    move: "rows",
    retention: {
      age: { fixed: "seconds, while a node runs" },
      amount: { fixed: "as many as happen in that time" },
    },
    deletion: "swept",
  },
  {
    name: "webhook_states",
    key: ["webhook"],
    columns: [
      "app",
      "last_seq",
      "last_attempt",
      "trimmed",
      "backlog",
      "dropped",
      "delivered",
      "failed",
      "attempted_at",
      "succeeded_at",
      "failing_since",
      "last_status",
      "last_error",
      "slow_until",
      "is_room",
    ],
    subject: "webhooks",
    holds: "numbers and health of each endpoint",
    ...WITH_ITS_DATABASE,
    move: "rows",
    retention: { age: AS_ITS_ENDPOINT, amount: { fixed: "a row per endpoint" } },
    deletion: "swept",
  },
  {
    name: "webhook_messages",
    key: ["webhook", "seq"],
    columns: [
      "app",
      "type",
      "subject",
      "happened",
      "data",
      "state",
      "attempts",
      "due",
      "is_blocked",
      "is_beside",
      "is_lossy",
      "last_attempt",
    ],
    subject: "webhooks",
    holds: "what endpoints are sent: messages that wait, and those that the log names",
    ...WITH_ITS_DATABASE,
    move: "rows",
    retention: {
      age: { fixed: `as long as the log names them; those that have failed ${timeText(WEBHOOK_LOG_FAILURE_MS)}` },
      amount: {
        fixed: `${count(BACKLOG_MAX)} that wait and ${count(WEBHOOK_FAILED_MAX)} that have failed per endpoint`,
      },
    },
    deletion: "swept",
  },
  {
    name: "webhook_attempts",
    key: ["webhook", "nr"],
    columns: ["app", "seq", "type", "attempt", "at", "took_ms", "is_success", "status", "error", "response"],
    subject: "webhooks",
    holds: "the log of webhooks: when an endpoint was called, and what it answered",
    ...WITH_ITS_DATABASE,
    move: "rows",
    retention: {
      age: {
        fixed: `the newest ${count(WEBHOOK_LOG_ATTEMPTS)} as long as the endpoint, failures ${timeText(WEBHOOK_LOG_FAILURE_MS)}`,
      },
      amount: {
        fixed: `${count(WEBHOOK_LOG_ATTEMPTS)} per endpoint, and ${count(WEBHOOK_LOG_FAILURES)} that have failed`,
      },
    },
    deletion: "swept",
  },
  {
    name: "webhook_lease",
    key: ["id"],
    columns: ["holder", "number", "until", "room_seq"],
    subject: "notes",
    holds: "which process sends webhooks, and from which number URLs of rooms begin",
    ...WITH_ITS_DATABASE,
    // Its number is never given twice.
    move: "rows",
    retention: { age: { fixed: "10 seconds after it was renewed last" }, amount: { fixed: "one row" } },
    deletion: "none",
  },
  {
    name: "webhook_cursors",
    key: ["webhook", "channel"],
    columns: ["app", "epoch", "position", "used"],
    subject: "webhooks",
    holds: "how far the messages of each channel were given to an endpoint",
    ...WITH_ITS_DATABASE,
    move: "rows",
    retention: { age: AS_ITS_ENDPOINT, amount: { fixed: `${count(CURSORS_MAX)} per endpoint` } },
    deletion: "swept",
  },
];

const TRACKED: readonly DurableTable[] = [
  {
    name: "tracked_nodes",
    key: ["node"],
    columns: ["beat"],
    subject: "notes",
    holds: "when each node that keeps its connections for webhooks was last alive",
    ...OF_NOW,
    retention: { age: { fixed: "until its rows are closed" }, amount: { fixed: "a row per process" } },
    deletion: "none",
  },
  {
    name: "tracked_connections",
    key: ["id"],
    columns: ["node", "app", "peer_id", "key_id", "metadata", "opened", "closed", "code", "reason", "is_said"],
    subject: "webhooks",
    holds: "open connections: peer, key, and what others see of the peer",
    ...OF_NOW,
    retention: { age: { fixed: "until they are closed, and their events are written" }, amount: TRACKED_AMOUNT },
    deletion: "swept",
  },
  {
    name: "tracked_members",
    key: ["node", "app", "channel", "peer_id"],
    columns: ["metadata", "since", "until", "is_said"],
    subject: "webhooks",
    holds: "members of channels that endpoints ask for, as presence shows them",
    ...OF_NOW,
    retention: { age: { fixed: "until they have left, and their events are written" }, amount: TRACKED_AMOUNT },
    deletion: "swept",
  },
  {
    name: "said_members",
    key: ["app", "channel", "peer_id"],
    columns: ["metadata"],
    subject: "webhooks",
    holds: "members of channels whose peer.joined was written",
    ...OF_NOW,
    retention: { age: { fixed: "until their peer.left is written" }, amount: TRACKED_AMOUNT },
    deletion: "swept",
  },
  {
    name: "said_channels",
    key: ["app", "channel"],
    columns: ["vacated_at"],
    subject: "webhooks",
    holds: "channels whose channel.occupied was written",
    ...OF_NOW,
    retention: { age: { fixed: "until their channel.vacated is written" }, amount: TRACKED_AMOUNT },
    deletion: "swept",
  },
  {
    name: "said_quotas",
    key: ["app", "period", "kind"],
    columns: [],
    subject: "webhooks",
    holds: "quotas whose quota.reached was written",
    ...WITH_ITS_DATABASE,
    move: "rows",
    retention: { age: { fixed: "until the next period" }, amount: { fixed: "two rows per application" } },
    deletion: "swept",
  },
];

export const WEBHOOK_TABLES: readonly DurableTable[] = [...ENDPOINTS, ...QUEUE, ...TRACKED];
