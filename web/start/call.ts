/**
 * A WebRTC call between two tabs, as an example of signalling over direct messages. Its signals are `{ call, id, sdp? }`, where call
 * is offer, answer, decline or end. The SDP holds the candidates.
 */
import { $, h, messageOf } from "./dom.ts";

const GATHER_MAX_MS = 2000;
const ROUND_TRIP_EVERY_MS = 1000;
/** From the answer on. Browsers report a failure only after half a minute, or never if the other one is gone. */
const CONNECT_WITHIN_MS = 15_000;
const NO_ROUTE =
  "There is probably no direct route between the two browsers; then a call needs a relay, a TURN server: docs/turn.md.";

interface Call {
  readonly peer: string;
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
  /** The others in the channel, by peer id. */
  readonly others: () => ReadonlySet<string>;
  readonly nameOf: (peerId: string) => string;
  readonly send: (to: string, data: Signal) => Promise<void>;
}

const videoOf = (id: "mine" | "theirs"): HTMLVideoElement => $<HTMLVideoElement>(id);

export const isSignal = (data: unknown): data is Signal => typeof data === "object" && data !== null && "call" in data;

export class Calls {
  private call: Call | undefined;

  constructor(private readonly around: Surroundings) {
    addEventListener("pagehide", () => this.call?.pc?.close());
  }

  /** The connection was lost: a call that is not live yet cannot be negotiated any more. */
  connectionLost(): void {
    if (this.call && this.call.state !== "live") this.end("The connection was lost.");
  }

  /** Members have joined or left. */
  rosterChanged(): void {
    const { call } = this;
    if (call && !call.hasConnected && !this.around.others().has(call.peer))
      this.end(`${this.around.nameOf(call.peer)} has left.`);
  }

  receive(from: string, { call: what, id, sdp = "" }: Signal): void {
    if (what === "offer") return this.offered(from, id, sdp);
    const { call } = this;
    if (call?.peer !== from || call.id !== id) return;
    if (what === "decline") this.end(`${this.around.nameOf(from)} declined the call.`);
    else if (what === "end") this.end(`${this.around.nameOf(from)} has hung up.`);
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
    this.call = { peer: from, id, state: "called", offer: sdp };
    if (isCrossed) return void this.answer(this.call);
    this.draw();
  }

  private async start(peer: string): Promise<void> {
    const call: Call = { peer, id: Math.random().toString(36).slice(2), state: "calling" };
    this.call = call;
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
      const video = videoOf("theirs");
      video.srcObject = new MediaStream([track]);
      track.onunmute = () => {
        video.hidden = false;
      };
      track.onmute = () => {
        video.hidden = true;
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
      const name = this.around.nameOf(call.peer);
      this.end(call.hasConnected ? `The connection to ${name} was lost.` : `No connection to ${name}. ${NO_ROUTE}`);
    };
    return pc;
  }

  /** Video is negotiated from the start, so that the camera can be added later or never. */
  private async shareCamera(call: Call, pc: RTCPeerConnection): Promise<void> {
    $("camera").textContent = "";
    try {
      if (!navigator.mediaDevices) throw new Error("browsers allow it only on https and localhost");
      const stream = await navigator.mediaDevices.getUserMedia({ video: { width: 640, height: 480 } });
      const [track] = stream.getTracks();
      if (!track) throw new Error("there is none");
      if (this.call !== call) return track.stop();
      call.camera = track;
      videoOf("mine").srcObject = stream;
      videoOf("mine").hidden = false;
      await pc.getTransceivers()[0]?.sender.replaceTrack(track);
    } catch (error) {
      $("camera").textContent = `Without your camera: ${messageOf(error)}.`;
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
      else $("round-trip").textContent = `open, round trip ${(performance.now() - Number(at)).toFixed(1)} ms`;
    };
    line.onclose = () => this.end(`${this.around.nameOf(call.peer)} has hung up.`, call);
  }

  private hangUp(call: Call, kind: "decline" | "end"): void {
    this.signal(call, { call: kind }).catch(() => undefined);
    this.end("The call is over.", call);
  }

  /** `which`: a late end of an earlier call must not end the present one. */
  end(text: string, which = this.call): void {
    if (!which || which !== this.call) return;
    const { pc, pinging, camera, connecting } = which;
    this.call = undefined;
    clearInterval(pinging);
    clearTimeout(connecting);
    camera?.stop();
    pc?.close();
    for (const id of ["mine", "theirs"] as const) {
      videoOf(id).srcObject = null;
      videoOf(id).hidden = true;
    }
    $("round-trip").textContent = "closed";
    $("camera").textContent = "";
    this.draw(text);
  }

  private text(): string {
    const { call, around } = this;
    if (!call) return around.others().size > 0 ? "Not in a call." : "There is no one to call yet: open a second tab.";
    const name = around.nameOf(call.peer);
    if (call.state === "calling") return `Calling ${name} …`;
    if (call.state === "called") return `${name} is calling.`;
    if (call.pc?.connectionState === "connected") return `In a call with ${name}.`;
    if (call.isLate && !call.hasConnected) return `No connection to ${name} yet. ${NO_ROUTE} Hang up, or keep waiting.`;
    return `Connecting to ${name} …`;
  }

  draw(text = ""): void {
    const people = $("people");
    const isFocused = people.contains(document.activeElement);
    $("call-state").textContent = text || this.text();
    people.replaceChildren(...this.buttons());
    // The button that had the focus was replaced: keyboard users continue from the new one.
    if (isFocused) people.querySelector("button")?.focus();
  }

  private buttons(): HTMLElement[] {
    const { call, around } = this;
    const button = (label: string, act: () => void, kind = ""): HTMLElement => {
      const element = h("button", { type: "button", class: kind }, label);
      element.addEventListener("click", act);
      return h("li", {}, element);
    };
    if (!call)
      return [...around.others()].map((peer) =>
        button(`Call ${around.nameOf(peer)}`, () => void this.start(peer), "primary"),
      );
    if (call.state !== "called") return [button("Hang up", () => this.hangUp(call, "end"))];
    return [
      button("Answer", () => void this.answer(call), "primary"),
      button("Decline", () => this.hangUp(call, "decline")),
    ];
  }
}

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
