/** Bugs that the model test must find: changes of the sources that break what connections, messages and presence must be like. */

export interface Bug {
  readonly name: string;
  readonly file: string;
  /** A text that is in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** In which worlds it is to be found; plain ones unless it says otherwise. */
  readonly world?: "rules";
}

export const BUGS: readonly Bug[] = [
  {
    name: "echo to sender",
    file: "src/realtime/messages/delivery.ts",
    find: "const except = own?.connection.socket;",
    replace: "const except = undefined;",
  },
  {
    name: "lost left",
    file: "src/realtime/presence/rosters.ts",
    find: "else if (before !== undefined) left.push([peerId, before]);",
    replace: "",
  },
  {
    name: "left while a connection remains",
    file: "src/realtime/state/member.ts",
    find: "this.held = withoutOne(this.held, subscription);",
    replace: "this.held = undefined;",
  },
  {
    name: "change before roster",
    file: "src/realtime/state/subscription.ts",
    find: 'if (next.kind === "listening") {',
    replace: 'if (next.kind === "listening" || next.kind === "gated") {',
  },
  {
    name: "change before roster, on a repeated subscribe only",
    file: "src/realtime/state/subscription.ts",
    find: 'if (kind === "listening") {',
    replace: 'if (kind === "listening" && next.kind !== "gated") {',
  },
  {
    name: "roster with self",
    file: "src/realtime/presence/rosters.ts",
    find: "const start = starts.get(peerId);",
    replace: "const start: number | undefined = undefined;",
  },
  {
    name: "joined after direct",
    file: "src/realtime/messages/directs.ts",
    find: "if (from?.pending) presence.beforeDirect(from, target, arrivals);",
    replace: "",
  },
  {
    name: "metadata leak: fromMetadata without asking",
    file: "src/realtime/messages/delivery.ts",
    find: "encode.message(channel.json, fromJson, undefined, dataJson, fields)",
    replace: "encode.message(channel.json, fromJson, metadataJson, dataJson, fields)",
  },
  {
    name: "metadata leak: a token's own metadata to others",
    file: "src/access/admission/admit.ts",
    find: "peerMetadataJson: verified.peerMetadataJson,",
    replace: "peerMetadataJson: verified.peerMetadataJson ?? verified.metadataJson,",
  },
  {
    name: "order swap: on the node",
    file: "src/realtime/messages/delivery.ts",
    find: "if (channel)\n      this.fanOut(channel, fromJsonOf(envelope, sender), envelope, sender?.subscriptionTo(name), idField(envelope));",
    replace: `if (channel) {
      const swap = this as unknown as { late?: (() => void) | undefined };
      const late = swap.late;
      const own = sender?.subscriptionTo(name);
      const write = () => this.fanOut(channel, fromJsonOf(envelope, sender), envelope, own, idField(envelope));
      swap.late = undefined;
      if (!late && envelope.dataJson.length % 2 === 0) {
        swap.late = write;
        queueMicrotask(() => {
          if (swap.late === write) write();
          if (swap.late === write) swap.late = undefined;
        });
      } else write();
      late?.();
    }`,
  },
  {
    name: "order swap: between nodes",
    file: "src/engine/local.ts",
    // Two sequences instead of one.
    find: "key}`, (node) => {",
    replace: "key}` + (globalThis.odd = !globalThis.odd), (node) => {",
  },
  {
    name: "double delivery",
    file: "src/realtime/subscriptions/channels.ts",
    find: "    connection.socket.unsubscribe(withMetadata ? channel.plainTopic : channel.metadataTopic);\n",
    replace: "",
  },
  {
    name: "send across apps",
    file: "src/realtime/messages/directs.ts",
    find: "const target = space?.peers.get(to);\n    if (target && sender",
    replace:
      "const all = [space, ...spaces.all()];\n    const target = all.map((each) => each?.peers.get(to)).find((one) => one && one.connections.length > 0);\n    if (target && sender",
  },
  {
    name: "scope kept after a key edit: its subscriptions",
    file: "src/realtime/subscriptions/narrowing.ts",
    find: "if (!connection.mayOn(SUBSCRIBE, name) || !covers(name)) this",
    replace: "if (!connection.mayOn(SUBSCRIBE, name) && !covers(name)) this",
  },
  {
    name: "scope kept after a key edit: what it may do",
    file: "src/realtime/state/connection.ts",
    find: "this.setTerms(this.terms.under(key));",
    replace: "this.setTerms(this.terms);",
  },
  {
    name: "connection kept after its secret retired",
    file: "src/realtime/state/terms.ts",
    find: "const endsMs = secret ? secret.ends : 0;",
    replace: "const endsMs = secretEndsMs;",
  },
  {
    name: "connection kept for a while after its secret retired",
    file: "src/realtime/control/key-changes.ts",
    find: "if (connection.secretEndsMs !== null && connection.secretEndsMs <= clock.wallMs())\n      return connections.expire(connection);",
    replace: "",
  },
  {
    name: "more: a blocked peer connects",
    file: "src/access/admission/admit.ts",
    find: "if (blocks.isBlocked(key.app, peerId, nowMs))",
    replace: "if (blocks.isBlocked(key.id, peerId, nowMs))",
  },
  {
    name: "more: a kick ends one of two connections",
    file: "src/realtime/control/kicks.ts",
    find: "for (const connection of toClose) connections.close(connection, closing);",
    replace: "for (const connection of toClose.slice(0, 1)) connections.close(connection, closing);",
  },
  {
    name: "more: shown without the presence action",
    file: "src/realtime/subscriptions/channels.ts",
    find: "if (connection.mayOn(PRESENCE, name) && options.isPresent) subscription.join(",
    replace: "subscription.join(",
  },
  {
    name: "more: still shown when a key edit takes presence away",
    file: "src/realtime/subscriptions/narrowing.ts",
    find: "else if ((subscription.member || subscription.withOccupancy) && !connection.mayOn(PRESENCE, name))\n        channels.withdrawPresence(subscription);",
    replace: "",
  },
  {
    name: "more: a roster before its pong",
    file: "src/realtime/presence/presence.ts",
    find: "connection.socket.ping(String(ping));",
    replace: "connection.socket.ping(String(ping));\n    this.openGate(subscription);",
  },
  {
    name: "more: a change of metadata is not shown",
    file: "src/realtime/presence/rosters.ts",
    find: "if (after !== undefined) joined.push([peerId, after]);",
    replace: "if (after !== undefined) joined.push(...(before === undefined ? [[peerId, after] as const] : []));",
  },
  {
    name: "more: a peer is shown its own new metadata",
    file: "src/realtime/presence/presence-writer.ts",
    find: "if (one.isListening) own.push(one);",
    replace: "if (one.isListening && false) own.push(one);",
  },
  {
    name: "more: the oldest connection gives the metadata",
    file: "src/realtime/state/member.ts",
    find: "isList(held) ? held.find((subscription) => subscription.isVisible) : held;",
    replace: "isList(held) ? held.findLast((subscription) => subscription.isVisible) : held;",
  },
  {
    name: "more: a peer that is known is not kept by its next connection",
    file: "src/realtime/state/member.ts",
    find: "if (this.isShown) for (const other of this.subscriptions) other.show();",
    replace: "for (const other of this.subscriptions) other.withdraw();",
  },
  {
    name: "more: joined after a message from elsewhere",
    file: "src/realtime/messages/delivery.ts",
    find: "this.parts.presence.beforeMessage(from, hasReceiver(channel, undefined));",
    replace: "from.pending;",
  },
  {
    name: "more: a token lives on",
    file: "src/realtime/connections/deadlines.ts",
    find: "connection.expiresAtMs - EXPIRY_LEAD_MS",
    replace: "connection.expiresAtMs + EXPIRY_LEAD_MS",
  },
  {
    name: "more: the end of a secret is not reported",
    file: "src/realtime/connections/connections.ts",
    find: 'connection.socket.send(encode.error("token_expired"));',
    replace: "",
  },
  {
    name: "damping: a change that was held back is never shown",
    file: "src/realtime/presence/damping.ts",
    find: "this.release(channel, peerId);",
    replace: "",
  },
  {
    name: "damping: a change that was held back is forgotten",
    file: "src/realtime/presence/presence-writer.ts",
    find: "if (!held.has(member)) this.shown(member);\n      else if (",
    replace: "this.shown(member);\n      if (",
  },
  {
    name: "damping: every change is shown",
    file: "src/realtime/presence/damping.ts",
    find: "if (!recent || recent.count < CHANGES_SHOWN_MAX) return true;",
    replace: "if (!recent || recent.count < 1000) return true;",
  },
  {
    name: "damping: forgotten with the member",
    file: "src/realtime/state/channel.ts",
    find: "this.members.delete(member.peer.peerId);",
    replace: "this.members.delete(member.peer.peerId);\n    this.recentChanges?.delete(member.peer.peerId);",
  },
  {
    name: "damping: a join is held back before a message",
    file: "src/realtime/presence/damping.ts",
    find: "if (beforeMessage && known === undefined && entry !== undefined) return true;",
    replace: "",
  },
  {
    name: "damping: a join that is held back no longer waits for a message",
    file: "src/realtime/presence/presence-writer.ts",
    find: "return !member.isGone && (",
    replace: "return member.isGone && (",
  },
  {
    name: "shown alone, and not again after a change",
    file: "src/realtime/state/member.ts",
    find: "markChanged(): void {\n    this.upToDate = undefined;",
    replace: "markChanged(): void {",
  },
  {
    name: "shown alone, and again with the others",
    file: "src/realtime/presence/individual-changes.ts",
    find: "this.write(subscription, [{ peerId, before, after }]);\n      subscription.recordOverride(peerId, after);",
    replace: "this.write(subscription, [{ peerId, before, after }]);",
  },
  {
    name: "shown alone, and further changes not any more",
    file: "src/realtime/presence/individual-changes.ts",
    find: "changes.filter(({ peerId }) => !overrides.has(peerId))",
    replace: "changes.slice(changes.length)",
  },
  {
    name: "shown alone, and not that it left",
    file: "src/realtime/presence/individual-changes.ts",
    find: "const after = before === undefined ? member?.entry() : member?.arrivedEntry();",
    replace: "const after = before ?? member?.entry();",
  },
  {
    name: "shown alone, and to all others too",
    file: "src/realtime/messages/directs.ts",
    find: "if (from?.pending) presence.beforeDirect(from, target, arrivals);",
    replace: "if (from?.pending) presence.beforeMessage(from, true);",
  },
  {
    name: "rosters: one that had to wait never comes",
    file: "src/realtime/presence/roster-queue.ts",
    find: "this.parts.proceed(queue.turn);",
    replace: "",
  },
  {
    name: "rosters: shown to the others before its own",
    file: "src/realtime/presence/presence.ts",
    find: "subscription.gate(member, ping);",
    replace: "subscription.gate(member, ping);\n    subscription.show();",
  },
  {
    name: "renew: the end of the old token counts",
    file: "src/realtime/frames/renewals.ts",
    find: "deadlines.set(connection);",
    replace: "",
  },
  {
    name: "renew: subscriptions are kept",
    file: "src/realtime/frames/renewals.ts",
    find: 'narrowing.endFor(connection, "token", (channel) => connection.covers(channel));',
    replace: "",
  },
  {
    name: "renew: what it may do is kept",
    file: "src/realtime/state/connection.ts",
    find: "this.setTerms(Terms.of(grant));",
    replace: "this.setTerms(Terms.of({ ...grant, tokenScope: this.tokenScope, tokenActions: this.tokenActions }));",
  },
  {
    name: "renew: new metadata is not shown",
    file: "src/realtime/frames/renewals.ts",
    find: "if (member) presence.onChanged(member);",
    replace: "member?.channel;",
  },
  {
    name: "renew: the key before counts",
    file: "src/realtime/connections/connections.ts",
    find: "if (connection.keyId === keyId) return;",
    replace: "if (connection.open) return;",
  },
  {
    name: "renew: with a token of another peer",
    file: "src/access/admission/renew.ts",
    find: "admitted.app === app && admitted.peerId === peerId",
    replace: "admitted.app === app",
  },
];
