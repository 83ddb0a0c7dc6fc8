/**
 * Earlier releases, the newest first: their schemas, and the settings they had. A release adds itself here when the next version begins
 * (docs/releasing.md); a test compares the newest with its commit.
 */

export interface Release {
  readonly version: string;
  /** The schema of the store; below, those of `history.sqlite` and of the histories in PostgreSQL. */
  readonly schema: number;
  readonly historySchema: number;
  readonly postgresHistorySchema: number;
  /** Names of variables without `PARLEY_`. */
  readonly settings: readonly string[];
}

export const EARLIER_RELEASES: readonly Release[] = [
  {
    version: "0.1.0",
    schema: 16,
    historySchema: 1,
    postgresHistorySchema: 3,
    settings: (
      "ADMIN_LISTEN ADMIN_TOKEN CONNECTS_PER_MINUTE_PER_IP DASHBOARD DATA DATABASE_URL DEMO DOMAIN DRAIN_SECONDS " +
      "FRAMES_BURST FRAMES_PER_SECOND HISTORY_SYNC HOST HTTP_REQUESTS_PER_MINUTE_PER_IP LINK_SECONDS LOG_FORMAT " +
      "LOG_LEVEL MASTER_KEY MAX_PENDING_BYTES MAX_RECORDING_BYTES MAX_ROOMS_PER_APP MESH_MAX MIN_FREE_DISK_BYTES " +
      "NATS_PREFIX NATS_URL NODE_ID PORT PRESENCE_TICK_MS PUBLIC_URL REST_REQUESTS_PER_SECOND ROTATION_GRACE_SECONDS " +
      "STORAGE_SHARED STORAGE_URL SWEEP_STRAYS TLS_CERT TLS_KEY TRUSTED_PROXIES TURN_SECRET TURN_URLS WORKERS"
    ).split(" "),
  },
];

/** The newest release that had this schema; undefined: none had, so it is a state between releases. */
export const releaseWith = (schema: number): Release | undefined =>
  EARLIER_RELEASES.find((release) => release.schema === schema);
