/** Chats of TanStack AI over its public transport, unmodified, with the program of docs/streams.md and a model that says what a test tells it to. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "../../support/wait.ts";
import { fresh, worldForTests } from "../raw/support/world.ts";
import { Libraries } from "./libraries/libraries.ts";
import { programsOf } from "./libraries/page.ts";
import { StreamClient, withStreams } from "./support.ts";

interface Message {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly { readonly type: string; readonly content?: string }[];
}
interface Chat {
  subscribe(): void;
  unsubscribe(): void;
  sendMessage(text: string): Promise<void>;
  stop(): void;
  dispose(): void;
  getMessages(): readonly Message[];
  getStatus(): string;
  getError(): Error | undefined;
}
interface ChatOptions {
  readonly threadId: string;
  readonly connection: object;
  readonly initialMessages?: readonly Message[];
}
interface Connecting {
  readonly sendUrl: string;
  readonly readUrl: string;
  readonly initialOffset?: string | undefined;
}
interface Transport {
  durableStreamConnection(options: Connecting): object;
  materializeSnapshotFromDurableStream(options: {
    readonly readUrl: string;
    readonly headers: Record<string, string>;
  }): Promise<{ readonly messages: readonly Message[]; readonly offset?: string }>;
}
type Backend = {
  readonly create: (id: string) => Promise<Response>;
  readonly answer: (request: Request) => Promise<Response>;
};

setDefaultTimeout(60_000);

/** It waits for each piece of its answer. */
const MODEL = `
  export const adapter = {
    kind: "text",
    name: "test",
    model: "test",
    "~types": {},
    structuredOutput: () => Promise.reject(new Error("it has none")),
    async *chatStream({ runId, threadId }) {
      const messageId = crypto.randomUUID();
      yield { type: "RUN_STARTED", runId, threadId };
      yield { type: "TEXT_MESSAGE_START", messageId, role: "assistant" };
      for await (const delta of globalThis.nextPieces()) yield { type: "TEXT_MESSAGE_CONTENT", messageId, delta };
      yield { type: "TEXT_MESSAGE_END", messageId };
      yield { type: "RUN_FINISHED", runId, threadId, finishReason: "stop" };
    },
  };
`;

/** An answer of the model, which says nothing by itself. */
class Answer {
  private readonly line = new TransformStream<string, string>();
  private readonly writer = this.line.writable.getWriter();

  get pieces(): ReadableStream<string> {
    return this.line.readable;
  }

  say(delta: string): void {
    void this.writer.write(delta);
  }

  end(): void {
    void this.writer.close();
  }
}

const world = await worldForTests();
await withStreams(world);
const streams = new StreamClient(world);
const libraries = await Libraries.installed();
const [program = ""] = programsOf("TanStack AI", { url: world.url, credential: world.key.credential });
const backend = await libraries.run<Backend>(program, { "model.js": MODEL });
const { ChatClient } = await libraries.load<{ ChatClient: new (options: ChatOptions) => Chat }>("@tanstack/ai-client");
const transport = await libraries.load<Transport>("@durable-streams/tanstack-ai-transport");

const site = Bun.serve({ hostname: "127.0.0.1", port: 0, routes: { "/api/chat": { POST: backend.answer } } });
site.unref();

const open: Chat[] = [];
afterEach(() => {
  for (const chat of open.splice(0)) chat.dispose();
});

function nextAnswer(): Answer {
  const answer = new Answer();
  Object.assign(globalThis, { nextPieces: () => answer.pieces });
  return answer;
}

async function newChat(): Promise<string> {
  const id = fresh("chat");
  expect((await backend.create(id)).status).toBe(201);
  return id;
}

interface Snapshot {
  readonly messages: readonly Message[];
  readonly offset?: string;
}

/** As `useChat` of a page has it, with `live`. */
function page(id: string, snapshot?: Snapshot): Chat {
  const connection = transport.durableStreamConnection({
    sendUrl: `${site.url}api/chat?id=${id}`,
    readUrl: `${world.url}/v1/stream/runs/${id}?token=${world.token({ permissions: ["subscribe"] })}`,
    initialOffset: snapshot?.offset,
  });
  const chat = new ChatClient({
    threadId: id,
    connection,
    ...(snapshot && { initialMessages: snapshot.messages }),
  });
  chat.subscribe();
  open.push(chat);
  return chat;
}

const textsOf = (chat: Chat): string[] =>
  chat
    .getMessages()
    .map(
      ({ role, parts }) => `${role}: ${parts.map(({ type, content }) => (type === "text" ? content : "")).join("")}`,
    );
const shows = (chat: Chat, ...texts: string[]): Promise<number> =>
  until(`the page shows ${texts.join(", ")}`, () => textsOf(chat).join("\n") === texts.join("\n"));

test("two pages follow one chat, and one that comes late has all of it", async () => {
  const id = await newChat();
  const [ann, bob] = [page(id), page(id)];
  const answer = nextAnswer();
  void ann.sendMessage("What is a channel?");
  answer.say("A channel ");
  for (const chat of [ann, bob]) await shows(chat, "user: What is a channel?", "assistant: A channel ");
  const late = page(id);
  await shows(late, "user: What is a channel?", "assistant: A channel ");
  answer.say("has a name.");
  answer.end();
  for (const chat of [ann, bob, late])
    await shows(chat, "user: What is a channel?", "assistant: A channel has a name.");
  await until("it is ready", () => ann.getStatus() === "ready");
  const second = nextAnswer();
  void bob.sendMessage("And a stream?");
  second.say("It, too.");
  second.end();
  const all = [
    "user: What is a channel?",
    "assistant: A channel has a name.",
    "user: And a stream?",
    "assistant: It, too.",
  ];
  for (const chat of [ann, bob, late]) await shows(chat, ...all);
  expect([ann, bob, late].map((chat) => chat.getError())).toEqual([undefined, undefined, undefined]);
});

test("a page that the backend has drawn continues where that was", async () => {
  const id = await newChat();
  const ann = page(id);
  const answer = nextAnswer();
  void ann.sendMessage("Count.");
  answer.say("one ");
  await shows(ann, "user: Count.", "assistant: one ");
  const readUrl = `${world.url}/v1/stream/runs/${id}`;
  const headers = { Authorization: `Bearer ${world.key.credential}` };
  const snapshot = await transport.materializeSnapshotFromDurableStream({ readUrl, headers });
  const reloaded = page(id, snapshot);
  expect(textsOf(reloaded)).toEqual(["user: Count.", "assistant: one "]);
  answer.say("two");
  answer.end();
  for (const chat of [ann, reloaded]) await shows(chat, "user: Count.", "assistant: one two");
});

test("who stops or leaves misses nothing of what is stored", async () => {
  const id = await newChat();
  const ann = page(id);
  const answer = nextAnswer();
  void ann.sendMessage("Count.");
  answer.say("one ");
  await shows(ann, "user: Count.", "assistant: one ");
  ann.stop();
  ann.unsubscribe();
  answer.say("two");
  answer.end();
  await until("the answer is stored", async () =>
    ((await streams.read(`runs/${id}`)) as { type: string }[]).some(({ type }) => type === "RUN_FINISHED"),
  );
  await shows(page(id), "user: Count.", "assistant: one two");
});
