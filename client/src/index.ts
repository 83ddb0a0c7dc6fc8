export type { Channel } from "./channel.ts";
export type { Credential, TokenReason, TokenSource, Transport, WebSocketClass } from "./connection/options.ts";
export { type ClientCode, type ErrorCode, ParleyError, type ServiceCode } from "./events/errors.ts";
export type { Welcome } from "./events/frames.ts";
export type { ChannelEvents, ChannelOptions, Gap, Message, Published, Subscribed } from "./events/message.ts";
export type { Direct, Member, ParleyEvents, PresenceEvents, Status } from "./events/types.ts";
export type { SendOptions } from "./outbox.ts";
export { Parley, type ParleyOptions } from "./parley.ts";
export type { Presence } from "./presence.ts";
