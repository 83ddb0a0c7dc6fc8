/** Documents of Yjs by the public provider and its server, unmodified, with the programs of docs/streams.md. */
import { afterAll, afterEach, expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { freePort } from "../../../src/testing/ports.ts";
import { NetworkProxy } from "../../support/network-proxy.ts";
import { until } from "../../support/wait.ts";
import { fresh, worldForTests } from "../raw/support/world.ts";
import { Libraries } from "./libraries/libraries.ts";
import { programsOf } from "./libraries/page.ts";
import { StreamClient, withStreams } from "./support.ts";

interface Doc {
  readonly clientID: number;
  getText(name: string): { insert(at: number, text: string): void; readonly length: number; toString(): string };
  destroy(): void;
}
interface Provider {
  readonly synced: boolean;
  readonly connected: boolean;
  readonly awareness: { setLocalState(state: object): void; getStates(): Map<number, object> };
  flush(): Promise<void>;
  disconnect(): Promise<void>;
  destroy(): void;
}
interface YjsServer {
  readonly url: string;
  start(): Promise<string>;
  stop(): Promise<void>;
}
type Opened = { readonly doc: Doc; readonly provider: Provider };

setDefaultTimeout(120_000);

const LONG_TEXT = "a line that is long enough. ".repeat(150);

const opened: Opened[] = [];
let server: YjsServer | undefined;

/** Its provider asks for as long as it is open. */
async function closeAll(): Promise<void> {
  await Promise.all(opened.splice(0).map(close));
}

/** In this order: otherwise it connects again. */
async function close({ doc, provider }: Opened): Promise<void> {
  doc.destroy();
  await provider.disconnect();
  provider.destroy();
}

afterEach(closeAll);
// They print each error that they recover from.
const printed = [spyOn(console, "error"), spyOn(console, "log")];
for (const print of printed) print.mockImplementation(() => undefined);
// Before the world's own: its server must still be there.
afterAll(async () => {
  await server?.stop();
  for (const print of printed) print.mockRestore();
});

const world = await worldForTests();
await withStreams(world);
const streams = new StreamClient(world);
const libraries = await Libraries.installed();
const port = await freePort();
const [serving = "", opening = ""] = programsOf("Yjs", { url: world.url, credential: world.key.credential, port });
({ server } = await libraries.run<{ server: YjsServer }>(serving));
const { open } = await libraries.run<{ open: (docId: string, baseUrl?: string) => Opened }>(opening);
class Page {
  private readonly opened: Opened;

  constructor(docId: string, atPort = port) {
    this.opened = open(docId, `http://127.0.0.1:${atPort}/v1/yjs/notes`);
    opened.push(this.opened);
  }

  static async open(docId: string, atPort?: number): Promise<Page> {
    const page = new Page(docId, atPort);
    await until("the document is there", () => page.opened.provider.synced);
    return page;
  }

  get id(): number {
    return this.opened.doc.clientID;
  }

  get provider(): Provider {
    return this.opened.provider;
  }

  leave(): Promise<void> {
    return close(this.opened);
  }

  get text(): string {
    return this.opened.doc.getText("text").toString();
  }

  write(text: string): void {
    const all = this.opened.doc.getText("text");
    all.insert(all.length, text);
  }

  shows(text: string): Promise<number> {
    return until(`it shows ${text.slice(0, 40)}`, () => this.text === text);
  }

  knows(peer: Page): Promise<number> {
    return until("it shows who else is there", () => this.provider.awareness.getStates().has(peer.id));
  }
}

test("two pages and one that comes late have the same text, and see each other", async () => {
  const docId = fresh("doc");
  const [ann, bob] = [await Page.open(docId), await Page.open(docId)];
  ann.write("hello");
  await bob.shows("hello");
  bob.write(" world");
  await ann.shows("hello world");
  const late = await Page.open(docId);
  await late.shows("hello world");
  ann.provider.awareness.setLocalState({ name: "ann" });
  await until("bob sees her name", () => bob.provider.awareness.getStates().get(ann.id)?.valueOf() !== undefined);
  await late.knows(ann);
  expect(late.provider.awareness.getStates().get(ann.id)).toEqual({ name: "ann" });
  await ann.leave();
  await until("ann is gone", () => !bob.provider.awareness.getStates().has(ann.id));
});

test("what both write while the network is down is in both when it is back", async () => {
  const docId = fresh("doc");
  await using link = await NetworkProxy.to(port);
  const ann = await Page.open(docId, link.port);
  const bob = await Page.open(docId);
  link.cut();
  ann.write("from ann.");
  bob.write("from bob.");
  await until("the network is noticed to be down", () => !ann.provider.connected);
  ann.write("more.");
  link.mend();
  await until("both have all", () => ann.text === bob.text && ann.text.length === "from ann.from bob.more.".length);
});

test("who comes late loads the snapshot of a document that the server has compacted, also a large one", async () => {
  const docId = fresh("doc");
  const ann = await Page.open(docId);
  const index = `yjs/notes/docs/${docId}/.index`;
  let written = 0;
  while (written < 400 * 1024) {
    ann.write(LONG_TEXT);
    written += LONG_TEXT.length;
    await ann.provider.flush();
  }
  let kept: { snapshotOffset: string }[] = [];
  await until("it is compacted", async () => {
    kept = (await streams.read(index).catch(() => [])) as typeof kept;
    return kept.length > 0;
  });
  const late = await Page.open(docId);
  await late.shows(ann.text);
  late.write("the end");
  await ann.shows(late.text);
  const path = `yjs/notes/docs/${docId}/.snapshots/${kept[0]?.snapshotOffset}_snapshot`;
  const snapshot = await streams.call("GET", path);
  expect((await snapshot.arrayBuffer()).byteLength).toBeGreaterThan(256 * 1024);
});
