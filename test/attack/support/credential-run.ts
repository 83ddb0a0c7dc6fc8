/** One run that makes and uses every credential once, and keeps what others can read meanwhile. */
import { type Person, Room } from "../../conformance/raw/support/rooms.ts";
import { join, subscribe, tokenQuery } from "../../conformance/raw/support/world.ts";
import { mintToken, type SecretKey } from "../../support/admin.ts";
import { Application } from "../../support/application.ts";
import { cookieOf, signIn, withCookie } from "../../support/dashboard.ts";
import { type Answer, type Call, call, type Json } from "../../support/http.ts";
import { selfSigned } from "../../support/jwt.ts";
import { SecretSearch } from "../../support/leaks.ts";
import type { Server } from "../../support/parley.ts";
import { Backend, webm } from "../../support/recordings.ts";
import { TailReader } from "../../support/tail.ts";
import { connect } from "../../support/wire/connect.ts";
import type { Wire } from "../../support/wire/wire.ts";
import type { DoorParts } from "./doors.ts";
import { talkOverHttp } from "./over-http.ts";
import { Recorder } from "./recorder.ts";
import { makeWebhooks } from "./webhooks.ts";

const CHANNEL = "chat/credentials";
const ROOM = "credentials";
const CONTROL = "/api/internal/v1";
/** Answers whose purpose is to show a secret, and bytes. */
const SHOWS_SECRETS = /\/(secret-key|webhook-secrets|file|tail)$/;

export interface Outlet {
  readonly where: string;
  readonly text: string;
}

interface Ice {
  readonly credential?: string;
}

export class CredentialRun {
  readonly search = new SecretSearch();
  /** Kinds of credentials that the run has made and used. */
  readonly used = new Set<string>();
  /** What others can read. */
  readonly outlets: Outlet[] = [];
  /** Answers to credentials that are wrong by one character: where they were sent, and the status. */
  readonly refusals: (Outlet & { readonly status: number })[] = [];
  /** Left open for those who try to get in without a credential. */
  left: (Omit<DoorParts, "url"> & { readonly admin: Person }) | undefined;
  /** By the names of doors (doors.ts): what opens them. */
  readonly opens = new Map<string, string>();
  private readonly url: string;

  private constructor(private readonly server: Server) {
    this.url = server.url;
  }

  static async on(server: Server): Promise<CredentialRun> {
    const run = new CredentialRun(server);
    await run.go();
    return run;
  }

  /** As a proxy forwards it, which the server trusts on this machine: without TLS no one signs in through a proxy. */
  private get overTls(): Call {
    return { headers: { "X-Forwarded-Proto": "https", Origin: this.url.replace("http:", "https:") } };
  }

  private has(kind: string, value: string): string {
    this.used.add(kind);
    this.search.add(kind, value);
    return value;
  }

  private keep(where: string, text: string): void {
    this.outlets.push({ where, text });
  }

  private keepFrames(whose: string, { events }: Wire): void {
    this.keep(`frames to ${whose}`, JSON.stringify(events));
  }

  private async go(): Promise<void> {
    const { admin } = this.server;
    this.opens.set("control plane", this.has("admin token", admin.token));
    const created = await admin.must<{ token: string; _id: string }>("POST", "/operators", {
      name: "rea",
      role: "read",
    });
    const reader = this.has("operator token", created.token);
    const cookie = cookieOf(await signIn(this.url, reader, this.overTls));
    this.has("dashboard session", cookie.split("=")[1] ?? "");
    const { _id, name, secretKey } = await admin.createApp();
    const app = new Application(this.url, name, this.has("application secret", secretKey), _id);
    const tail = await TailReader.open(this.url, reader);

    const key = await this.talk(app);
    const { room, host } = await this.meet(app);
    const recorded = await this.record(room);
    const { recording } = recorded;
    const upload = await new Backend(app).begin({ room: ROOM });
    this.left = { room, ...recorded, upload: upload._id };
    this.opens.set("upload", this.has("upload address", proofIn(upload.uploadUrl)));
    await this.relay(app);
    const webhook = await this.hook(app);

    const ids = { app: name, keyId: key.keyId, peerId: "ann", channel: CHANNEL, roomName: ROOM };
    const known = { ...ids, meeting: host.join.meetingSession, recording, webhook, host: host.id };
    for (const bearer of [reader, admin.token]) await this.readControlPlane(bearer, known);
    await this.readDashboard(cookie, name);
    await this.readApplication(app, known);
    await this.readPages(app);
    await this.rotate(app, key);
    await withCookie(`${this.url}/dashboard/session`, cookie, { method: "DELETE", ...this.overTls });
    host.wire.close();
    await tail.event("the last close", ({ kind, peerId }) => kind === "close" && peerId === host.id);
    this.keep("tail", tail.text);
    await admin.must("DELETE", `/operators/${created._id}`);
    await tail.ended;
    this.keep("audit", JSON.stringify(await admin.must("GET", "/audit?limit=1000")));
    this.keep("refusals", JSON.stringify(await admin.must("GET", "/refusals?limit=1000")));
    this.keep("metrics", (await call(`${this.url}/metrics`, { bearer: admin.token })).text);
  }

  /** Realtime: tokens of both kinds, a publishable key, publish and send, a renewal, and another peer who sees all of it. */
  private async talk(app: Application): Promise<SecretKey> {
    const { admin } = this.server;
    const key = await admin.createKey(app.id, { turn: true });
    this.has("secret key", key.secret);
    await admin.must("PATCH", `/apps/${app.id}`, {
      consolePayloads: true,
      channelRules: [{ pattern: "chat/**", history: { messages: 100, seconds: 600 } }],
    });
    const { keyId: publishable } = await admin.createPublishable(app.id);
    this.used.add("publishable key");
    const other = await connect(this.url, { query: `key=${publishable}` });
    const { peerId } = await other.frame("welcome");
    await join(other, CHANNEL, { includeSenderMetadata: true, state: true });

    const minted = this.has("connect token", await mintToken(this.url, key.credential, { peerId: "ann" }));
    this.opens.set("connect with a key", publishable).set("connect with a token", minted);
    const ann = await connect(this.url, { query: tokenQuery(minted) });
    const welcome = await ann.frame("welcome");
    const { iceServers = [] } = (welcome.metadata ?? {}) as { iceServers?: readonly Ice[] };
    this.has("TURN credential", iceServers.at(-1)?.credential ?? "");
    const next = this.has(
      "connect token",
      selfSigned(key.keyId, key.secret, { sub: "ann", peerMetadata: { name: "Ann" } }),
    );
    await ann.request({ type: "renew", token: next });
    await join(ann, CHANNEL);
    await ann.request({ type: "state", channel: CHANNEL, state: { hand: true } });
    await ann.request({ type: "publish", channel: CHANNEL, data: { hello: 1 } });
    await ann.request({ type: "send", to: peerId, data: { hello: 2 } });
    await other.until("direct");
    const { session, secret } = await talkOverHttp(this.url, minted, CHANNEL);
    this.has("session over HTTP", secret);
    this.opens.set("frames over HTTP", session);
    // A token whose text is wrong, on the connection of another peer's key and on one that goes on.
    await ann.request({ type: "renew", token: altered(next) });
    await this.refused("connect", `/v1?token=${altered(minted)}`);
    await this.refused("mint", "/v1/tokens", { bearer: altered(key.credential), body: { peerId: "ann" } });
    for (const path of [
      "/v1/channels",
      `/v1/channels/${CHANNEL}/peers`,
      `/v1/channels/${CHANNEL}/history`,
      "/v1/usage",
    ])
      await this.read(path, { bearer: key.credential });
    this.keepFrames("another peer", other);
    await this.explain([{ token: next, channel: CHANNEL }, { token: altered(next) }, { key: key.credential }]);
    return key;
  }

  /** What operators ask about a credential is neither kept nor repeated. */
  private async explain(questions: readonly Json[]): Promise<void> {
    const { admin } = this.server;
    for (const body of questions) this.keep("explain", (await admin.call("POST", "/explain", body)).text);
    const { token } = questions[0] ?? {};
    this.keep("check of a token", (await admin.call("POST", "/signalling/tokens/check", { token })).text);
  }

  /** A private room: a host by link, a visitor who waits and is let in, and a participant who sees all of it. */
  private async meet(app: Application): Promise<{ room: Room; host: Person }> {
    const fields = { roomName: ROOM, privacy: "private", recordRoom: true };
    const { _id } = await app.must<{ _id: string }>("POST", "/room", fields);
    const room = new Room(app, ROOM, _id);
    const path = `/apps/${app.name}/rooms/${ROOM}/host-link`;
    const { url } = await this.server.admin.must<{ url: string }>("POST", path, { name: "Host" });
    const hostToken = this.has("host link", new URL(url).hash.replace("#token=", ""));
    const host = await room.inside({ token: hostToken });
    this.has("stay token", host.token);
    const guestToken = this.has("access token", await room.accessToken({ name: "Gus", externalUserId: "gus" }));
    this.opens.set("join with a token", guestToken);
    const guest = await room.inside({ token: guestToken }, { includeSenderMetadata: true, state: true });
    await this.refused("validate", "/api/v1/token/validate", { ...at(app), body: { token: altered(guestToken) } });

    await subscribe(host.wire, room.channel("admin"));
    const joined = await room.join({ name: "Eve" });
    const ticket = this.has("lobby ticket", String(joined.ticket));
    this.has("lobby token", joined.connect.token);
    const eve = await room.connected(joined);
    await subscribe(eve.wire, room.channel(`wait/${eve.id}`));
    await host.wire.until("message", ({ data }) => JSON.stringify(data).includes(eve.id));
    await room.act(host.token, { do: "admit", waitId: eve.id });
    await eve.wire.until("message", ({ data }) => (data as Json).notice === "admitted");
    const inside = await room.inside({ ticket, name: "Eve" });
    const resumed = await room.connected(await room.join({ resume: this.has("stay token", inside.token) }));
    this.has("stay token", resumed.token);
    await join(resumed.wire, room.channel("room"));
    await resumed.wire.request({ type: "publish", channel: room.channel("chat"), data: { text: "hello" } });
    await room.act(host.token, { do: "lock" });
    await guest.wire.until("message", ({ data }) => (data as Json).notice === "locked");
    await this.refused("act", `/api/v1/room/${ROOM}/act`, { ...at(app, altered(host.token)), body: { do: "lock" } });
    await this.refused("lobby", `/v1?token=${altered(joined.connect.token)}`);
    this.keepFrames("a participant", guest.wire);
    this.keepFrames("the host", host.wire);
    return { room, host };
  }

  /** One recording by the page of a participant, and one by a backend. */
  private async record(room: Room): Promise<{ recording: string; expires: string; admin: Person }> {
    const backend = new Backend(room.app);
    const begun = await backend.begin({ room: room.name });
    const proof = this.has("upload address", proofIn(begun.uploadUrl));
    await this.refused("upload", `/api/v1/upload/${begun._id}?proof=${altered(proof)}`, {
      ...at(room.app),
      method: "PUT",
      body: "x",
    });
    await backend.mustPut(begun.uploadUrl, webm(100));
    await backend.complete(begun._id);
    const page = await Recorder.in(room, { token: await room.accessToken({ name: "Rec", isAdmin: true }) });
    this.has("stay token", page.person.token);
    const run = await page.begin();
    this.has("upload address", proofIn(run.uploadUrl));
    await page.part(run, 0, webm(100));
    await page.end(run._id);
    const link = await backend.link(begun._id, "download");
    this.has("recording link", proofIn(link));
    await (await backend.fetch(link)).bytes();
    const { pathname, search } = new URL(link);
    await this.refused("link", pathname + altered(search), at(room.app));
    this.opens.set("link", proofIn(link)).set("act", page.person.token).set("recording of a stay", page.person.token);
    const expires = new URL(link).searchParams.get("expires") ?? "";
    return { recording: begun._id, expires, admin: page.person };
  }

  private async relay(app: Application): Promise<void> {
    const made = await app.must<{ apiKey: string; password: string }>("POST", "/turn/credential", { label: "web" });
    this.has("TURN credential", made.password);
    const apiKey = this.has("TURN API key", made.apiKey);
    this.opens.set("TURN", apiKey);
    const { body } = await call<Ice[]>(`${this.url}/api/v1/turn/credentials?apiKey=${apiKey}`, at(app));
    this.has("TURN credential", body.at(-1)?.credential ?? "");
    await this.refused("TURN", `/api/v1/turn/credentials?apiKey=${altered(apiKey)}`, at(app));
    await this.refused("application", `/api/v1/rooms?secretKey=${altered(app.secretKey)}`, at(app));
  }

  private async hook(app: Application): Promise<string> {
    const made = await makeWebhooks(this.server.admin, app, ROOM);
    this.search.add("a header of a webhook", made.header);
    for (const secret of made.secrets) this.has("webhook secret", secret);
    return made.id;
  }

  /** Every call that only reads, as the service documents it. */
  private async readControlPlane(bearer: string, known: Readonly<Record<string, string>>): Promise<void> {
    const { body } = await call<{ paths: Record<string, Json> }>(`${this.url}/openapi.json`);
    const paths = Object.entries(body.paths).filter(([path, { get }]) => get && path.startsWith(CONTROL));
    const peers = [known.peerId ?? "", known.host ?? ""];
    for (const [path] of paths.filter(([one]) => !SHOWS_SECRETS.test(one)))
      for (const peerId of path.includes("{peerId}") ? peers : [""])
        await this.read(filled(path, { ...known, ...(peerId !== "" && { peerId }) }), { bearer });
  }

  private async readDashboard(cookie: string, app: string): Promise<void> {
    for (const path of ["/dashboard/session", `${CONTROL}/apps/${app}`, `${CONTROL}/audit`, `${CONTROL}/operators`]) {
      const answer = await withCookie(this.url + path, cookie, this.overTls);
      this.keep(`${path} for the dashboard`, textOf(answer));
    }
  }

  private async readApplication(app: Application, known: Readonly<Record<string, string>>): Promise<void> {
    for (const path of [
      ...["rooms", `room/${ROOM}`, `room/${ROOM}/door`, "rooms/active/meetingsessions", "meetings"],
      ...[`meeting/${known.meeting}`, "recordings", `recording/${known.recording}`],
      ...["webhooks"],
    ])
      await this.read(`/api/v1/${path}`, at(app, app.secretKey));
  }

  private async readPages(app: Application): Promise<void> {
    for (const path of [
      "/",
      "/docs",
      "/docs/api",
      "/docs/demo.json",
      "/docs/security",
      "/docs/search.js",
      "/llms-full.txt",
      "/dashboard",
      "/dashboard/why-not",
      "/openapi.json",
      "/assets/recover.js",
      "/client.js",
    ])
      await this.read(path);
    for (const path of [`/${ROOM}?token=abc`, "/no-such-room?token=abc"]) await this.read(path, at(app));
  }

  private async rotate(app: Application, key: SecretKey): Promise<void> {
    const { admin } = this.server;
    const { secret } = await admin.rotate(key.keyId);
    this.opens.set("secret key", `${key.keyId}:${this.has("secret key", secret)}`);
    const path = `/apps/${app.id}/secret-key`;
    const { secretKey } = await admin.must<{ secretKey: string }>("POST", `${path}/rotate`, { graceSec: 60 });
    this.opens.set("application secret", this.has("application secret", secretKey));
    await admin.must("GET", path);
  }

  private async read(path: string, request: Call = {}): Promise<void> {
    const answer = await call(this.url + path, request);
    this.keep(`GET ${path}`, textOf(answer));
    if (answer.headers.get("referrer-policy") !== "no-referrer") throw new Error(`${path} has no Referrer-Policy`);
  }

  private async refused(where: string, path: string, request: Call = {}): Promise<void> {
    const answer = await call(this.url + path, request);
    this.refusals.push({ where, status: answer.status, text: textOf(answer) });
  }
}

const at = (app: Application, bearer?: string): Call => ({
  headers: { Host: app.host, "Content-Type": "application/json" },
  ...(bearer !== undefined && { bearer }),
});

const textOf = ({ text, headers }: Answer<unknown>): string => `${text}\n${JSON.stringify([...headers])}`;

const proofIn = (address: string): string => new URL(address).searchParams.get("proof") ?? "";

/** Another character in its middle: what is searched for are both ends. */
const altered = (text: string): string => {
  const middle = text.length - 10;
  return text.slice(0, middle) + (text[middle] === "A" ? "B" : "A") + text.slice(middle + 1);
};

/** The path of a document with names in place of its parameters. `id` is that of what the path lists before it. */
const filled = (path: string, known: Readonly<Record<string, string>>): string =>
  path.replace(/(\w+)\/\{(\w+)\}/g, (_whole, before: string, name: string) => {
    const value = name === "id" ? known[before.replace(/s$/, "")] : known[name];
    return `${before}/${encodeURIComponent(value ?? "unknown")}`;
  });
