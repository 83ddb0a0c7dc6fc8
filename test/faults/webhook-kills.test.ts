/**
 * `kill -9` at random moments of a node that creates, changes and removes rooms, keys and recordings: everything that was acknowledged, and everything
 * that is there afterwards, has its events; what they add up to is what is so, and no number is missing.
 */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { Application } from "../support/application.ts";
import type { Json } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { Chance } from "../support/random.ts";
import { Backend, webm } from "../support/recordings.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { WebhookReceiver } from "../support/webhooks/receiver.ts";
import { Reported } from "../support/webhooks/reported.ts";

const KILLS = IS_FULL ? 200 : 4;
const SEED = Number(process.env.PARLEY_TEST_SEED ?? 34);
const RECORDING_BYTES = 200;
/** The node works this long at most before it is killed. */
const ALIVE_MAX_MS = 400;
const CALLERS = 4;

setDefaultTimeout(60_000 + KILLS * 8000);

const receiver = new WebhookReceiver();
afterAll(() => {
  receiver[Symbol.dispose]();
  expect(receiver.wrong).toEqual([]);
});

/** What was acknowledged. */
class Acknowledged {
  readonly events: { readonly type: string; readonly id: string }[] = [];

  constructor(
    private readonly name: string,
    private readonly secretKey: string,
    private readonly chance: Chance,
  ) {}

  /** Calls until the node is gone. */
  async work(server: Server): Promise<void> {
    const backend = new Application(server.url, this.name, this.secretKey);
    const own: Made[] = [];
    for (;;) {
      const room = own[this.chance.below(Math.max(1, own.length))];
      const what = this.chance.below(7);
      if (what < 2 || room === undefined) {
        const roomName = `r-${crypto.randomUUID()}`;
        const id = this.note("room.created", await backend.call("POST", "/room", { roomName }));
        if (id !== undefined) own.push({ roomName, id });
      } else if (what === 2)
        this.note("room.updated", await backend.call("PUT", `/room/${room.roomName}`, { enableChat: false }));
      else if (what === 3) {
        this.note("room.archived", await backend.call("DELETE", `/room/${room.roomName}`), room.id);
        own.splice(own.indexOf(room), 1);
      } else if (what === 4) {
        const { _id } = await server.admin.must<{ _id: string }>("GET", `/apps/${this.name}`);
        const { keyId } = await server.admin.createKey(_id);
        this.events.push({ type: "key.created", id: keyId });
      } else await this.record(new Backend(backend), room.id);
    }
  }

  private async record(backend: Backend, room: string): Promise<void> {
    const { _id, uploadUrl } = await backend.begin({ room });
    await backend.mustPut(uploadUrl, webm(RECORDING_BYTES));
    this.note("recording.ready", await backend.app.call("POST", `/recording/${_id}/complete`, {}));
    if (this.chance.once(2))
      this.note("recording.deleted", await backend.app.call("DELETE", `/recording/${_id}`), String(_id));
  }

  /** Returns the id, if it was acknowledged. */
  private note(type: string, { status, body }: { readonly status: number; readonly body: Json }, named?: string) {
    if (status !== 200) return undefined;
    const id = named ?? String(body._id);
    this.events.push({ type, id });
    return id;
  }
}

/** A room that was made. */
interface Made {
  readonly roomName: string;
  readonly id: string;
}

/** What there is, by the ids. */
interface There {
  readonly rooms: readonly string[];
  readonly recordings: readonly string[];
}

async function there(app: Application): Promise<There> {
  const rooms = (await app.must<Json[]>("GET", "/rooms")).map(({ _id }) => String(_id)).sort();
  const recordings: string[] = [];
  for (let endId = ""; ; ) {
    const { data, currEndId } = await new Backend(app).list({ limit: 100, ...(endId && { endId }) });
    recordings.push(...data.map(({ _id }) => _id));
    if (data.length === 0) return { rooms, recordings: recordings.sort() };
    endId = currEndId;
  }
}

const idOf = ({ data }: { readonly data: Json }): string => String(data._id ?? data.keyId);

test(`${KILLS} kills lose no event, seed ${SEED}`, async () => {
  using folder = scratch();
  const chance = new Chance(SEED);
  const options = {
    data: folder.path,
    env: { PARLEY_WEBHOOK_ALLOW: "127.0.0.0/8", PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}` },
  };
  let server = await startParley(options);
  const app = await server.admin.createApp();
  const root = `/apps/${app.name}/webhooks`;
  const made = await server.admin.must<{ secret: string }>("POST", root, {
    url: receiver.url("/all"),
    events: ["room.*", "key.*", "recording.*"],
  });
  receiver.expect("/all", made.secret);
  const acknowledged = new Acknowledged(app.name, app.secretKey, chance);
  for (let kill = 0; kill < KILLS; kill++) {
    const working = Array.from({ length: CALLERS }, () => acknowledged.work(server).catch(() => undefined));
    await Bun.sleep(chance.below(ALIVE_MAX_MS));
    await server.kill();
    await Promise.all(working);
    server = await startParley(options);
  }
  const backend = new Application(server.url, app.name, app.secretKey);
  const reported = (): There & { readonly missed: unknown[]; readonly missing: readonly number[] } => {
    const got = receiver.of("/all").toSorted((a, b) => a.data.seq - b.data.seq);
    const said = new Set(got.map((one) => `${one.type} ${idOf(one)}`));
    const [rooms, recordings] = [new Set<string>(), new Set<string>()];
    for (const one of got) {
      if (one.type === "room.created") rooms.add(idOf(one));
      if (one.type === "room.archived") rooms.delete(idOf(one));
      if (one.type === "recording.ready") recordings.add(idOf(one));
      if (one.type === "recording.deleted") recordings.delete(idOf(one));
    }
    const missed = acknowledged.events.filter(({ type, id }) => !said.has(`${type} ${id}`));
    const all = { rooms: [...rooms].sort(), recordings: [...recordings].sort() };
    return { ...all, missed, missing: new Reported(got).missing };
  };
  const isSo = async (): Promise<boolean> =>
    Bun.deepEquals(reported(), { ...(await there(backend)), missed: [], missing: [] });
  await until("all events have come", isSo, 60_000).catch(() => undefined);
  expect(reported()).toEqual({ ...(await there(backend)), missed: [], missing: [] });
  const count = (type: string): number => acknowledged.events.filter((event) => event.type === type).length;
  if (IS_FULL) expect([count("recording.ready"), count("recording.deleted")]).not.toContain(0);
  console.log(
    `${KILLS} kills: ${acknowledged.events.length} acknowledged, ${count("recording.ready")} recordings, ${receiver.of("/all").length} requests`,
  );
  expect(acknowledged.events.length).toBeGreaterThan(KILLS);
  await server.stop();
});
