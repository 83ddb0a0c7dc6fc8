/**
 * A WebRTC call between two people, as an example of signalling over direct messages. Its signals are `{ call, id, sdp? }`, where call
 * is offer, answer, decline or end. The SDP holds the candidates.
 */
import { camera } from "./camera.ts";
import { button, h, messageOf } from "./dom.ts";

const GATHER_MAX_MS = 2000;
const ROUND_TRIP_EVERY_MS = 1000;
/** From the answer on. Browsers report a failure only after half a minute, or never if the other one is gone. */
const CONNECT_WITHIN_MS = 15_000;
const NO_ROUTE =
  "There is probably no direct route between the two browsers. Then a call needs a relay, a TURN server: /docs/turn.";

interface Call {
  readonly peer: string;
  /** As long as the peer is in the channel, its present name; then the last one. */
  name: string;
  readonly id: string;
  state: "calling" | "called" | "live";
  readonly offer?: string;
  pc?: RTCPeerConnection;
  pinging?: ReturnType<typeof setInterval>;
  camera?: MediaStreamTrack;
  /** From then on the tabs talk directly: neither the service nor the roster matters to the call. */
  hasConnected?: true;
  connecting?: ReturnType<typeof setTimeout>;
  isLate?: true;
}

interface Signal {
  readonly call: "offer" | "answer" | "decline" | "end";
  readonly id: string;
  readonly sdp?: string;
}

/** What the call needs of the chat that it runs beside. */
export interface Surroundings {
  readonly ownId: () => string | undefined;
  /** Whether this peer is in the channel. */
  readonly isHere: (peerId: string) => boolean;
  readonly nameOf: (peerId: string) => string;
  readonly send: (to: string, data: Signal) => Promise<void>;
  /** A call has begun or ended: others see who is busy. */
  readonly changed: () => void;
  /** What became of a call. */
  readonly note: (text: string) => void;
}

export const isSignal = (data: unknown): data is Signal => typeof data === "object" && data !== null && "call" in data;

export class Calls {
  private call: Call | undefined;
  private readonly title = h("p", { class: "call-state", role: "status" });
  private readonly buttons = h("div", { class: "row" });
  private readonly roundTrip = h("span", { class: "round-trip muted small" });
  private readonly camera = h("p", { class: "camera muted small" });
  private readonly theirs = video("theirs");
  private readonly mine = video("mine");
  private readonly tiles = h(
    "div",
    { class: "tiles" },
    tile(this.theirs, "the other person"),
    tile(this.mine, "you"),
    this.roundTrip,
  );
  /** Hidden while there is no call. */
  readonly box = h(
    "div",
    { class: "call", role: "group", "aria-label": "Call", hidden: "" },
    this.title,
    this.buttons,
    this.tiles,
    this.camera,
  );

  constructor(private readonly around: Surroundings) {
    addEventListener("pagehide", () => this.call?.pc?.close());
  }

  get isFree(): boolean {
    return this.call === undefined;
  }

  /** The connection was lost: a call that is not live yet cannot be negotiated any more. */
  connectionLost(): void {
    if (this.call && this.call.state !== "live") this.end("The connection was lost.");
  }

  /** Members have joined or left. */
  rosterChanged(): void {
    const { call } = this;
    if (call && !call.hasConnected && !this.around.isHere(call.peer)) this.end(`${call.name} left before the call.`);
  }

  receive(from: string, { call: what, id, sdp = "" }: Signal): void {
    if (what === "offer") return this.offered(from, id, sdp);
    const { call } = this;
    if (call?.peer !== from || call.id !== id) return;
    if (what === "decline") this.end(`${call.name} declined the call.`);
    else if (what === "end") this.end(`${call.name} has hung up.`);
    else if (what === "answer" && call.state === "calling") {
      this.goLive(call);
      call.pc?.setRemoteDescription({ type: "answer", sdp }).catch((error) => this.end(messageOf(error), call));
    }
  }

  private offered(from: string, id: string, sdp: string): void {
    const { call } = this;
    const isCrossed = call?.state === "calling" && call.peer === from;
    // Both called at the same time: the call of the peer with the smaller id counts, and the other peer answers it at once.
    if (isCrossed && (this.around.ownId() ?? "") < from) return;
    if (call && !isCrossed) return void this.around.send(from, { call: "decline", id }).catch(() => undefined);
    if (isCrossed) this.end("");
    this.call = { peer: from, name: this.around.nameOf(from), id, state: "called", offer: sdp };
    this.around.changed();
    if (isCrossed) return void this.answer(this.call);
    this.draw();
  }

  async start(peer: string): Promise<void> {
    if (this.call) return;
    const call: Call = {
      peer,
      name: this.around.nameOf(peer),
      id: Math.random().toString(36).slice(2),
      state: "calling",
    };
    this.call = call;
    this.around.changed();
    this.draw();
    await this.negotiate(call, "offer", (pc) => {
      pc.addTransceiver("video");
      this.measureRoundTrips(call, pc.createDataChannel("round-trip"));
    });
  }

  private async answer(call: Call): Promise<void> {
    this.goLive(call);
    await this.negotiate(call, "answer", async (pc) => {
      await pc.setRemoteDescription({ type: "offer", sdp: call.offer ?? "" });
      for (const transceiver of pc.getTransceivers()) transceiver.direction = "sendrecv";
    });
  }

  /** Answered: the tabs look for a way to each other. */
  private goLive(call: Call): void {
    call.state = "live";
    call.connecting = setTimeout(() => {
      call.isLate = true;
      this.draw();
    }, CONNECT_WITHIN_MS);
    this.draw();
  }

  /** `prepare` says what to negotiate. After each await, the call may have ended and another one begun. */
  private async negotiate(
    call: Call,
    kind: "offer" | "answer",
    prepare: (pc: RTCPeerConnection) => void | Promise<void>,
  ): Promise<void> {
    const pc = this.makeConnection(call);
    try {
      await prepare(pc);
      const sdp = await describe(pc);
      if (this.call !== call) return;
      await this.signal(call, { call: kind, sdp });
      await this.shareCamera(call, pc);
    } catch (error) {
      this.end(messageOf(error), call);
    }
  }

  private signal({ peer, id }: Call, what: Omit<Signal, "id">): Promise<void> {
    return this.around.send(peer, { id, ...what });
  }

  private makeConnection(call: Call): RTCPeerConnection {
    const pc = new RTCPeerConnection();
    call.pc = pc;
    pc.ontrack = ({ track }) => {
      this.theirs.srcObject = new MediaStream([track]);
      track.onunmute = () => {
        this.theirs.hidden = false;
      };
      track.onmute = () => {
        this.theirs.hidden = true;
      };
    };
    pc.ondatachannel = (event) => this.measureRoundTrips(call, event.channel);
    pc.onconnectionstatechange = () => {
      if (this.call?.pc !== pc) return;
      if (pc.connectionState === "connected") {
        clearTimeout(call.connecting);
        call.hasConnected = true;
      }
      if (pc.connectionState !== "failed") return this.draw();
      const { name, hasConnected } = call;
      this.end(hasConnected ? `The connection to ${name} was lost.` : `No connection to ${name}. ${NO_ROUTE}`);
    };
    return pc;
  }

  /** Video is negotiated from the start, so that the camera can be added later or never. */
  private async shareCamera(call: Call, pc: RTCPeerConnection): Promise<void> {
    this.camera.textContent = "";
    try {
      const track = await camera.borrow();
      if (this.call !== call) return camera.giveBack(track);
      call.camera = track;
      this.mine.srcObject = new MediaStream([track]);
      this.mine.hidden = false;
      await pc.getTransceivers()[0]?.sender.replaceTrack(track);
    } catch (error) {
      if (!call.camera) camera.giveBack();
      if (this.call === call) this.camera.textContent = `Without your camera: ${messageOf(error)}.`;
    }
  }

  /** Measures round trips over the data channel. */
  private measureRoundTrips(call: Call, line: RTCDataChannel): void {
    const ping = (): void => {
      if (line.readyState === "open") line.send(`ping ${performance.now()}`);
    };
    line.onopen = () => {
      ping();
      call.pinging = setInterval(ping, ROUND_TRIP_EVERY_MS);
    };
    line.onmessage = ({ data }) => {
      const [kind, at] = String(data).split(" ");
      if (kind === "ping") line.send(`pong ${at}`);
      else this.roundTrip.textContent = `round trip ${(performance.now() - Number(at)).toFixed(1)} ms`;
    };
    line.onclose = () => this.end(`${call.name} has hung up.`, call);
  }

  private hangUp(call: Call, kind: "decline" | "end"): void {
    this.signal(call, { call: kind }).catch(() => undefined);
    this.end("The call is over.", call);
  }

  /** `which`: a late end of an earlier call must not end the present one. */
  end(text: string, which = this.call): void {
    if (!which || which !== this.call) return;
    this.call = undefined;
    clearInterval(which.pinging);
    clearTimeout(which.connecting);
    if (which.camera) camera.giveBack(which.camera);
    which.pc?.close();
    for (const one of [this.mine, this.theirs]) {
      one.srcObject = null;
      one.hidden = true;
    }
    this.roundTrip.textContent = this.camera.textContent = "";
    this.draw();
    this.around.changed();
    if (text) this.around.note(text);
  }

  private text({ name, state, pc, isLate, hasConnected }: Call): string {
    if (state === "calling") return `Calling ${name} …`;
    if (state === "called") return `${name} is calling.`;
    if (pc?.connectionState === "connected") return `In a call with ${name}.`;
    if (isLate && !hasConnected) return `No connection to ${name} yet. ${NO_ROUTE} Hang up, or keep waiting.`;
    return `Connecting to ${name} …`;
  }

  draw(): void {
    const { call, buttons } = this;
    this.box.hidden = !call;
    if (!call) return;
    if (this.around.isHere(call.peer)) call.name = this.around.nameOf(call.peer);
    const text = this.text(call);
    // Written only when it changes: screen readers read it each time.
    if (this.title.textContent !== text) this.title.textContent = text;
    this.tiles.hidden = call.state !== "live";
    const isFocused = buttons.contains(document.activeElement);
    buttons.replaceChildren(...this.choices(call));
    // The button that had the focus was replaced: keyboard users continue from the new one.
    if (isFocused) buttons.querySelector("button")?.focus();
  }

  private choices(call: Call): HTMLElement[] {
    if (call.state !== "called") return [button("Hang up", () => this.hangUp(call, "end"))];
    return [
      button("Answer", () => void this.answer(call), "small primary"),
      button("Decline", () => this.hangUp(call, "decline")),
    ];
  }
}

function video(kind: string): HTMLVideoElement {
  const element = h("video", { class: kind, autoplay: "", playsinline: "", hidden: "" });
  // Without sound: two people on one machine would cause feedback.
  element.muted = true;
  return element;
}

const tile = (element: HTMLVideoElement, caption: string): HTMLElement =>
  h("figure", {}, element, h("figcaption", {}, caption));

/** Waits for all candidates, so that one message in each direction is enough. */
async function describe(pc: RTCPeerConnection): Promise<string> {
  await pc.setLocalDescription();
  const late = new Promise((resolve) => setTimeout(resolve, GATHER_MAX_MS));
  const all = new Promise<void>((resolve) => {
    const look = (): void => {
      if (pc.iceGatheringState === "complete") resolve();
    };
    pc.onicegatheringstatechange = look;
    look();
  });
  await Promise.race([all, late]);
  return pc.localDescription?.sdp ?? "";
}
