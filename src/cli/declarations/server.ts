/** Commands that start a server, or work on its store while it is stopped. */
import type { Command } from "../line/command.ts";
import {
  CONFIG_FILE,
  CONTROL,
  FORCE,
  JSON_OUT,
  QUIET,
  SETTINGS_FLAGS,
  STORE_FLAGS,
  settingFlag,
  YES,
} from "../line/flags.ts";

export const SERVER: readonly Command[] = [
  {
    name: "up",
    summary: "run a server until you stop it",
    flags: SETTINGS_FLAGS,
    details: `You can also set every option in the environment (PARLEY_PORT) or in the file of --config (port = 9000).
The log goes to stdout: as JSON lines, or as readable lines on a terminal (--log-format).
SIGTERM, SIGINT (Ctrl-C) and closing the terminal stop the server cleanly; SIGHUP reloads its TLS certificate.
With --workers, several processes share the port and the work; "parley reload" replaces them one by one.`,
    examples: ["parley up", "parley up --port 9000 --data /var/lib/parley", "parley up --workers auto"],
    load: async () => (await import("../commands/server/up.ts")).runUp,
  },
  {
    name: "reload",
    summary: "replace a running service's workers, one by one",
    flags: [settingFlag("data"), CONFIG_FILE, JSON_OUT],
    details: `For a service started with "parley up --workers" on this machine. Each new worker accepts connections before the old one drains,
so no WebSocket connect fails. Settings stay as they were when the service started. Sending SIGUSR2 to the service does the same.`,
    examples: ["parley reload", "parley reload --data /var/lib/parley"],
    load: async () => (await import("../commands/server/reload.ts")).reload,
  },
  {
    name: "config",
    summary: "show the settings a server started here would use, and where each comes from",
    flags: [...SETTINGS_FLAGS, JSON_OUT],
    details: `Takes the same flags as "parley up", and shows the settings that "parley up" would use in this folder and environment.
A running server may have been started with others: the dashboard shows those under Settings. Secrets are hidden.`,
    examples: ["parley config", "parley config --config parley.toml --json"],
    load: async () => (await import("../commands/server/config.ts")).showConfig,
  },
  {
    name: "doctor",
    summary: "check a running server against the production checklist",
    flags: [
      {
        name: "public-url",
        value: "URL",
        meaning: "the address clients use (https://realtime.example.com); default PARLEY_PUBLIC_URL, else --url",
      },
      ...CONTROL,
    ],
    details: `Each line is ok, attention, SERIOUS, or could not check, and says what to do; docs/production.md has the
full list. Run it from another machine, with --public-url, to see what unauthenticated clients see.
The server also reports what is failing right now. If PARLEY_DATABASE_URL, PARLEY_NATS_URL or PARLEY_STORAGE_URL
are set here as on the server, doctor tries them from this machine too. The exit code is 1 if anything is serious.`,
    examples: [
      "parley doctor",
      "parley doctor --url http://10.0.0.11:9090 --public-url https://realtime.example.com --json",
    ],
    load: async () => (await import("../commands/doctor/doctor.ts")).doctor,
  },
  {
    name: "health",
    summary: "check that the server is alive",
    flags: [settingFlag("host"), settingFlag("port"), CONFIG_FILE, JSON_OUT],
    details: `For container health checks: calls /healthz on this machine, at the address set by PARLEY_HOST and PARLEY_PORT,
without a credential. The exit code is 1 if there is no answer within four seconds.
/healthz stays healthy while a database is unavailable, so that a supervisor does not restart a node that is waiting for it.`,
    examples: ["parley health", "parley health --port 9000 --json"],
    load: async () => (await import("../commands/server/health.ts")).health,
  },
  {
    name: "backup",
    summary: "back up all of a service's data, while it runs",
    operands: [{ name: "TARGET", meaning: "a file, a folder, or s3://KEY:SECRET@bucket/prefix?endpoint=…" }],
    flags: [
      { name: "no-recordings", meaning: "copy the list of recordings, but not their files" },
      {
        name: "with-master-key",
        meaning: "copy the master key too; the backup alone is then enough to read all secrets",
      },
      { ...FORCE, meaning: "replace the file if it exists" },
      QUIET,
      settingFlag("databaseUrl"),
      CONFIG_FILE,
      ...CONTROL,
    ],
    details: `Copies applications, keys, rooms, meetings, messages of channels with history, and recordings, all from the same moment.
If the service is running, the backup goes through its control plane, with the admin token; otherwise it reads the data folder.
PARLEY_BACKUP_KEY encrypts the backup. Without --with-master-key it does NOT contain the master key: store master.key (or
PARLEY_MASTER_KEY) separately. Without that key, no one can read the secrets in the backup, neither a thief nor you.
With PostgreSQL, it does not contain the database: run pg_dump just before. For scheduled backups, set PARLEY_BACKUP_EVERY.`,
    examples: [
      "parley backup parley.backup",
      "parley backup /backups/ --data /var/lib/parley",
      "parley backup parley.backup --no-recordings --force",
    ],
    load: async () => (await import("../commands/server/backup.ts")).backup,
  },
  {
    name: "restore",
    summary: "replace a stopped service's data with a backup",
    operands: [{ name: "SOURCE", meaning: "a backup written by parley backup: a file, or s3://…/NAME" }],
    flags: [
      { ...YES, meaning: "replace an existing store; required without a terminal" },
      { name: "without-master-key", meaning: "restore even if no master key decrypts the backup's secrets" },
      QUIET,
      ...STORE_FLAGS,
      { ...FORCE, meaning: "the same as --yes" },
    ],
    details: `Checks the whole backup before changing anything. The master key must be the one that was in use when the backup was
made: put master.key into the data folder, or set PARLEY_MASTER_KEY. Afterwards, keys, applications and the admin token
are those of the backup. The replaced files stay in before-restore/ until the next restore.
Also accepts the single SQLite file that "parley backup" of 0.1.0 wrote; messages and recordings then stay as they are.`,
    examples: ["parley restore parley.backup", "parley restore parley.backup --data /var/lib/parley --yes"],
    load: async () => (await import("../commands/server/restore.ts")).restore,
  },
  {
    name: "move",
    summary: "move everything from the data folder to PostgreSQL, or back, with every server stopped",
    flags: [
      {
        name: "to",
        value: "URL",
        meaning: "move to postgres://user@host/database; postgres: that of PARLEY_DATABASE_URL",
      },
      { name: "from", value: "URL", meaning: "move from there to the data folder" },
      { name: "reopen", meaning: "make a store that was moved usable again, as it was before the move" },
      { ...YES, meaning: "replace and lose what the target holds; required without a terminal" },
      { ...FORCE, meaning: "the same as --yes" },
      ...STORE_FLAGS,
      QUIET,
    ],
    details: `Copies applications, keys, rooms, meetings, the list of recordings and all messages of channels with history, then compares every
row. Clients continue where they were. If a move is interrupted, repeat the same command to continue it; until it is complete, no
server starts on the target. The source stays as it was, and servers refuse to start on it. Recording files are not moved.
The password comes from PARLEY_DATABASE_URL for the same user and host, otherwise from PGPASSWORD: other users can see arguments.
You need the store's master key: master.key in the data folder, or PARLEY_MASTER_KEY.`,
    examples: [
      "parley move --to postgres://parley@db.example.com/parley",
      "parley move --from postgres --data /var/lib/parley",
      "parley move --reopen --data /var/lib/parley",
    ],
    load: async () => (await import("../commands/server/move.ts")).moveStore,
  },
  {
    name: "upgrade",
    summary: "show what starting this version would do to a store",
    flags: [{ name: "check", meaning: "check the store and the settings without changing anything" }, ...STORE_FLAGS],
    details: `With --check, shows the store's version and schema, the migrations that starting this version would run, how large the copies
made first would be and whether they fit, about how long it would take, whether a server is running, and which settings
have changed. You can run it while a server is running. The exit code is 1 if starting would fail.
Without --check, lists how to upgrade each kind of installation: Parley does not replace itself.`,
    examples: ["parley upgrade --check", "parley upgrade --check --data /var/lib/parley --json"],
    load: async () => (await import("../commands/upgrade/upgrade.ts")).upgrade,
  },
  {
    name: "admin reset-token",
    summary: "create a new admin token for a stopped server",
    flags: [YES, ...STORE_FLAGS],
    details: `This ends an admin token that the server created: if there is one, the command asks for confirmation; without a
terminal it needs --yes. If PARLEY_ADMIN_TOKEN is set, it takes precedence.`,
    examples: ["parley admin reset-token", "parley admin reset-token --data /var/lib/parley --yes"],
    load: async () => (await import("../commands/server/reset-token.ts")).resetToken,
  },
];
