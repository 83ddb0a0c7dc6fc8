/** Inside a meeting: the connection to the room and the media, as signals of the session. */
import { effect } from "@preact/signals";
import type { Reaction } from "../../../src/protocol/room-channels.ts";
import type { Kind, MediaEngine } from "../call/contract.ts";
import { announce, forgetAnnouncements } from "../page/announce.ts";
import { flagsOf, type Joined } from "../page/api.ts";
import { disabledByToken, mayNow, roomAllows } from "../page/rights.ts";
import { lobbyChime } from "../page/sounds.ts";
import type { MeetingRecording } from "../recording/meeting-recording.ts";
import type { ChatLine, Ending, Person, RoomConnection, RoomNotice, RoomOpening } from "../room/contract.ts";
import { Endings } from "../session/endings.ts";
import type { OwnMedia } from "../session/own-media.ts";
import { REACTION_TEXTS, showReaction } from "../session/reactions.ts";
import { CHAT_LINES_MAX, MAY_NOTHING, NO_ONE, type Session } from "../session/session.ts";
import { watchUnreached } from "../session/unreached.ts";
import { t } from "../texts/texts.ts";

const KINDS = ["audio", "video", "screen"] as const;

interface InsideParts {
  readonly session: Session;
  readonly media: OwnMedia;
  readonly engine: MediaEngine;
  readonly recording: MeetingRecording;
  /** The newest connect token of the stay. */
  readonly token: () => string;
  readonly open: (opening: Omit<RoomOpening, "renew" | "isResumed">) => RoomConnection;
  readonly ended: (why: Ending) => void;
  /** Join again: the stay is over, but the person is there. */
  readonly stayLost: () => void;
}

export class Inside {
  readonly #parts: InsideParts;
  #connection: RoomConnection | undefined;
  #ends: (() => void)[] = [];
  #disabled: readonly Kind[] = [];
  #endings = new Endings();

  constructor(parts: InsideParts) {
    this.#parts = parts;
  }

  begin(joined: Joined): void {
    const { session, engine, recording, token, open } = this.#parts;
    const { participantSession, name, isAdmin, isGuest, connect, ejectAt } = joined;
    session.me.value = { participantSession, name, isAdmin, isGuest };
    session.room.value = flagsOf(joined.room);
    session.may.value = joined.may;
    session.iceServers.value = joined.iceServers;
    this.#disabled = disabledByToken(joined.may, session.room.value, { isAdmin });
    session.people.value = [];
    session.chat.value = [];
    session.queue.value = [];
    session.isHandUp.value = false;
    session.isLocked.value = false;
    session.isOnline.value = true;
    session.retryAtMs.value = undefined;
    session.reactions.value = [];
    session.beganMs.value = Date.now() - (joined.meetingElapsedSec ?? 0) * 1000;
    this.#endings = new Endings(ejectAt);
    session.ending.value = this.#endings.first;
    const connection = open({ connect, name, isAdmin, isGuest });
    this.#connection = connection;
    this.#listen(connection);
    engine.allow((who, kind) => this.#isShown(who, kind));
    engine.join(connection.signalling, joined.iceServers);
    recording.enter(joined, { stay: participantSession, token });
    session.stage.value = { at: "inside" };
  }

  /** Microphone and camera as the person wishes, or as the room says. */
  async start(wishes: Readonly<Partial<Record<Kind, boolean>>>): Promise<void> {
    const { session, media } = this.#parts;
    const { joinAudioOn, joinVideoOn } = session.room.value;
    const wanted = { audio: wishes.audio ?? joinAudioOn, video: wishes.video ?? joinVideoOn };
    this.#keepRights();
    for (const kind of ["audio", "video"] as const) if (!wanted[kind]) media.turnOff(kind);
    // From now on, each is sent as soon as it is open: a browser may ask about the camera for a long time.
    this.#follow();
    await Promise.all(
      (["audio", "video"] as const).map((kind) => wanted[kind] && session.may.value[kind] && media.turnOn(kind)),
    );
  }

  setHand(isUp: boolean): void {
    this.#parts.session.isHandUp.value = isUp;
  }

  async say(text: string): Promise<void> {
    await this.#connection?.say(text);
  }

  /** Rejects if the service did not take it: then no one sees it. */
  async react(name: Reaction): Promise<void> {
    const { session } = this.#parts;
    await this.#connection?.react(name);
    showReaction(session, session.me.value.participantSession, name);
  }

  /** Restores the connection now, and not after the pause between two attempts. */
  retry(): void {
    this.#parts.session.retryAtMs.value = undefined;
    this.#connection?.retry();
  }

  end(): void {
    const { session, engine } = this.#parts;
    forgetAnnouncements();
    for (const end of this.#ends) end();
    this.#ends = [];
    // Before the devices are closed, so that the recorders end with everything.
    this.#parts.recording.leave();
    engine.leave();
    this.#connection?.close();
    this.#connection = undefined;
    session.me.value = NO_ONE;
    session.may.value = MAY_NOTHING;
    session.people.value = [];
    session.tracks.value = [];
    session.queue.value = [];
    session.ending.value = undefined;
  }

  /** What one's devices do goes to the others: the tracks to the media engine, what is on to the room. */
  #follow(): void {
    const { session, media, engine, recording } = this.#parts;
    if (!this.#connection) return;
    // Before the track is sent: otherwise the others would hear the first moment of a muted microphone.
    this.#ends.push(effect(() => engine.mute("audio", media.isMuted.value)));
    for (const kind of KINDS) {
      let sent: MediaStreamTrack | undefined;
      this.#ends.push(
        effect(() => {
          const track = media.tracks.value[kind];
          if (track === sent) return;
          sent = track;
          engine.publish(kind, track ?? null).catch(() => undefined);
        }),
      );
    }
    this.#ends.push(
      effect(() => {
        const { audio, video, screen } = media.isOn.value;
        this.#connection?.setState({
          audio,
          video,
          screen,
          hand: session.isHandUp.value,
          recording: recording.own.isRunning.value,
        });
      }),
    );
  }

  #listen(connection: RoomConnection): void {
    const { session, engine, ended, stayLost } = this.#parts;
    const showPeople = (): void => {
      const before = session.people.value;
      session.people.value = connection.people();
      this.#announceChanges(before);
      this.#keepRights();
    };
    this.#ends.push(
      connection.on("people", showPeople),
      connection.on("joined", ({ name }) => announce(t("personJoined", { name }))),
      connection.on("left", ({ name }) => announce(t("personLeft", { name }))),
      connection.on("chat", (line) => this.#chatted(line)),
      connection.on("notice", (notice) => this.#noticed(notice)),
      connection.on("reaction", (who, name) => {
        const person = session.people.value.find(({ participantSession }) => participantSession === who);
        if (!person) return;
        showReaction(session, who, name);
        announce(t("reacted", { name: person.name, reaction: t(REACTION_TEXTS[name]) }), true);
      }),
      connection.on("retry", (inMs) => {
        session.retryAtMs.value = Date.now() + inMs;
      }),
      connection.on("queue", (queue) => {
        const before = new Set(session.queue.value.map(({ waitId }) => waitId));
        const newcomers = queue.filter(({ waitId }) => !before.has(waitId));
        session.queue.value = queue;
        for (const { name } of newcomers) announce(t("lobbyAsks", { name }), true);
        if (newcomers.length > 0) lobbyChime();
      }),
      connection.on("online", (isOnline) => {
        if (session.isOnline.value === isOnline) return;
        session.isOnline.value = isOnline;
        session.retryAtMs.value = undefined;
        if (isOnline) this.#endings.connectedAgain();
        session.ending.value = this.#endings.first;
        announce(t(isOnline ? "reconnected" : "reconnecting"), !isOnline);
      }),
      connection.on("iceServers", (iceServers) => {
        session.iceServers.value = iceServers;
        engine.setIceServers(iceServers);
      }),
      connection.on("ended", ended),
      connection.on("stayLost", stayLost),
      engine.on("tracks", () => {
        session.tracks.value = engine.tracks();
      }),
      engine.on("quality", (who, quality) => {
        session.qualities.value = new Map(session.qualities.value).set(who, quality);
      }),
      engine.on("speaker", (who) => {
        session.speaker.value = who;
      }),
      watchUnreached(session),
    );
    showPeople();
  }

  #announceChanges(before: readonly Person[]): void {
    const known = new Map(before.map((person) => [person.participantSession, person]));
    for (const { participantSession, name, state } of this.#parts.session.people.value) {
      const earlier = known.get(participantSession);
      if (!earlier) continue;
      if (earlier.name !== name) announce(t("renamed", { before: earlier.name, name }));
      if (state.hand && !earlier.state.hand) announce(t("handRaisedBy", { name }));
    }
  }

  #chatted(line: ChatLine): void {
    const { session } = this.#parts;
    if (session.chat.value.some(({ id }) => id === line.id)) return;
    session.chat.value = [...session.chat.value, line].slice(-CHAT_LINES_MAX);
    const isOwn = line.from === session.me.value.participantSession;
    const name = line.from === undefined ? t("fromServer") : line.name;
    if (!isOwn && !line.isEarlier) announce(t("newMessage", { name, text: line.text.slice(0, 200) }), true);
  }

  #noticed(notice: RoomNotice): void {
    const { session, media } = this.#parts;
    const isMine = "participantSession" in notice && notice.participantSession === session.me.value.participantSession;
    switch (notice.notice) {
      case "muted":
        if (!isMine && !isForOthers(notice, session.me.value.participantSession)) return;
        if (notice.kind === "audio") media.turnOff("audio");
        else if (notice.kind === "video" || notice.kind === "screen") media.close(notice.kind);
        return announce(t(notice.kind === "audio" ? "mutedByHost" : "stoppedByHost"));
      case "handsLowered":
        if (!session.isHandUp.value) return;
        session.isHandUp.value = false;
        return announce(t("handLowered"));
      case "renamed":
        // Presence has the names of the others.
        if (isMine) session.me.value = { ...session.me.value, name: notice.name };
        return;
      case "ending": {
        const isForAll = notice.participantSession === undefined;
        if (!isForAll && !isMine) return;
        this.#endings.announced(isForAll, Date.now() + notice.inSec * 1000);
        session.ending.value = this.#endings.first;
        return;
      }
      case "continues": {
        const isForAll = notice.participantSession === undefined;
        if (!isForAll && !isMine) return;
        this.#endings.takenBack(isForAll);
        session.ending.value = this.#endings.first;
        return;
      }
      case "locked":
        if (session.isLocked.value === notice.on) return;
        session.isLocked.value = notice.on;
        return announce(t(notice.on ? "nowLocked" : "nowUnlocked"));
      case "recording":
        return this.#parts.recording.noticed(notice.on, notice.fact);
      case "flags": {
        const room = flagsOf({ ...session.room.value, ...notice.room });
        session.room.value = room;
        session.may.value = mayNow(room, session.me.value, this.#disabled);
        return this.#keepRights();
      }
      case "removed":
        // The connection ends with the reason.
        return;
    }
  }

  /** What may not be sent any more is closed, and what may not be shown disappears. */
  #keepRights(): void {
    const { session, media, engine } = this.#parts;
    for (const kind of KINDS) if (!session.may.value[kind] && media.tracks.value[kind]) media.close(kind);
    engine.allow((who, kind) => this.#isShown(who, kind));
  }

  #isShown(who: string, kind: Kind): boolean {
    const { session } = this.#parts;
    const person = session.people.value.find(({ participantSession }) => participantSession === who);
    return person !== undefined && roomAllows(session.room.value, person, kind);
  }
}

/** A host mutes everyone else. */
const isForOthers = (
  { participantSession, by }: Extract<RoomNotice, { readonly notice: "muted" }>,
  me: string,
): boolean => participantSession === undefined && by !== me;
