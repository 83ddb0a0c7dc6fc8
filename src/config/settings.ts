/** The table of all settings: names, unit, default, meaning and allowed values. docs/settings.md is generated from it. */
import {
  ADMIN_TOKEN_MIN_CHARS,
  MASTER_KEY_BYTES,
  ROTATION_GRACE_MAX_SECONDS,
  TURN_SECRET_MIN_CHARS,
} from "../access/limits.ts";
import type { Cidr } from "../base/address.ts";
import { type Allow, NOTHING_ALLOWED } from "../net/allow.ts";
import { AUDIO_MESH_MAX } from "../protocol/limits.ts";
import { LINK_MAX_SECONDS, QUARANTINE_MS } from "../recordings/budgets/limits.ts";
import { BACKUP_SETTINGS } from "./backup-settings.ts";
import {
  adminToken,
  allowed,
  anyText,
  base64Key,
  cidrs,
  durationOf,
  file,
  integer,
  matching,
  oneOf,
  onOff,
  turnSecrets,
  turnUrls,
  urls,
  WORKERS_MAX,
  workers,
} from "./reading.ts";
import { type Setting, setting } from "./setting.ts";

export type { Setting };

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";
export type HistorySync = "process" | "disk";
export type SweepStrays = "auto" | "on" | "off";
export type LogFormat = "auto" | "json" | "pretty";

const GIB = 1024 ** 3;
const QUARANTINE_DAYS = QUARANTINE_MS / (24 * 3_600_000);

export const SETTINGS = {
  port: setting({
    env: "PARLEY_PORT",
    initial: 8080,
    meaning: "TCP port to listen on; 0: any free port",
    read: integer(0, 65_535),
  }),
  host: setting({
    env: "PARLEY_HOST",
    initial: "",
    shown: "0.0.0.0; 127.0.0.1 if the first start created the demo",
    meaning:
      "address to listen on: 0.0.0.0 means every IPv4 address of this machine; only this machine can reach 127.0.0.1",
    read: anyText,
  }),
  workers: setting<number | "auto">({
    env: "PARLEY_WORKERS",
    initial: 1,
    meaning: `processes that share the port and the work (Linux): a number up to ${WORKERS_MAX}, or auto for one per available core, and fewer if each would have less than 256 MiB of memory`,
    read: workers,
  }),
  data: setting({
    env: "PARLEY_DATA",
    initial: "./data",
    meaning: "folder for the SQLite file, the master key and recordings",
    read: anyText,
    path: true,
  }),
  domain: setting({
    env: "PARLEY_DOMAIN",
    initial: "localhost",
    meaning: "domain of the applications: each has the host `<app>.<domain>`",
    read: matching(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, "a domain name in lower case, without port"),
  }),
  publicUrl: setting<readonly string[]>({
    env: "PARLEY_PUBLIC_URL",
    initial: [],
    shown: "none",
    meaning:
      "the service's own addresses, separated by commas: the dashboard, control plane and metrics answer only under these hosts, `localhost` and IP addresses (with the admin token or an operator's token, under any host)",
    read: urls,
  }),
  adminToken: setting({
    env: "PARLEY_ADMIN_TOKEN",
    initial: "",
    shown: "made at the first start",
    meaning: `credential of the control plane; at least ${ADMIN_TOKEN_MIN_CHARS} characters, and not a token or key of another kind (commands read an operator's token from PARLEY_OPERATOR_TOKEN)`,
    read: adminToken,
    secret: true,
  }),
  masterKey: setting({
    env: "PARLEY_MASTER_KEY",
    initial: "",
    shown: "made at the first start, in the data folder",
    meaning: `encrypts secrets at rest: base64 of ${MASTER_KEY_BYTES} bytes`,
    read: base64Key,
    secret: true,
  }),
  databaseUrl: setting({
    env: "PARLEY_DATABASE_URL",
    initial: "",
    shown: "SQLite in the data folder",
    meaning: "`postgres://user:password@host/database` (`?sslmode=verify-full` for TLS); needs PARLEY_MASTER_KEY",
    read: matching(/^postgres(ql)?:\/\/.+/, "postgres://user:password@host/database"),
    secret: true,
  }),
  natsUrl: setting({
    env: "PARLEY_NATS_URL",
    initial: "",
    shown: "none: one node",
    meaning: "NATS servers that connect the nodes: `nats://a,b,c` (`tls://` for TLS, `user:password@` for credentials)",
    read: matching(/^(nats|tls):\/\/.+/, "nats://host:4222"),
    secret: true,
  }),
  natsPrefix: setting({
    env: "PARLEY_NATS_PREFIX",
    initial: "parley",
    meaning: "prefix of all NATS subjects; separates installations that share one NATS",
    read: matching(/^[A-Za-z0-9_-]+$/, "letters, digits, _ and -"),
  }),
  tlsCert: setting({
    env: "PARLEY_TLS_CERT",
    initial: "",
    shown: "none",
    meaning: "certificate chain (PEM), to serve https and wss without a proxy; reloaded on SIGHUP",
    read: file,
    path: true,
  }),
  tlsKey: setting({
    env: "PARLEY_TLS_KEY",
    initial: "",
    shown: "none",
    meaning: "private key (PEM) of that certificate",
    read: file,
    path: true,
  }),
  adminListen: setting({
    env: "PARLEY_ADMIN_LISTEN",
    initial: "",
    shown: "the same port",
    meaning:
      "separate `host:port` for the dashboard, control plane and metrics; the main port then does not serve them",
    read: matching(/^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):\d{1,5}$/, "host:port"),
  }),
  storageUrl: setting({
    env: "PARLEY_STORAGE_URL",
    initial: "",
    shown: "folder in the data folder",
    meaning: "where recordings are stored: `s3://KEY:SECRET@bucket/prefix?endpoint=…&region=…`",
    read: matching(/^s3:\/\/.+/, "s3://bucket?endpoint=…"),
    secret: true,
  }),
  storageShared: setting({
    env: "PARLEY_STORAGE_SHARED",
    initial: false,
    shown: "off",
    meaning: "on: all nodes share the recordings folder (a network file system)",
    read: onOff,
  }),
  sweepStrays: setting<SweepStrays>({
    env: "PARLEY_SWEEP_STRAYS",
    initial: "auto",
    meaning: `what to do with files in the storage that belong to no recording. auto: quarantine a limited number of them, and remove them after ${QUARANTINE_DAYS} days; on: the same without a limit, and also take over a storage that belongs to another store, or an empty one that replaces the previous one; off: keep them`,
    read: oneOf("auto", "on", "off"),
  }),
  ...BACKUP_SETTINGS,
  historySync: setting<HistorySync>({
    env: "PARLEY_HISTORY_SYNC",
    initial: "process",
    meaning:
      "what acknowledged messages in the embedded history survive. process: a crash of the process at any moment; disk: also a power cut, at the cost of a disk write per batch of messages. PostgreSQL: as configured",
    read: oneOf("process", "disk"),
  }),
  connectsPerMinutePerIp: setting({
    env: "PARLEY_CONNECTS_PER_MINUTE_PER_IP",
    initial: 600,
    meaning: "connects per minute from one address (IPv6: /64); a refused credential counts as 10; 0 = no limit",
    read: integer(0, 1_000_000),
  }),
  httpRequestsPerMinutePerIp: setting({
    env: "PARLEY_HTTP_REQUESTS_PER_MINUTE_PER_IP",
    initial: 600,
    meaning: "HTTP requests without a valid credential per minute from one address (IPv6: /64); 0 = no limit",
    read: integer(0, 1_000_000),
  }),
  framesPerSecond: setting({
    env: "PARLEY_FRAMES_PER_SECOND",
    initial: 100,
    meaning: "frames per second and connection; 0 = no limit",
    read: integer(0, 1_000_000),
  }),
  framesBurst: setting({
    env: "PARLEY_FRAMES_BURST",
    initial: 500,
    meaning: "frames that one connection may send in a burst",
    read: integer(1, 1_000_000),
  }),
  restRequestsPerSecond: setting({
    env: "PARLEY_REST_REQUESTS_PER_SECOND",
    initial: 100,
    meaning: "REST requests per second and key; 0 = no limit",
    read: integer(0, 1_000_000),
  }),
  maxRoomsPerApp: setting({
    env: "PARLEY_MAX_ROOMS_PER_APP",
    initial: 100_000,
    meaning: "rooms per application, without archived ones; 0 = no limit",
    read: integer(0, 1_000_000_000),
  }),
  meshMax: setting({
    env: "PARLEY_MESH_MAX",
    initial: 6,
    meaning: `most people in one room, whatever its maxParticipants, because each browser sends to all others. Audio-only rooms allow ${AUDIO_MESH_MAX}, or this value if it is higher`,
    read: integer(1, 1000),
  }),
  turnUrls: setting<readonly string[]>({
    env: "PARLEY_TURN_URLS",
    initial: [],
    shown: "none",
    meaning:
      "TURN and STUN servers that calls use, separated by commas: `turn:turn.example.com:3478?transport=udp,turns:turn.example.com:443` ([turn.md](turn.md))",
    read: turnUrls,
  }),
  turnSecret: setting<readonly string[]>({
    env: "PARLEY_TURN_SECRET",
    initial: [],
    shown: "none",
    meaning: `secret of the TURN servers (coturn's \`static-auth-secret\`), which signs their credentials; at least ${TURN_SECRET_MIN_CHARS} characters. While you change it, set two, separated by a comma; the first one signs`,
    read: turnSecrets,
    secret: true,
  }),
  webhookAllow: setting<Allow>({
    env: "PARLEY_WEBHOOK_ALLOW",
    initial: NOTHING_ALLOWED,
    shown: "none",
    meaning:
      "what operators' webhooks can call outside the public Internet, separated by commas: networks (`10.0.0.0/8`, on every port) and `host:port` (`hooks.internal:8443`). Webhooks created by applications and rooms can call only public addresses on ports 80 and 443",
    read: allowed,
  }),
  maxPendingBytes: setting({
    env: "PARLEY_MAX_PENDING_BYTES",
    initial: 1_048_576,
    meaning: "bytes that may be queued for one slow connection before it is closed",
    read: integer(65_536, GIB),
  }),
  streamPollSeconds: setting({
    env: "PARLEY_STREAM_POLL_SECONDS",
    initial: 20,
    meaning: "how long a long poll of a stream waits for messages, in seconds or as 30s, 1m",
    read: durationOf("s", 1, 120),
  }),
  presenceTickMs: setting({
    env: "PARLEY_PRESENCE_TICK_MS",
    initial: 10,
    meaning: "milliseconds between two batches of presence changes",
    read: durationOf("ms", 1, 1000),
  }),
  drainSeconds: setting({
    env: "PARLEY_DRAIN_SECONDS",
    initial: 10,
    meaning:
      "the longest that each of the two shutdown phases may take, in seconds or as 30s, 2m: closing connections, then finishing requests",
    read: durationOf("s", 0, 3600),
  }),
  trustedProxies: setting<readonly Cidr[]>({
    env: "PARLEY_TRUSTED_PROXIES",
    initial: [],
    shown: "none",
    meaning: "proxies whose X-Forwarded-For, -Host and -Proto headers are trusted: CIDR blocks, separated by commas",
    read: cidrs,
  }),
  nodeId: setting({
    env: "PARLEY_NODE_ID",
    initial: "",
    shown: "random",
    meaning: "this node's name in logs and metrics",
    read: matching(/^[A-Za-z0-9_.-]{1,64}$/, "1 to 64 letters, digits, _ . -"),
  }),
  rotationGraceSeconds: setting({
    env: "PARLEY_ROTATION_GRACE_SECONDS",
    initial: 86_400,
    meaning: "how long a rotated secret stays valid, in seconds or as 12h, 7d, unless the call sets it",
    read: durationOf("s", 0, ROTATION_GRACE_MAX_SECONDS),
  }),
  maxRecordingBytes: setting({
    env: "PARLEY_MAX_RECORDING_BYTES",
    initial: 4 * GIB,
    meaning: "largest recording, in bytes",
    read: integer(1, Number.MAX_SAFE_INTEGER),
  }),
  minFreeDiskBytes: setting({
    env: "PARLEY_MIN_FREE_DISK_BYTES",
    initial: GIB / 2,
    meaning: "free disk space, in bytes, below which uploads are refused (507)",
    read: integer(0, Number.MAX_SAFE_INTEGER),
  }),
  linkSeconds: setting({
    env: "PARLEY_LINK_SECONDS",
    initial: 3600,
    meaning: "how long links to recordings are valid, in seconds or as 30m, 2h, unless the call sets it",
    read: durationOf("s", 1, LINK_MAX_SECONDS),
  }),
  logLevel: setting<LogLevel>({
    env: "PARLEY_LOG_LEVEL",
    initial: "info",
    meaning: "debug, info, warn, error or silent; on a terminal, only debug shows error stacks",
    read: oneOf("debug", "info", "warn", "error", "silent"),
  }),
  logFormat: setting<LogFormat>({
    env: "PARLEY_LOG_FORMAT",
    initial: "auto",
    shown: "json; pretty on a terminal",
    meaning: "json or pretty",
    read: oneOf("auto", "json", "pretty"),
  }),
  demo: setting({
    env: "PARLEY_DEMO",
    initial: true,
    shown: "on",
    meaning: "off: the first start does not create a demo application",
    read: onOff,
  }),
  dashboard: setting({
    env: "PARLEY_DASHBOARD",
    initial: true,
    shown: "on",
    meaning: "off: no dashboard and no sign-in; the control plane stays",
    read: onOff,
  }),
} as const;

export type SettingName = keyof typeof SETTINGS;
export type Config = { readonly [K in SettingName]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never };

export const NAMES = Object.keys(SETTINGS) as SettingName[];

/** `PARLEY_LOG_LEVEL` is `--log-level` on the command line and `log-level` in a file. */
export const keyOf = (name: SettingName): string =>
  SETTINGS[name].env.slice("PARLEY_".length).toLowerCase().replaceAll("_", "-");

const NAME_BY_KEY = new Map(NAMES.map((name) => [keyOf(name), name]));

/** The setting that a flag or a key in a file names. */
export const nameOf = (key: string): SettingName | undefined => NAME_BY_KEY.get(key);
