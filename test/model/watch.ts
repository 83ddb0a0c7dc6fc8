/** After each act: everybody reads, and whoever ought to be gone or complete is. */
import { Broken, broken, Ears, nameOf } from "./ears.ts";
import type { Stage } from "./stage.ts";
import { type Line, membersOf, type Picture } from "./truth.ts";

/** Rosters come at the latest so long after the ack (protocol, section 5). */
const ROSTER_WAIT_MS = 500;
/** By then whatever is held back of anybody is shown (protocol, section 5), with some time for ticks. */
const DAMPING_MS = 10_100;
/** Turns of promises until the answer to a send is written, generously. */
const TURNS = 12;

export class Watch {
  private readonly ears: Ears;
  private closings = 0;

  constructor(private readonly stage: Stage) {
    this.ears = new Ears(stage);
  }

  async look(): Promise<void> {
    while (this.stage.promised.length > 0) await this.stage.promised.pop();
    this.readAll();
    if (this.stage.isOneNode) return;
    const waits = this.stage.lines.some((line) => line.isOpen && hasSends(line));
    if (!waits) return;
    for (let i = 0; i < TURNS; i++) await undefined;
    this.readAll();
  }

  private readAll(): void {
    const answers: [Line, [string, string][]][] = [];
    for (const line of this.stage.lines) if (line.isOpen) answers.push([line, this.ears.read(line)]);
    this.ears.judgeJoins();
    for (const [line, own] of answers) this.judge(line, own);
    for (const line of this.stage.lines) if (line.isOpen) this.lookAt(line);
    this.stage.lookedMs = this.stage.nowMs();
  }

  /** Answers to sends: ack if it was handed to a connection, peer_not_found if there was none. */
  private judge(line: Line, answers: readonly [string, string][]): void {
    for (const [requestId, code] of answers) {
      const request = line.unanswered.get(requestId);
      line.unanswered.delete(requestId);
      const number = request?.word ?? 0;
      const isHeard = this.stage.lines.some((other) => other.heard.has(number));
      const stayed = request?.targets?.find((other) => other.isOpen && !other.socket.closed);
      if (code === "ack" ? !isHeard : code !== "peer_not_found" || isHeard || stayed)
        broken(line, `send ${number} was answered ${code}; heard: ${isHeard}`);
    }
  }

  private lookAt(line: Line): void {
    const { closed } = line.socket;
    const now = this.stage.nowMs();
    if (closed) return this.ended(line, closed.code);
    if (line.mustClose) broken(line, `still open, must be closed with ${line.mustClose}`);
    if (now >= line.expiresAtMs) broken(line, "open past its token's expiry");
    if (now >= (line.secret?.endsMs ?? now) + 200) broken(line, "open past the end of its secret");
    if (line.errors.length > 0) broken(line, `no error came: ${line.errors.join()}`);
    if (this.stage.isOneNode && hasSends(line)) broken(line, "a send was not answered at once");
    // Rosters of one that does not read wait until it does.
    if (line.stalledMs !== undefined) return;
    for (const held of line.held.values())
      if (held.picture === "awaited" && now - Math.max(held.ackedMs, line.drainedMs) > ROSTER_WAIT_MS)
        broken(line, `no roster of ${held.channel} ${now - held.ackedMs} ms after its ack`);
  }

  private ended(line: Line, code: number): void {
    const now = this.stage.nowMs();
    const isTold = line.socket.written.at(-1)?.includes('"token_expired"') ?? false;
    const secretEnded = (line.secret?.endsMs ?? Number.POSITIVE_INFINITY) <= now;
    const isTime = code === 4002 && (isTold ? secretEnded : line.expiresAtMs - 250 <= now);
    if (code === 4002 && !isTime)
      broken(line, `closed with 4002, ${isTold ? "and its secret lives" : "and not told why"}`);
    if (line.mustClose && line.mustClose !== code) broken(line, `closed with ${code}, expected ${line.mustClose}`);
    if (code !== 4002 && !line.mustClose) broken(line, `closed with ${code} for no reason`);
    this.stage.count(`closed ${code}`);
    line.isOpen = false;
    line.held.clear();
    line.owed.clear();
    line.unanswered.clear();
    this.closings++;
  }

  /**
   * Until nothing is under way and no connection has ended for a while: then everybody must know everything, except changes
   * that damping holds back. `isLast`: those too.
   */
  async settle(isLast = false): Promise<void> {
    this.stage.note("settle");
    for (const line of this.stage.open) this.drain(line);
    await this.untilQuiet();
    if (isLast && this.stage.shown.isAnythingDamped) {
      this.stage.count("damped at the end");
      this.stage.world.advance(DAMPING_MS);
      await this.untilQuiet();
    }
    if (this.stage.world.connections !== this.stage.open.length)
      throw new Broken(`${this.stage.world.connections} connections, ${this.stage.open.length} expected`);
    for (const line of this.stage.open) this.isComplete(line, isLast);
  }

  private async untilQuiet(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      const { closings } = this;
      this.stage.world.advance(600);
      await this.look();
      quiet = this.closings === closings && this.stage.world.underWay === 0 ? quiet + 1 : 0;
    }
  }

  /** It reads again. */
  drain(line: Line): void {
    if (line.stalledMs === undefined) return;
    this.stage.note(`${nameOf(line)} reads again`);
    line.stalledMs = undefined;
    line.drainedMs = this.stage.nowMs();
    line.socket.stalled = false;
    line.socket.read();
  }

  private isComplete(line: Line, isLast: boolean): void {
    for (const requestId of line.unanswered.keys()) broken(line, `${requestId} is not answered`);
    for (const [number, channel] of line.owed) broken(line, `${number} never came, on ${channel || "direct"}`);
    for (const { channel, presence, picture } of line.held.values()) {
      if (!presence) continue;
      if (!(picture instanceof Map)) return broken(line, `no roster of ${channel}`);
      const truth = membersOf(this.stage.lines, line.app, channel);
      truth.delete(line.peerId);
      if (!isLast) this.withoutHeld(line, channel, picture, truth);
      const [known, real] = [picture, truth].map((of) => JSON.stringify([...of].sort()));
      if (known !== real) broken(line, `on ${channel} it believes ${known}, true is ${real}`);
    }
  }

  /** Leaves those out of the truth, or adds them to it, of whom something may be held back. */
  private withoutHeld(line: Line, channel: string, picture: Picture, truth: Picture): void {
    for (const peerId of new Set([...picture.keys(), ...truth.keys()])) {
      const known = picture.get(peerId);
      if (known === truth.get(peerId) || !this.stage.shown.isDamped(line, channel, peerId)) continue;
      this.stage.count("held back");
      if (known === undefined) truth.delete(peerId);
      else truth.set(peerId, known);
    }
  }

  /** On the speaker's own node words arrive at once. */
  mustHaveHeard(line: Line, receivers: readonly Line[], number: number): void {
    for (const other of receivers) {
      if (other.node !== line.node) continue;
      this.judge(other, this.ears.read(other));
      if (!other.heard.has(number)) broken(other, `it did not hear ${number} at once`);
    }
  }
}

const hasSends = (line: Line): boolean => {
  for (const { expect } of line.unanswered.values()) if (expect === "sent") return true;
  return false;
};
