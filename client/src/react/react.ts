"use client";
/**
 * `parley-client/react`: the client in React 18 and 19.
 *
 *     <ParleyProvider options={{ url, token }}>…</ParleyProvider>
 *
 *     const { publish } = useChannel<Chat>("chat/1", { onMessage: (message) => … });
 *     const members = usePresence("chat/1");
 *     const { state } = useStatus();
 */
export { type ChannelHandlers, type UseChannelOptions, type UsedChannel, useChannel } from "./channel.ts";
export { useListener } from "./listener.ts";
export { type Entry, type UsedMessages, type UseMessagesOptions, useMessages } from "./messages.ts";
export { type UsedStates, useMemberStates, usePresence } from "./presence.ts";
export { ParleyProvider, type ParleyProviderProps, useParley, useStatus } from "./provider.ts";
