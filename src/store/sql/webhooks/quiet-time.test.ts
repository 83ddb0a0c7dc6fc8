/** An embedded store is not read every 100 ms for what no one has written; what is written, and what comes due, is found at once. */
import { expect, test } from "bun:test";
import type { SQL } from "bun";
import { anAppId } from "../../../base/testing/ids.ts";
import type { Derived, DeriveOptions, TrackedChanges } from "../../contract/tracking.ts";
import type { Lost, WebhookEventType } from "../../contract/webhooks.ts";
import { OneConnection } from "../../engines/database.ts";
import { migrate } from "../../migrate.ts";
import { openSqlite, sqliteFile } from "../../open.ts";
import { newFolders } from "../../testing/places.ts";
import { Outbox } from "./outbox.ts";
import { SqlTracking } from "./tracking.ts";

const A = anAppId("a");
const TYPES: readonly WebhookEventType[] = ["channel.occupied", "channel.vacated", "peer.joined", "peer.left"];
const OPTIONS: DeriveOptions = { limit: 100, silentMs: null, vacatedMs: 5000, asked: [[A, TYPES]] };
const NOTHING: TrackedChanges = { isKnown: false, opened: [], closed: [], members: [], left: [] };
const ANN = { app: A, channel: "c", peerId: "ann" };

const newFolder = newFolders();

/** Counts the transactions of `derive`. */
class Counted extends OneConnection {
  transactions = 0;

  constructor(sql: SQL) {
    super(sql);
    const inner = this.quickTransaction;
    this.quickTransaction = (work, committed) => {
      this.transactions++;
      return inner(work, committed);
    };
  }
}

class Place {
  nowMs = 1_800_000_000_000;
  readonly tracking: SqlTracking;

  private constructor(readonly database: Counted) {
    this.tracking = new SqlTracking(database, new Outbox(false), () => this.nowMs);
  }

  static async open(): Promise<Place> {
    const sql = await openSqlite(sqliteFile(newFolder()));
    const database = new Counted(sql);
    await migrate(database);
    await sql`INSERT INTO apps (id, name, secret_sealed, secret_digest, plan_name, created) VALUES (${A}, 'a', '', '', '', 1)`;
    await sql`INSERT INTO webhook_apps (app) VALUES (${A})`;
    await sql`UPDATE webhook_lease SET holder = 'me', number = 1`;
    const place = new Place(database);
    await place.tracking.begin("n1");
    return place;
  }

  derive(number = 1): Promise<Derived | Lost> {
    return this.tracking.derive({ holder: "me", number }, OPTIONS);
  }

  write(changes: Partial<TrackedChanges>): Promise<unknown> {
    return this.tracking.write("n1", { ...NOTHING, ...changes });
  }

  /** How many transactions `work` takes. */
  async counted(work: () => Promise<unknown>): Promise<number> {
    const before = this.database.transactions;
    await work();
    return this.database.transactions - before;
  }

  /** Events, until there is nothing left to derive. */
  async events(): Promise<number> {
    const derived = await this.derive();
    return derived === "lost" ? Number.NaN : derived.events;
  }
}

test("nothing is read for a second after there was nothing to derive; then it is", async () => {
  const place = await Place.open();
  await place.derive();
  expect(await place.counted(() => place.derive())).toBe(0);
  place.nowMs += 999;
  expect(await place.counted(() => place.derive())).toBe(0);
  place.nowMs += 1;
  expect(await place.counted(() => place.derive())).toBe(1);
  // The clock was set back.
  place.nowMs -= 1;
  expect(await place.counted(() => place.derive())).toBe(1);
  await place.database.close();
});

test("what is written meanwhile is found with the next turn, also what waits behind a turn", async () => {
  const place = await Place.open();
  await place.derive();
  await place.write({ members: [{ ...ANN, metadataJson: null, since: 1 }] });
  expect(await place.events()).toBe(2);
  await place.derive();
  place.nowMs += 1000;
  await Promise.all([place.derive(), place.write({ left: [{ ...ANN, afterMs: 0 }] })]);
  expect(await place.events()).toBe(1);
  await place.database.close();
});

test("members that leave later, and channels that stay empty, are found when it is time", async () => {
  const place = await Place.open();
  await place.write({ members: [{ ...ANN, metadataJson: null, since: 1 }] });
  await place.derive();
  await place.write({ left: [{ ...ANN, afterMs: 300 }] });
  expect(await place.events()).toBe(0);
  place.nowMs += 299;
  expect(await place.counted(() => place.derive())).toBe(0);
  place.nowMs += 1;
  expect(await place.events()).toBe(1);
  place.nowMs += 4900;
  expect(await place.events()).toBe(0);
  place.nowMs += 99;
  expect(await place.counted(() => place.derive())).toBe(0);
  place.nowMs += 1;
  expect(await place.events()).toBe(1);
  await place.database.close();
});

test("another holder of the lease is not answered for the one before", async () => {
  const place = await Place.open();
  await place.derive();
  expect(await place.derive(2)).toBe("lost");
  await place.database.close();
});
