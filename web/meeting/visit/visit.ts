/** A visit to a room: from the door, perhaps through the lobby, to the inside and out. inside.ts has what happens inside. */
import type { Kind } from "../call/contract.ts";
import { announce } from "../page/announce.ts";
import { type Act, type InLobby, type Joined, Refused } from "../page/api.ts";
import { closedAt, looksAgainInMs, vouchedName } from "../page/door.ts";
import { cleanName } from "../page/names.ts";
import { keep } from "../page/storage.ts";
import type { Uploads } from "../recording/contract.ts";
import { MeetingRecording } from "../recording/meeting-recording.ts";
import { OwnRecording } from "../recording/own-recording.ts";
import type { Ending, LobbyConnection } from "../room/contract.ts";
import { StayMemory } from "../session/kept-stay.ts";
import type { OwnMedia } from "../session/own-media.ts";
import { changesAt, closedBy, endingBy, isAsBefore, isFinal, stayEndedBy } from "../session/refusals.ts";
import { type Closed, newSession, type Session } from "../session/session.ts";
import { t } from "../texts/texts.ts";
import { waitIn } from "./in-lobby.ts";
import { Inside } from "./inside.ts";
import type { VisitParts } from "./parts.ts";
import { Wishes } from "./wishes.ts";

export class Visit {
  readonly session: Session;
  readonly media: OwnMedia;
  readonly recording: MeetingRecording;
  readonly uploads: Uploads;
  readonly #parts: VisitParts;
  readonly #wishes: Wishes;
  #lobby: LobbyConnection | undefined;
  #inside: Inside | undefined;
  #name = "";
  #resume: string | undefined;
  /** A ticket that was declined: the service says for how long it has to wait. */
  #declined: string | undefined;
  /** The stay that a reload is about to continue. */
  #reloadOf: string | undefined;
  /** Why the stay could not be renewed; its connection then ends without a reason. */
  #refusedStay: Ending | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** What an earlier look at the door finds is of no interest any more. */
  #looks = 0;
  readonly #memory: StayMemory;

  constructor(parts: VisitParts) {
    this.#parts = parts;
    this.media = parts.media;
    this.uploads = parts.uploads;
    this.#wishes = new Wishes(parts.media);
    this.session = newSession(parts.roomName);
    this.recording = new MeetingRecording({
      session: this.session,
      own: new OwnRecording(parts),
      act: (act) => this.act(act),
      changed: () => this.#keepStay(),
    });
    this.#memory = new StayMemory(parts.roomName, parts.token);
  }

  /** Whether the person is known to the service by a token. */
  get hasToken(): boolean {
    return this.#memory.token !== undefined;
  }

  /** The person's name, as it was given last. */
  get name(): string {
    return this.#name;
  }

  /** Without one that was typed. */
  get defaultName(): string {
    return this.#parts.defaultName(this.session.door.value?.you?.isAdmin === true);
  }

  /** Asks the door from wherever one is: whether the service answers, and when the room opens. */
  readonly reach = async (): Promise<unknown> =>
    (this.session.door.value = await this.#parts.api.door(this.#memory.token));

  /** Back to the door, as a person without an invitation. */
  async withoutToken(): Promise<void> {
    this.#memory.forgetToken();
    await this.returnToDoor();
  }

  /** A page that is loaded: it looks at the door, or goes on where a reload has interrupted it. */
  async start(name: string): Promise<void> {
    this.#name = cleanName(name);
    const stay = this.#memory.ofThisTab();
    if (stay) {
      this.#resume = stay.resume;
      this.#wishes.restore(stay);
      this.#reloadOf = stay.participantSession;
      this.recording.restore(stay.agreedTo);
      return this.enter(name);
    }
    await this.look();
  }

  /** Asks for the door, and shows what it says. */
  async look(): Promise<void> {
    clearTimeout(this.#timer);
    // What was agreed to here before has led to no visit.
    this.recording.forget();
    const { session } = this;
    const look = ++this.#looks;
    try {
      const door = await this.#parts.api.door(this.#memory.token);
      if (look !== this.#looks) return;
      session.door.value = door;
      const why = closedAt(door, this.hasToken, this.#memory.ofOtherTab() !== undefined);
      if (why) return this.#close(why, why === "over" ? this.#parts.expiresAt : door.opensAt);
      if (door.autoJoin) return await this.#enterByItself(door.recording);
      session.stage.value = { at: "door" };
      this.#wishes.preview(door.audioOnlyRoom);
    } catch (error) {
      if (look === this.#looks) this.#refused(error);
    }
  }

  /** Enters, or asks to. Where the door says that the meeting is recorded, the button to enter is one to agree. */
  async enter(name: string): Promise<void> {
    if (this.session.stage.value.at === "door" && this.session.door.value?.recording) this.recording.agreeToNext();
    const typed = cleanName(name);
    if (typed !== "" && vouchedName(this.session.door.value) === undefined) keep("local", "name", typed);
    this.#name = typed || this.defaultName;
    await this.#join({});
  }

  /** Back to the door, from wherever the visit has ended. */
  async returnToDoor(): Promise<void> {
    this.session.stage.value = { at: "loading" };
    await this.look();
  }

  /** The same stay, in this window: another one has taken it over. */
  async bringBack(): Promise<void> {
    await this.#join({});
  }

  stopWaiting(): void {
    this.#endLobby();
    this.session.stage.value = { at: "door" };
  }

  leave(): void {
    if (this.session.stage.value.at !== "inside") return;
    this.#end();
    this.session.stage.value = { at: "left" };
  }

  /** Turns it on or off. */
  async toggle(kind: Kind): Promise<void> {
    await this.#wishes.toggle(kind, this.session.stage.value.at !== "inside" || this.session.may.value[kind]);
    this.#keepStay();
  }

  /** What is done inside; undefined: one is not. */
  get inside(): Inside | undefined {
    return this.#inside;
  }

  /** After a meeting: whether the room can be entered again. Who cannot is not offered it. */
  async mayReturn(): Promise<boolean> {
    try {
      return closedAt(await this.#parts.api.door(this.#memory.token), this.hasToken, false) === undefined;
    } catch {
      return false;
    }
  }

  async act(act: Act): Promise<void> {
    await this.#parts.api.act(this.#resume ?? "", act);
  }

  // How a visit goes on

  async #join(more: { readonly ticket?: string }): Promise<void> {
    const { api } = this.#parts;
    this.#looks++;
    clearTimeout(this.#timer);
    this.session.stage.value = { at: "entering" };
    const other = this.#resume === undefined ? this.#memory.ofOtherTab() : undefined;
    this.#resume ??= other;
    const reloadOf = this.#reloadOf;
    this.#reloadOf = undefined;
    try {
      const answer = await api.join({
        token: this.#memory.token,
        name: this.#name,
        resume: this.#resume,
        ticket: this.#declined,
        ...more,
      });
      if (reloadOf !== undefined && !isStay(answer, reloadOf)) await this.#startAfresh();
      else if ("waiting" in answer) this.#wait(answer);
      else if (await this.recording.joining(answer)) {
        // A stay keeps its name: what was typed in a second tab is not used.
        const isAsked = vouchedName(this.session.door.value) === undefined;
        if (other !== undefined && isAsked && answer.name !== this.#name)
          announce(t("alreadyInside", { name: answer.name }));
        await this.#enter(answer);
      } else await this.#join(more);
    } catch (error) {
      const isStale = this.#resume !== undefined && isFinal(error);
      // Without an answer the stay may go on: it is not forgotten.
      if (isFinal(error)) this.#forget();
      // The stay that a reload would continue is over: the visit begins at the door.
      if (isStale && this.session.door.value === undefined) await this.look();
      else this.#refused(error);
    }
  }

  /** A browser restores tabs after days: the stay is over by then, and no one has asked to enter another one with the camera on. */
  async #startAfresh(): Promise<void> {
    this.#forget();
    this.#wishes.forget();
    await this.look();
  }

  /** Nothing is sent that no one has clicked on, unless an application has framed the page for that. */
  async #enterByItself(isRecorded: boolean): Promise<void> {
    if (isRecorded) await this.recording.ask("");
    if (!this.#parts.isFramed) this.#wishes.onlyIfClicked();
    this.#name ||= this.defaultName;
    await this.#join({});
  }

  #wait({ ticket, connect }: InLobby): void {
    this.#declined = undefined;
    const lobby = this.#parts.openLobby({ connect });
    this.#lobby = lobby;
    waitIn(this.session, lobby, () => this.#lobby === lobby, {
      admitted: () => {
        this.#lobby = undefined;
        // The place in the lobby ends with its connection: it is needed until the join is answered.
        void this.#join({ ticket }).finally(() => lobby.close());
      },
      declined: () => (this.#declined = ticket),
      over: () => this.#endLobby(),
    });
  }

  async #enter(joined: Joined): Promise<void> {
    const isResumed = this.#resume !== undefined;
    this.#refusedStay = undefined;
    this.#resume = joined.connect.token;
    this.#name = joined.name;
    const inside = new Inside({
      session: this.session,
      media: this.media,
      engine: this.#parts.makeEngine(),
      recording: this.recording,
      token: () => this.#resume ?? joined.connect.token,
      open: (opening) => this.#parts.openRoom({ ...opening, isResumed, renew: () => this.#renew() }),
      ended: (why) => this.#out(why),
      stayLost: () => void this.#comeBack(),
    });
    this.#inside = inside;
    inside.begin(joined);
    this.#keepStay();
    await inside.start(this.#wishes.all);
    this.#keepStay();
  }

  async #renew(): Promise<string | null> {
    try {
      const answer = await this.#parts.api.join({ token: this.#memory.token, name: this.#name, resume: this.#resume });
      if ("waiting" in answer) return null;
      this.#resume = answer.connect.token;
      this.uploads.setToken(answer.participantSession, answer.connect.token);
      this.#keepStay();
      return answer.connect.token;
    } catch (error) {
      // Without an answer it is asked for again; a refusal is final.
      if (!isFinal(error)) throw error;
      this.#refusedStay = stayEndedBy(error);
      return null;
    }
  }

  #out(how: Ending): void {
    const why = how === "lost" ? (this.#refusedStay ?? how) : how;
    const resume = this.#resume;
    const { agreedTo } = this.recording;
    this.#end();
    // The stay goes on elsewhere, and can be brought back.
    if (why === "replaced") {
      this.#resume = resume;
      this.recording.restore(agreedTo);
    }
    this.session.stage.value = { at: "out", why };
  }

  /** The stay is over by no one's will: the person goes on in another one, with the devices that are on. */
  async #comeBack(): Promise<void> {
    this.#wishes.restore(this.media.isOn.value);
    this.#inside?.end();
    this.#inside = undefined;
    this.#forget();
    await this.#join({});
  }

  #end(): void {
    this.#inside?.end();
    this.#inside = undefined;
    this.recording.forget();
    this.#forget();
    this.media.closeAll();
  }

  /** `at`: when it opens, was closed, or one may ask again; Unix seconds. */
  #close(why: Closed, at?: number): void {
    this.media.closeAll();
    const timeMs = at === undefined ? undefined : at * 1000;
    const closed = { at: "closed", why, ...(timeMs !== undefined && { timeMs }) } as const;
    // Not anew with each look: a page that frames this one would get an error each time.
    if (!isAsBefore(this.session.stage.value, closed)) this.session.stage.value = closed;
    const waitMs = looksAgainInMs(why, timeMs);
    clearTimeout(this.#timer);
    if (waitMs !== undefined) this.#timer = setTimeout(() => void this.look(), waitMs);
  }

  #refused(error: unknown): void {
    const refusal = error instanceof Refused ? error : new Refused(0, "", String(error));
    const why = endingBy(refusal);
    if (why === undefined) return this.#close(closedBy(refusal), changesAt(refusal));
    this.media.closeAll();
    this.session.stage.value = { at: "out", why };
  }

  #endLobby(): void {
    this.#lobby?.close();
    this.#lobby = undefined;
  }

  #keepStay(): void {
    const { audio, video } = this.media.isOn.value;
    if (this.#resume === undefined || this.session.stage.value.at !== "inside") return;
    const { participantSession } = this.session.me.value;
    const { agreedTo } = this.recording;
    this.#memory.keep({ resume: this.#resume, participantSession, audio, video, agreedTo });
  }

  #forget(): void {
    this.#memory.forget(this.#resume);
    this.#resume = undefined;
  }
}

const isStay = (answer: Joined | InLobby, participantSession: string): boolean =>
  !("waiting" in answer) && answer.participantSession === participantSession;
