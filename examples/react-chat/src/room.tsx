import { history } from "parley-client/history";
import { useMessages, usePresence, useStatus } from "parley-client/react";
import { useState } from "react";
import { Composer } from "./composer.tsx";
import { Messages } from "./messages.tsx";
import type { Person, Text } from "./wire.ts";

interface Props {
  readonly name: string;
  readonly user: { readonly id: string; readonly name: string };
  readonly onLeave: () => void;
}

export function Room({ name, user, onLeave }: Props) {
  const [error, setError] = useState<string>();
  const { entries, publish, earlier, hasEarlier } = useMessages<Text>(name, {
    rewind: 30,
    senderMetadata: true,
    history,
    onError: ({ message }) => setError(message),
    onSubscribed: () => setError(undefined),
  });
  return (
    <main className="room">
      <header>
        <h1>{name}</h1>
        <People room={name} user={user} />
        <button type="button" className="plain" onClick={onLeave}>
          Leave
        </button>
      </header>
      <Connection onLeave={onLeave} />
      {error && <p role="alert">{error}</p>}
      <Messages entries={entries} earlier={hasEarlier ? earlier : undefined} />
      <Composer room={name} publish={publish} />
    </main>
  );
}

/** Nothing while all is well. */
function Connection({ onLeave }: { onLeave: () => void }) {
  const { state, error } = useStatus();
  if (state === "connected") return <p className="banner" role="status" data-state={state} />;
  if (state !== "closed")
    return (
      <p className="banner" role="status" data-state={state}>
        {state === "connecting" ? "Connecting…" : "Connection lost. Reconnecting…"}
      </p>
    );
  return (
    <p className="banner" role="alert" data-state={state}>
      {error?.message ?? "The connection was closed."}{" "}
      <button type="button" className="plain" onClick={onLeave}>
        Log in again
      </button>
    </p>
  );
}

function People({ room, user }: { room: string; user: Person }) {
  const members = usePresence<Person>(room);
  const names = members.map(({ peerId, metadata }) => metadata?.name ?? peerId).sort((a, b) => a.localeCompare(b));
  return (
    <p className="people" title={[...names, user.name].join(", ")}>
      <span className="count">{names.length + 1}</span> {[...names, `${user.name} (you)`].join(", ")}
    </p>
  );
}
