/**
 * A stand-in for RTCPeerConnection, which neither Bun nor Node has. It does nothing: only the SDK's signalling is tested
 * here, and a MeteredPeer cannot know a remote peer without making one of these. Real media needs a real browser.
 */
import type { RTCPeerConnectionLike } from "@metered-ca/realtime";

export class InertPeerConnection implements RTCPeerConnectionLike {
  readonly connectionState = "new";
  readonly signalingState = "stable";
  readonly iceConnectionState = "new";
  readonly localDescription = null;
  readonly remoteDescription = null;

  async createOffer(): Promise<never> {
    throw new Error("an inert peer connection negotiates nothing");
  }

  async createAnswer(): Promise<never> {
    throw new Error("an inert peer connection negotiates nothing");
  }

  async setLocalDescription(): Promise<void> {}
  async setRemoteDescription(): Promise<void> {}
  async addIceCandidate(): Promise<void> {}

  addTrack(): never {
    throw new Error("an inert peer connection has no media");
  }

  removeTrack(): void {}

  getSenders(): [] {
    return [];
  }

  createDataChannel(): never {
    throw new Error("an inert peer connection has no data channels");
  }

  setConfiguration(): void {}
  addEventListener(): void {}
  removeEventListener(): void {}
  close(): void {}
}
