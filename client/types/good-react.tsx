/** Components that must compile against parley-client/react. */
import { Parley } from "parley-client";
import { history } from "parley-client/history";
import {
  ParleyProvider,
  useChannel,
  useListener,
  useMemberStates,
  useMessages,
  useParley,
  usePresence,
  useStatus,
} from "parley-client/react";
import { stateOf } from "parley-client/state";
import type { ReactElement } from "react";

interface Chat {
  readonly text: string;
}

interface Person {
  readonly name: string;
}

const own = new Parley({ url: "https://parley.example.com", key: "pk_demo" });

export const WithClient = (): ReactElement => (
  <ParleyProvider client={own}>
    <Room name="chat/1" />
  </ParleyProvider>
);

export const WithOptions = (): ReactElement => (
  <ParleyProvider options={{ url: "https://parley.example.com", token: async () => "a token" }}>
    <Room name="chat/1" />
  </ParleyProvider>
);

function Room({ name }: { readonly name: string }): ReactElement {
  const { state } = useStatus();
  const members = usePresence<Person>(name);
  const { states, set } = useMemberStates<{ typing: boolean }>(name, stateOf);
  const { entries, earlier, hasEarlier, publish } = useMessages<Chat>(name, { history, limit: 100, rewind: 20 });
  const people = useMessages<Chat, Person>(name, { senderMetadata: true });
  const sender = people.entries[0]?.message?.fromMetadata?.name ?? "";
  useChannel<Chat, Person>(name, { onMessage: ({ fromMetadata }) => console(fromMetadata?.name ?? "") });
  useListener(people.channel, "message", ({ fromMetadata }) => console(fromMetadata?.name ?? ""));
  const { channel } = useChannel<Chat>(name, {
    onMessage: ({ data }) => console(data.text),
    onGap: ({ reason }) => console(reason),
  });
  useListener(useParley(), "direct", ({ from }) => console(from));
  useListener(channel, "message", ({ data }) => console(data.text));
  return (
    <section aria-busy={state !== "connected"}>
      {hasEarlier && <button type="button" onClick={() => earlier(20)} />}
      <ol>
        {entries.map(({ key, message, gap }) => (
          <li key={key}>{gap ? gap.reason : message.data.text}</li>
        ))}
      </ol>
      <p>{sender}</p>
      <p>{members.map(({ metadata }) => metadata?.name).join(", ")}</p>
      <p>{[...states.values()].filter((one) => one.state?.typing).length}</p>
      <input onFocus={() => set({ typing: true })} onBlur={() => set(null)} />
      <button type="button" onClick={() => publish({ text: "hello" })} />
    </section>
  );
}

declare function console(text: string): void;
