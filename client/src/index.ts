export type { Channel } from "./channel.ts";
export { type ClientCode, type ErrorCode, ParleyError, type ServiceCode } from "./errors.ts";
export type { Welcome } from "./frames.ts";
export type { Status } from "./link.ts";
export type { ChannelEvents, ChannelOptions, Gap, Message, Published, Subscribed } from "./message.ts";
export type { Credential, TokenReason, TokenSource, WebSocketClass } from "./options.ts";
export type { SendOptions } from "./outbox.ts";
export { type Direct, Parley, type ParleyEvents, type ParleyOptions } from "./parley.ts";
export type { Member, Presence, PresenceEvents } from "./presence.ts";
