/**
 * One RTCPeerConnection to another page, and its negotiation. The leader of the pair makes the first offer; after that both may offer, and
 * the leader's wins when both do. The m-lines are fixed: audio, camera, screen, in this order, whether they are used or not.
 */
import { KINDS, type Kind } from "./contract.ts";
import { answeredOffer, asAnswerTo, hasUfrag, idOf, sessionOf } from "./sdp.ts";
import type { Candidate, Description, Signal } from "./signalling.ts";

export interface Surroundings {
  readonly isLeader: boolean;
  readonly iceServers: readonly RTCIceServer[];
  send(signal: Signal): Promise<void>;
  /** What this page sends. */
  outgoing(kind: Kind): MediaStreamTrack | null;
  /** Whether what the other one sends may be shown. */
  isAllowed(kind: Kind): boolean;
  /** Tracks or the state have changed. */
  changed(): void;
}

/** Candidates that came before their description. */
const EARLY_MAX = 60;
/** After an offer that the service has refused; without a pause the browser would ask for the next one at once, and it would be the same. */
const OFFER_AGAIN_MS = 500;

const mediaOf = (kind: Kind): "audio" | "video" => (kind === "audio" ? "audio" : "video");

function directionOf(isSending: boolean, isReceiving: boolean): RTCRtpTransceiverDirection {
  if (isSending) return isReceiving ? "sendrecv" : "sendonly";
  return isReceiving ? "recvonly" : "inactive";
}

export class Connection {
  readonly #pc: RTCPeerConnection;
  readonly #around: Surroundings;
  /** One after the other: each step begins with what the one before has left. */
  #steps: Promise<void> = Promise.resolve();
  #remoteSession: string | undefined;
  #early: Candidate[] = [];
  #isPaused = false;

  constructor(around: Surroundings) {
    this.#around = around;
    const pc = new RTCPeerConnection({ iceServers: [...around.iceServers], bundlePolicy: "max-bundle" });
    this.#pc = pc;
    pc.onnegotiationneeded = () => this.#step(() => this.#offer());
    pc.onicecandidate = ({ candidate }) => candidate && this.#sendCandidate(candidate);
    pc.onconnectionstatechange = () => around.changed();
    if (around.isLeader) for (const kind of KINDS) pc.addTransceiver(mediaOf(kind), { direction: "inactive" });
    void this.#arrange();
  }

  get state(): RTCPeerConnectionState {
    return this.#pc.connectionState;
  }

  /** The RTCPeerConnection of the other page, by its descriptions. */
  get remoteSession(): string | undefined {
    return this.#remoteSession;
  }

  /** What the other one sends, of what may be shown. */
  get tracks(): readonly (readonly [Kind, MediaStreamTrack])[] {
    return KINDS.flatMap((kind) => {
      const transceiver = this.#transceiver(kind);
      const isReceiving = /recv/.test(transceiver?.currentDirection ?? "");
      return transceiver && isReceiving && this.#around.isAllowed(kind)
        ? [[kind, transceiver.receiver.track] as const]
        : [];
    });
  }

  sender(kind: Kind): RTCRtpSender | undefined {
    return this.#transceiver(kind)?.sender;
  }

  receiver(kind: Kind): RTCRtpReceiver | undefined {
    return this.#transceiver(kind)?.receiver;
  }

  stats(): Promise<RTCStatsReport> {
    return this.#pc.getStats();
  }

  /** What this page sends, or what may be shown, has changed. */
  async update(): Promise<void> {
    await this.#arrange();
  }

  setIceServers(iceServers: readonly RTCIceServer[]): void {
    this.#pc.setConfiguration({ iceServers: [...iceServers], bundlePolicy: "max-bundle" });
  }

  restartIce(): void {
    this.#pc.restartIce();
  }

  describe(description: Description): void {
    this.#step(() => (description.type === "offer" ? this.#answer(description.sdp) : this.#answered(description)));
  }

  candidate(candidate: Candidate): void {
    this.#step(() => this.#addCandidate(candidate));
  }

  close(): void {
    const pc = this.#pc;
    pc.onnegotiationneeded = null;
    pc.onicecandidate = null;
    pc.onconnectionstatechange = null;
    pc.close();
  }

  get #isClosed(): boolean {
    return this.#pc.signalingState === "closed";
  }

  /** A step that fails leaves the connection as it is: whether it works is seen by its state, and recovery begins from there. */
  #step(step: () => Promise<void>): void {
    this.#steps = this.#steps
      .then(() => (this.#isClosed ? undefined : step()))
      .catch((error: unknown) => {
        if (!this.#isClosed) console.warn("A step of the negotiation has failed.", error);
      });
  }

  async #offer(): Promise<void> {
    const pc = this.#pc;
    // The first offer is the leader's. In any other state the browser asks again when it is stable.
    const isTurn = this.#around.isLeader || this.#remoteSession !== undefined;
    if (pc.signalingState !== "stable" || !isTurn || this.#isPaused) return;
    await pc.setLocalDescription();
    const sdp = pc.localDescription?.sdp ?? "";
    this.#around.send({ description: { type: "offer", sdp } }).catch(() => this.#step(() => this.#takeBack(sdp)));
  }

  /** The service has refused an offer: the next change can be offered only after it is taken back. */
  async #takeBack(sdp: string): Promise<void> {
    const pc = this.#pc;
    if (pc.signalingState !== "have-local-offer" || idOf(pc.localDescription?.sdp ?? "") !== idOf(sdp)) return;
    this.#isPaused = true;
    setTimeout(() => {
      this.#isPaused = false;
      this.#step(() => this.#offer());
    }, OFFER_AGAIN_MS);
    await pc.setLocalDescription({ type: "rollback" });
  }

  async #answer(offer: string): Promise<void> {
    const pc = this.#pc;
    // Both have offered: the other one takes its own back when it gets the leader's.
    if (pc.signalingState !== "stable" && this.#around.isLeader) return;
    await pc.setRemoteDescription({ type: "offer", sdp: offer });
    this.#remoteSession = sessionOf(offer);
    await this.#arrange();
    await pc.setLocalDescription();
    const sdp = asAnswerTo(pc.localDescription?.sdp ?? "", offer);
    this.#around.send({ description: { type: "answer", sdp } }).catch(() => undefined);
    await this.#described();
  }

  async #answered({ type, sdp }: Description): Promise<void> {
    const pc = this.#pc;
    const isExpected = pc.signalingState === "have-local-offer" && type === "answer";
    if (!isExpected || answeredOffer(sdp) !== idOf(pc.localDescription?.sdp ?? "")) return;
    await pc.setRemoteDescription({ type, sdp });
    this.#remoteSession = sessionOf(sdp);
    await this.#described();
  }

  async #described(): Promise<void> {
    const early = this.#early;
    this.#early = [];
    for (const candidate of early) await this.#addCandidate(candidate);
    this.#around.changed();
  }

  #sendCandidate(found: RTCIceCandidate): void {
    const { candidate, sdpMid, sdpMLineIndex, usernameFragment } = found;
    const signal = { candidate: { candidate, sdpMid, sdpMLineIndex, usernameFragment } };
    this.#around.send(signal).catch(() => undefined);
  }

  /** One of another description waits for that, or belongs to an earlier connection and is dropped in the end. */
  async #addCandidate(candidate: Candidate): Promise<void> {
    const sdp = this.#pc.remoteDescription?.sdp;
    const { usernameFragment } = candidate;
    if (sdp && (usernameFragment === null || hasUfrag(sdp, usernameFragment)))
      await this.#pc.addIceCandidate(candidate).catch(() => undefined);
    else if (this.#early.length < EARLY_MAX) this.#early.push(candidate);
  }

  #transceiver(kind: Kind): RTCRtpTransceiver | undefined {
    const transceiver = this.#pc.getTransceivers()[KINDS.indexOf(kind)];
    return transceiver?.receiver.track.kind === mediaOf(kind) ? transceiver : undefined;
  }

  /** Directions and tracks as they should be; the browser then asks for a negotiation if one is needed. */
  async #arrange(): Promise<void> {
    const replaced: Promise<void>[] = [];
    for (const kind of KINDS) {
      const transceiver = this.#transceiver(kind);
      if (!transceiver || transceiver.currentDirection === "stopped") continue;
      const track = this.#around.outgoing(kind);
      const isAllowed = this.#around.isAllowed(kind);
      const direction = directionOf(track !== null, isAllowed);
      if (transceiver.direction !== direction) transceiver.direction = direction;
      // At once: the other page may go on sending until the next negotiation has ended.
      transceiver.receiver.track.enabled = isAllowed;
      // It fails only when the connection is closed meanwhile.
      if (transceiver.sender.track !== track)
        replaced.push(transceiver.sender.replaceTrack(track).catch(() => undefined));
    }
    // An offer may contain more than the three, or others.
    const known = KINDS.map((kind) => this.#transceiver(kind));
    for (const transceiver of this.#pc.getTransceivers())
      if (!known.includes(transceiver)) transceiver.direction = "inactive";
    await Promise.all(replaced);
  }
}
