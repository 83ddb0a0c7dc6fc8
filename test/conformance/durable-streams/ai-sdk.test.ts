/** Answers of the AI SDK through its public transport, unmodified, with the program of docs/streams.md and a model that says what a test tells it to. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { until } from "../../support/wait.ts";
import { fresh, worldForTests } from "../raw/support/world.ts";
import { Libraries } from "./libraries/libraries.ts";
import { programsOf } from "./libraries/page.ts";
import { withStreams } from "./support.ts";

interface Message {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly { readonly type: string; readonly text?: string }[];
}
interface Chat {
  readonly status: string;
  readonly error: Error | undefined;
  messages: Message[];
  sendMessage(message: { readonly text: string }): Promise<void>;
  resumeStream(): Promise<void>;
  stop(): Promise<void>;
}
interface State {
  status: string;
  error: Error | undefined;
  messages: Message[];
}
type ChatClass = new (options: {
  readonly id: string;
  readonly transport: unknown;
  readonly state: State & {
    pushMessage(message: Message): void;
    popMessage(): void;
    replaceMessage(at: number, message: Message): void;
    snapshot<T>(value: T): T;
  };
}) => Chat;
type Backend = {
  readonly answer: (request: Request) => Promise<Response>;
  readonly resume: (id: string) => Promise<Response>;
};
type Stream = ReadableStreamDefaultController<object>;

setDefaultTimeout(60_000);

const MODEL = `
  import { MockLanguageModelV4 } from "ai/test";
  export const model = new MockLanguageModelV4({ doStream: async () => ({ stream: globalThis.nextAnswer() }) });
`;
const USAGE = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

/** An answer of the model, which says nothing by itself. */
class Answer {
  private to: Stream | undefined;
  readonly stream = new ReadableStream<object>({
    start: (to) => {
      this.to = to;
      to.enqueue({ type: "stream-start", warnings: [] });
      to.enqueue({ type: "text-start", id: "1" });
    },
  });

  say(delta: string): void {
    this.to?.enqueue({ type: "text-delta", id: "1", delta });
  }

  end(): void {
    this.to?.enqueue({ type: "text-end", id: "1" });
    this.to?.enqueue({ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE });
    this.to?.close();
  }
}

const world = await worldForTests();
await withStreams(world);
const libraries = await Libraries.installed();
const [program = ""] = programsOf("AI SDK", { url: world.url, credential: world.key.credential });
const backend = await libraries.run<Backend>(program, { "model.js": MODEL });
const { AbstractChat } = await libraries.load<{ AbstractChat: ChatClass }>("ai");
const { createDurableChatTransport } = await libraries.load<{
  createDurableChatTransport(options: { readonly api: string }): object;
}>("@durable-streams/aisdk-transport");

const site = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  routes: {
    "/api/chat": { POST: backend.answer },
    "/api/chat/:id/stream": ({ params }) => backend.resume(params.id),
  },
});
site.unref();

/** The answer that the model gives next. */
function nextAnswer(): Answer {
  const answer = new Answer();
  Object.assign(globalThis, { nextAnswer: () => answer.stream });
  return answer;
}

/** As `useChat` of a page has it. */
function page(id: string, messages: Message[] = []): Chat {
  const state = {
    status: "ready",
    error: undefined,
    messages,
    pushMessage: (message: Message) => void state.messages.push(message),
    popMessage: () => void state.messages.pop(),
    replaceMessage: (at: number, message: Message) => void state.messages.splice(at, 1, message),
    snapshot: structuredClone,
  };
  return new AbstractChat({ id, transport: createDurableChatTransport({ api: `${site.url}api/chat` }), state });
}

const textOf = ({ messages }: Chat): string =>
  (messages.at(-1)?.parts ?? []).map(({ type, text = "" }) => (type === "text" ? text : "")).join("");
const shows = (chat: Chat, text: string): Promise<number> =>
  until(`the page shows ${text}`, () => chat.messages.at(-1)?.role === "assistant" && textOf(chat) === text);
const ready = (chat: Chat): Promise<number> => until("the answer has ended", () => chat.status === "ready");

async function readers(): Promise<number> {
  const headers = { Authorization: `Bearer ${world.admin.token}` };
  const text = await (await fetch(`${world.url}/metrics`, { headers })).text();
  return Number(/^parley_stream_readers (\d+)$/m.exec(text)?.[1]);
}

test("a page follows an answer; one that is reloaded and one that comes late have all of it", async () => {
  const id = fresh("chat");
  const answer = nextAnswer();
  const first = page(id);
  void first.sendMessage({ text: "What is a channel?" });
  answer.say("A channel ");
  await shows(first, "A channel ");
  // A reload has the messages that were stored, without the answer.
  const reloaded = page(id, first.messages.slice(0, 1));
  const resumed = reloaded.resumeStream();
  await shows(reloaded, "A channel ");
  answer.say("has a name.");
  for (const chat of [first, reloaded]) await shows(chat, "A channel has a name.");
  const late = page(id);
  void late.resumeStream();
  await shows(late, "A channel has a name.");
  expect([first.status, reloaded.status, late.status]).toEqual(["streaming", "streaming", "streaming"]);
  answer.end();
  await resumed;
  for (const chat of [first, reloaded, late]) {
    await ready(chat);
    expect(textOf(chat)).toBe("A channel has a name.");
    expect(chat.error).toBeUndefined();
  }
  // There is no answer to come back to.
  const after = page(id, first.messages);
  await after.resumeStream();
  expect([after.status, after.messages.length]).toEqual(["ready", 2]);
});

test("who stops reads no further; the answer goes on for others", async () => {
  const id = fresh("chat");
  const answer = nextAnswer();
  const [first, other] = [page(id), page(id)];
  void first.sendMessage({ text: "Tell me more." });
  answer.say("Once ");
  await shows(first, "Once ");
  void other.resumeStream();
  await shows(other, "Once ");
  const before = await readers();
  await first.stop();
  await until("its reader is gone", async () => (await readers()) === before - 1);
  answer.say("upon a time.");
  answer.end();
  await ready(other);
  expect([textOf(first), textOf(other), first.status]).toEqual(["Once ", "Once upon a time.", "ready"]);
});

test("a second question is answered in a stream of its own", async () => {
  const chat = page(fresh("chat"));
  for (const text of ["one", "two"]) {
    const answer = nextAnswer();
    const sent = chat.sendMessage({ text });
    answer.say(`answer ${text}`);
    answer.end();
    await sent;
    expect(textOf(chat)).toBe(`answer ${text}`);
  }
  expect(chat.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
});
