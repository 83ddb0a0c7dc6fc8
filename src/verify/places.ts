/** Who says what where, and who listens: what a checker remembers of a run. */
import { Members, type View } from "./roster.ts";
import { type Stream, Track } from "./stream.ts";

/** A channel, or the inbox of a peer: where messages are addressed to. */
export interface Place {
  /** For a sentence: "in chat/1". */
  readonly where: string;
  /** By age. Those of connections that ended are removed when they are judged (forget.ts). */
  streams: Stream[];
  /** How many streams there have been: the index of the next one. */
  begun: number;
  stays: Stay[];
  readonly members: Members;
}

export interface Connection {
  readonly id: number;
  readonly peer: string;
  isOpen: boolean;
  /** By the checker's clock; undefined while it is open. */
  endedMs: number | undefined;
  /** By place: what it says, and what it hears. */
  readonly streams: Map<Place, Stream>;
  readonly stays: Map<Place, Stay>;
}

/** One connection listening to one place, from its subscribe to its end. */
export interface Stay {
  readonly connection: Connection;
  readonly place: Place;
  readonly tracks: Map<Stream, Track>;
  readonly view: View;
  /** How many streams the place had at the ack; undefined: no ack yet. */
  streamsAtAck: number | undefined;
  isOpen: boolean;
  endedMs: number | undefined;
}

export function placeAt(places: Map<string, Place>, name: string, where: string): Place {
  let place = places.get(name);
  if (!place) {
    place = { where, streams: [], begun: 0, stays: [], members: new Members() };
    places.set(name, place);
  }
  return place;
}

/** What this listener has heard of that sender. */
export function trackOf(stay: Stay, stream: Stream): Track {
  let track = stay.tracks.get(stream);
  if (!track) {
    track = new Track(stream);
    stay.tracks.set(stream, track);
    // Without a track at the ack the sender had ended by then, and nothing of it is promised; or it began later: all is.
    if (stay.streamsAtAck !== undefined) track.promise(stream.index < stay.streamsAtAck ? stream.sent + 1 : 1);
  }
  return track;
}
