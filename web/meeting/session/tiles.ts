/** What is shown on the stage, and how large: pure functions of who is inside. */
import type { Quality, RemoteTrack } from "../call/contract.ts";
import type { Person } from "../room/contract.ts";
import type { OwnTracks } from "./own-media.ts";
import type { Me } from "./session.ts";

export interface Tile {
  /** Unique on the stage, and the same over time. */
  readonly key: string;
  readonly participantSession: string;
  readonly kind: "camera" | "screen";
  readonly name: string;
  readonly isMe: boolean;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
  readonly track: MediaStreamTrack | undefined;
  readonly isMuted: boolean;
  readonly hasHand: boolean;
  readonly isLost: boolean;
  readonly isSpeaking: boolean;
  readonly quality: Quality | undefined;
  /** No connection could be made so far. */
  readonly isUnreached: boolean;
}

export interface OnStage {
  readonly me: Me;
  readonly people: readonly Person[];
  readonly tracks: readonly RemoteTrack[];
  readonly own: OwnTracks;
  readonly isOwnAudioOn: boolean;
  readonly isHandUp: boolean;
  readonly speaker: string | undefined;
  readonly qualities: ReadonlyMap<string, Quality>;
  readonly unreached: ReadonlyMap<string, boolean>;
}

/** Screens of others first, then the others in the order in which they came, then oneself. */
export function tilesOf(stage: OnStage): readonly Tile[] {
  const { me, people, own, isOwnAudioOn, isHandUp } = stage;
  const others = people.map((person) => cameraOf(stage, person));
  const screens = people.flatMap((person, at) => screenOf(stage, person, others[at]));
  const mine: Tile = {
    key: `${me.participantSession} camera`,
    participantSession: me.participantSession,
    kind: "camera",
    name: me.name,
    isMe: true,
    isAdmin: me.isAdmin,
    isGuest: me.isGuest,
    track: own.video,
    isMuted: !isOwnAudioOn,
    hasHand: isHandUp,
    isLost: false,
    isSpeaking: false,
    quality: undefined,
    isUnreached: false,
  };
  return [...screens, ...others, mine];
}

function cameraOf({ tracks, speaker, qualities, unreached }: OnStage, person: Person): Tile {
  const { participantSession, name, isAdmin, isGuest, isLost, state } = person;
  return {
    key: `${participantSession} camera`,
    participantSession,
    kind: "camera",
    name,
    isMe: false,
    isAdmin,
    isGuest,
    // A camera that was turned off may leave its last picture behind.
    track: state.video ? trackOf(tracks, participantSession, "video") : undefined,
    isMuted: !state.audio,
    hasHand: state.hand,
    isLost,
    isSpeaking: speaker === participantSession && state.audio,
    quality: qualities.get(participantSession),
    isUnreached: unreached.get(participantSession) === true,
  };
}

function screenOf({ tracks }: OnStage, { participantSession, state }: Person, camera: Tile | undefined): Tile[] {
  const track = state.screen ? trackOf(tracks, participantSession, "screen") : undefined;
  return track && camera
    ? [{ ...camera, key: `${participantSession} screen`, kind: "screen", isSpeaking: false, track }]
    : [];
}

const trackOf = (tracks: readonly RemoteTrack[], who: string, kind: "video" | "screen"): MediaStreamTrack | undefined =>
  tracks.find((one) => one.participantSession === who && one.kind === kind)?.track;

export interface View {
  readonly pinned: string | undefined;
  readonly layout: "grid" | "speaker";
  /** Who spoke last: shown while no one speaks. */
  readonly lastSpeaker: string | undefined;
}

/** The tile that is shown large; undefined: all are of one size. */
export function focusOf(tiles: readonly Tile[], { pinned, layout, lastSpeaker }: View): Tile | undefined {
  const pin = tiles.find(({ key }) => key === pinned);
  if (pin) return pin;
  const screen = tiles.find(({ kind }) => kind === "screen");
  if (screen) return screen;
  if (layout === "grid" || tiles.length < 2) return undefined;
  return (
    tiles.find(({ participantSession, kind }) => kind === "camera" && participantSession === lastSpeaker) ??
    tiles.find(({ isMe }) => !isMe)
  );
}

export interface GridSize {
  readonly columns: number;
  readonly width: number;
  readonly height: number;
}

const RATIO = 16 / 9;
/** Tiles may be as upright as this: two of 16:9 would leave half of most windows empty, and of phones too. */
const RATIO_MIN = { wide: 4 / 3, upright: 3 / 5 } as const;
/** From this many on, a phone shows two beside each other: faces are upright too. */
const TWO_COLUMNS_FROM = 4;
/** Names cannot be read in narrower ones. */
const WIDTH_MIN = 140;

/** The largest tiles that fit into the space. */
export function gridSize(count: number, width: number, height: number, gap: number): GridSize {
  const isUpright = width < height;
  const ratioMin = isUpright ? RATIO_MIN.upright : RATIO_MIN.wide;
  let best: GridSize = { columns: 1, width: 0, height: 0 };
  let bestScore = 0;
  for (let columns = isUpright && count >= TWO_COLUMNS_FROM ? 2 : 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const roomWide = (width - gap * (columns - 1)) / columns;
    const roomHigh = (height - gap * (rows - 1)) / rows;
    const wide = Math.min(roomWide, roomHigh * RATIO);
    const high = Math.min(roomHigh, wide / ratioMin);
    const score = wide <= 0 || high <= 0 ? 0 : (wide * high) / (wide < WIDTH_MIN ? 2 : 1);
    if (score <= bestScore) continue;
    bestScore = score;
    best = { columns, width: Math.floor(wide), height: Math.floor(high) };
  }
  return best;
}
