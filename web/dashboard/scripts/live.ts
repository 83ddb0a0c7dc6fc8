/** Channels, streams, peers, refusals, the console and "Why not?". */
import "./shared.ts";

export { Channel } from "../pages/channels/channel.tsx";
export { Channels } from "../pages/channels/channels.tsx";
export { ChannelRules } from "../pages/channels/rules.tsx";
export { Console } from "../pages/console/console.tsx";
export { Refusals } from "../pages/console/refusals.tsx";
export { WhyNot } from "../pages/console/why-not.tsx";
export { Peer } from "../pages/peers/peer.tsx";
export { Peers } from "../pages/peers/peers.tsx";
export { Stream } from "../pages/streams/stream.tsx";
export { Streams } from "../pages/streams/streams.tsx";
