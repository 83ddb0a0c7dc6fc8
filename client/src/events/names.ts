/** The names of all events: a misspelt one is an error at once, because its listener would never be called. */
import type { ChannelEvents } from "./message.ts";
import type { ParleyEvents, PresenceEvents, StateEvents } from "./types.ts";

type Names<Events> = Readonly<Record<keyof Events, 1>>;

const CLIENT: Names<ParleyEvents> = { direct: 1, status: 1, welcome: 1, metadata: 1, error: 1 };
const CHANNEL: Names<ChannelEvents> = { message: 1, gap: 1, subscribed: 1, occupancy: 1, error: 1 };
const PRESENCE: Names<PresenceEvents> = { joined: 1, left: 1, changed: 1 };
const STATES: Names<StateEvents<object>> = { changed: 1 };

/** By how an application gets to what has them. */
const EVENTS = {
  parley: CLIENT,
  "parley.channel(name)": CHANNEL,
  "channel.presence": PRESENCE,
  "stateOf(channel)": STATES,
};

export type Owner = keyof typeof EVENTS;

/** A name is suggested if this part of either is different, or less. */
const DIFFERENT_MAX_CHARS = 2;

export function checkEvent(owner: Owner, event: unknown): void {
  if (Object.hasOwn(EVENTS[owner], event as string)) return;
  const name = String(event);
  let nearest = ".";
  let least = DIFFERENT_MAX_CHARS + 1;
  // Its own first: of equally near ones the first is suggested.
  for (const [at, names] of [[owner, EVENTS[owner]] as const, ...Object.entries(EVENTS)])
    for (const known in names) {
      const chars = different(name.toLowerCase(), known);
      if (chars >= least) continue;
      least = chars;
      nearest = `; did you mean ${at === owner ? `"${known}"` : `${at}.on("${known}", …)`}?`;
    }
  throw new TypeError(
    `parley: there is no event "${name}"${nearest} Events here: ${Object.keys(EVENTS[owner]).join(", ")}`,
  );
}

/** How many characters lie between the beginning and the end that both have in common. */
function different(a: string, b: string): number {
  const short = Math.min(a.length, b.length);
  let same = 0;
  let atEnd = 0;
  while (same < short && a[same] === b[same]) same++;
  while (same + atEnd < short && a.at(-1 - atEnd) === b.at(-1 - atEnd)) atEnd++;
  return Math.max(a.length, b.length) - same - atEnd;
}
