/** The recording of a meeting at this page: what the service says, what the person has agreed to, and the recorders that follow from both. */
import { effect } from "@preact/signals";
import { steadyClock } from "../../../client/src/connection/steady-clock.ts";
import { announce } from "../page/announce.ts";
import type { Act } from "../page/api.ts";
import { Consent, factOf, isSameRecording, type RecordingFact } from "../room/consent.ts";
import type { Session } from "../session/session.ts";
import { recordedBy, t } from "../texts/texts.ts";
import type { OwnRecording, RecordedStay } from "./own-recording.ts";

interface MeetingRecordingParts {
  readonly session: Pick<Session, "stage" | "recording">;
  readonly own: OwnRecording;
  readonly act: (act: Act) => Promise<void>;
  /** What the person has agreed to has changed: a reload must know it. */
  readonly changed: () => void;
}

/** The service reserves the place of a join a little longer. */
const PLACE_RESERVED_MS = 10_000;

type Answered = { readonly recording?: unknown };

export class MeetingRecording {
  readonly own: OwnRecording;
  readonly #parts: MeetingRecordingParts;
  readonly #consent = new Consent();
  /** Goes on to the inside. */
  #goOn: (() => void) | undefined;
  #end: (() => void) | undefined;

  constructor(parts: MeetingRecordingParts) {
    this.#parts = parts;
    this.own = parts.own;
  }

  /** What a reload must know. */
  get agreedTo(): number | undefined {
    return this.#consent.agreedTo;
  }

  restore(agreedTo: number | undefined): void {
    this.#consent.restore(agreedTo);
  }

  /** To the recording that the door has named. */
  agreeToNext(): void {
    this.#consent.agreeToNext();
  }

  /** A click on the notice: before entering, or inside. */
  agree(): void {
    const { session, changed } = this.#parts;
    this.#goOn?.();
    if (session.recording.value) session.recording.value = this.#consent.agreeTo(session.recording.value);
    changed();
  }

  /** Starts or stops the recording. Who starts it has agreed. */
  async record(isOn: boolean): Promise<void> {
    const { act, session, changed } = this.#parts;
    if (isOn) this.#consent.agreeToNext();
    try {
      await act({ do: isOn ? "record" : "stopRecord" });
    } catch (error) {
      if (isOn && !session.recording.value) this.#consent.forget();
      throw error;
    }
    // Without waiting for the notice: the connection that brings it may be lost.
    if (!isOn && session.recording.value) this.noticed(false, session.recording.value);
    changed();
  }

  /** Resolves with a click on the notice. */
  async ask(by: string): Promise<void> {
    const { stage } = this.#parts.session;
    stage.value = { at: "consent", by };
    await new Promise<void>((resolve) => (this.#goOn = resolve));
    this.#goOn = undefined;
    stage.value = { at: "entering" };
    this.#consent.agreeToNext();
  }

  /** Asks, where the meeting is recorded and the person has not agreed. Resolves to whether the place of the join is still reserved. */
  async joining(answer: Answered): Promise<boolean> {
    const fact = factOf(answer.recording);
    if (!fact || this.#consent.about(fact).hasAgreed) return true;
    const steadyMs = steadyClock();
    const joinedMs = steadyMs();
    await this.ask(fact.by);
    return steadyMs() - joinedMs < PLACE_RESERVED_MS;
  }

  /** Inside, until `leave`. */
  enter(answer: Answered, stay: RecordedStay): void {
    const { recording } = this.#parts.session;
    const fact = factOf(answer.recording);
    recording.value = fact && this.#consent.about(fact);
    // It has ended before the person was inside: the next one is asked about.
    if (!fact) this.#consent.forget();
    this.#end = effect(() => {
      if (recording.value?.hasAgreed) this.own.start(stay);
      else this.own.stop();
    });
  }

  /** Notices are repeated for every connection: only what changes something is shown. */
  noticed(isOn: boolean, fact: RecordingFact): void {
    const { session, changed } = this.#parts;
    const before = session.recording.value;
    if (isOn ? isSameRecording(before?.since, fact) : before === undefined) return;
    if (!isOn) {
      this.#consent.forget();
      // A run that began in the same moment was refused for that: no fault.
      this.own.failure.value = undefined;
    }
    session.recording.value = isOn ? this.#consent.about(fact) : undefined;
    changed();
    // Where the person is asked, the question shows it.
    announce(isOn ? recordedBy(fact.by) : t("recordingStopped"), session.recording.value?.hasAgreed === false);
  }

  leave(): void {
    this.#end?.();
    this.#end = undefined;
    this.own.stop();
    this.#parts.session.recording.value = undefined;
  }

  /** The next visit is asked again. */
  forget(): void {
    this.#consent.forget();
  }
}
