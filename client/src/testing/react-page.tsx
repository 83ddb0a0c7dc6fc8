/** The page of test/browser/react.test.ts. It shows what the hooks return, and does what the test asks for through `page`. */
import { Activity, type ReactNode, StrictMode, startTransition, useLayoutEffect, useState } from "react";
import { flushSync } from "react-dom";
import { createRoot, type Root } from "react-dom/client";
import { history } from "../history.ts";
import { Parley, type ParleyOptions } from "../index.ts";
import {
  ParleyProvider,
  useChannel,
  useListener,
  useMemberStates,
  useMessages,
  useParley,
  usePresence,
  useStatus,
} from "../react/react.ts";
import { stateOf } from "../state.ts";
import { listeners, sent, sockets, socketsMade, timers } from "./watch.ts";

interface Credential {
  readonly url: string;
  readonly peer: string;
}

/** Every client that a provider of this page has made. */
const clients = new Set<Parley>();
const story: string[] = [];
let root: Root | undefined;

const optionsOf = ({ url, peer }: Credential): ParleyOptions => ({
  url,
  token: async () => (await fetch(`/token?peer=${peer}&seconds=3600`)).text(),
});

function show(node: ReactNode): void {
  root ??= createRoot(document.getElementById("root") as HTMLElement);
  root.render(<StrictMode>{node}</StrictMode>);
}

interface Text {
  readonly text: string;
}

function Status() {
  const parley = useParley();
  const { state, error } = useStatus();
  clients.add(parley);
  if (story.at(-1) !== `status ${state}`) story.push(`status ${state}`);
  return (
    <p id="status" title={error?.code ?? ""}>
      {state}
    </p>
  );
}

function Members({ room }: { room: string }) {
  return (
    <p id="members">
      {usePresence(room)
        .map(({ peerId }) => peerId)
        .sort()
        .join(" ")}
    </p>
  );
}

function Typing({ room }: { room: string }) {
  const { states, set } = useMemberStates<{ typing: boolean }>(room, stateOf);
  const typing = [...states.values()].flatMap(({ peerId, state }) => (state?.typing ? [peerId] : []));
  return (
    <p>
      <span id="typing">{typing.join(" ")}</span>
      <button id="type" type="button" onClick={() => set({ typing: true })}>
        type
      </button>
    </p>
  );
}

function Messages({ room }: { room: string }) {
  const { entries, publish, earlier, hasEarlier } = useMessages<Text>(room, { rewind: 3, history });
  return (
    <section>
      {hasEarlier && (
        <button id="earlier" type="button" onClick={() => earlier(2)}>
          earlier
        </button>
      )}
      <ol id="entries">
        {entries.map(({ key, gap, message }) => (
          <li key={key}>{gap ? `gap ${gap.reason}` : `${message.from}: ${message.data.text}`}</li>
        ))}
      </ol>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void publish({ text: String(new FormData(event.currentTarget).get("text")) });
        }}
      >
        <input id="text" name="text" />
      </form>
    </section>
  );
}

/** Its handler is another function after each click. */
function Counting({ room }: { room: string }) {
  const [clicks, setClicks] = useState(0);
  useChannel<Text>(room, { onMessage: ({ data }) => story.push(`${clicks} clicks: ${data.text}`) });
  useListener(useParley(), "direct", ({ data }) => story.push(`${clicks} clicks, direct: ${(data as Text).text}`));
  return (
    <button id="click" type="button" onClick={() => setClicks(clicks + 1)}>
      {clicks}
    </button>
  );
}

function Chat({ room }: { room: string }) {
  return (
    <main>
      <Status />
      <Members room={room} />
      <Typing room={room} />
      <Messages room={room} />
      <Counting room={room} />
    </main>
  );
}

const chat = (credential: Credential, room: string): void =>
  show(
    <ParleyProvider options={optionsOf(credential)}>
      <Chat room={room} />
    </ParleyProvider>,
  );

/** A provider that is hidden keeps its state, but no effects. */
const hidden = (credential: Credential, room: string, isHidden: boolean): void =>
  show(
    <Activity mode={isHidden ? "hidden" : "visible"}>
      <ParleyProvider options={optionsOf(credential)}>
        <Chat room={room} />
      </ParleyProvider>
    </Activity>,
  );

/** Shows and removes the chat in turn, each time without waiting. */
async function churn(credential: Credential, room: string, times: number): Promise<void> {
  const parley = new Parley(optionsOf(credential));
  clients.add(parley);
  for (let at = 0; at < times; at++) {
    flushSync(() =>
      show(
        <ParleyProvider client={parley}>
          <Chat room={room} />
        </ParleyProvider>,
      ),
    );
    // Sometimes a subscription is accepted meanwhile, sometimes it is not.
    if (at % 10 === 0) await parley.channel(room).subscribed;
    flushSync(() => show(null));
    if (at % 3 === 0) await new Promise((resolve) => queueMicrotask(() => resolve(undefined)));
  }
}

const welcomed = (parley: Parley | undefined): Promise<void> =>
  new Promise((resolve) => {
    const off = parley?.on("welcome", () => {
      off?.();
      resolve();
    });
  });

async function churnProviders(credential: Credential, room: string, times: number): Promise<void> {
  for (let at = 0; at < times; at++) {
    flushSync(() => chat(credential, room));
    if (at % 20 === 0) await welcomed([...clients].at(-1));
    else if (at % 3 === 0) await new Promise((resolve) => setTimeout(resolve));
    flushSync(() => show(null));
  }
}

/** Each of many slow components shows the members: all of one picture must show the same ones. */
function Slow({ room }: { room: string }) {
  const members = usePresence(room);
  const until = performance.now() + 2;
  while (performance.now() < until);
  return <i>{members.length}</i>;
}

const pictures: string[][] = [];

function Wall({ room }: { room: string }) {
  const [round, setRound] = useState(0);
  useLayoutEffect(() => {
    pictures.push([...document.querySelectorAll("i")].map(({ textContent }) => textContent ?? ""));
  });
  useLayoutEffect(() => {
    if (round < 25) startTransition(() => setRound(round + 1));
    else story.push("wall complete");
  }, [round]);
  return (
    <main data-round={round}>
      <Status />
      {Array.from({ length: 25 }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they never change places.
        <Slow key={at} room={room} />
      ))}
    </main>
  );
}

const wall = (credential: Credential, room: string): void =>
  show(
    <ParleyProvider options={optionsOf(credential)}>
      <Wall room={room} />
    </ParleyProvider>,
  );

/** Two components of the same channel, one of which replaces the other. */
const swap = (client: Parley, room: string, key: string): void =>
  show(
    <ParleyProvider client={client}>
      <Messages key={key} room={room} />
    </ParleyProvider>,
  );

async function swapped(credential: Credential, room: string): Promise<string[]> {
  const parley = new Parley(optionsOf(credential));
  const texts = (): string[] =>
    [...document.querySelectorAll("#entries li")].map(({ textContent }) => textContent ?? "");
  swap(parley, room, "one");
  while (texts().length < 2) await new Promise(requestAnimationFrame);
  flushSync(() => swap(parley, room, "two"));
  const found = texts();
  parley.close();
  return found;
}

/** Several components that show and set states of one channel. */
const typists = (credential: Credential, room: string, ...names: string[]): void =>
  show(
    <ParleyProvider options={optionsOf(credential)}>
      <Status />
      {names.map((name) => (
        <Typist key={name} room={room} name={name} />
      ))}
    </ParleyProvider>,
  );

function Typist({ room, name }: { room: string; name: string }) {
  const { states, set } = useMemberStates<{ by: string }>(room, stateOf);
  return (
    <p>
      <span id={`seen-by-${name}`}>{[...states.values()].map(({ state }) => state?.by).join(" ")}</span>
      <button id={name} type="button" onClick={() => set({ by: name })}>
        {name}
      </button>
    </p>
  );
}

Object.assign(globalThis, {
  page: {
    chat,
    typists,
    hidden,
    churn,
    churnProviders,
    wall,
    swapped,
    remove: () => show(null),
    story: () => story,
    pictures: () => pictures,
    sent: () => sent,
    made: () => socketsMade,
    open: () => ({
      sockets: sockets.size,
      timers: timers.size,
      listeners,
    }),
    closeAll: () => {
      for (const parley of clients) parley.close();
    },
  },
});
