/** Bugs that the model test must find: changes of the sources that break what connections, messages and presence must be like. */

export interface Bug {
  readonly name: string;
  /** The class, function or constant of src that it changes. */
  readonly in: string;
  /** A text that is there exactly once. */
  readonly find: string;
  readonly replace: string;
  /** In which worlds it is to be found; plain ones unless it says otherwise. */
  readonly world?: "rules";
}

export const BUGS: readonly Bug[] = [
  {
    name: "echo to sender",
    in: "Delivery",
    find: "const except = own?.connection.socket;",
    replace: "const except = undefined;",
  },
  {
    name: "lost left",
    in: "changeParts",
    find: "else if (before !== undefined) left.push([peerId, before]);",
    replace: "",
  },
  {
    name: "left while a connection remains",
    in: "Member",
    find: "this.own = withoutOne(this.own, subscription);",
    replace: "this.own = undefined;",
  },
  {
    name: "change before roster",
    in: "Subscription",
    find: 'if (next.kind === "listening") {',
    replace: 'if (next.kind === "listening" || next.kind === "awaitingPong") {',
  },
  {
    name: "change before roster, on a repeated subscribe only",
    in: "Subscription",
    find: 'if (kind === "listening") {',
    replace: 'if (kind === "listening" && next.kind !== "awaitingPong") {',
  },
  {
    name: "roster with self",
    in: "textWithout",
    find: "const start = starts.get(peerId);",
    replace: "const start: number | undefined = undefined;",
  },
  {
    name: "joined after direct",
    in: "Directs",
    find: "if (from?.pending) presence.beforeDirect(from, target, arrivals);",
    replace: "",
  },
  {
    name: "metadata leak: fromMetadata without asking",
    in: "Delivery",
    find: "encode.message(channel.json, fromJson, undefined, dataJson, fields)",
    replace: "encode.message(channel.json, fromJson, metadataJson, dataJson, fields)",
  },
  {
    name: "metadata leak: a token's own metadata to others",
    in: "admitToken",
    find: "peerMetadataJson: verified.peerMetadataJson,",
    replace: "peerMetadataJson: verified.peerMetadataJson ?? verified.metadataJson,",
  },
  {
    name: "order swap: on the node",
    in: "Delivery",
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
    in: "Exchange",
    // Two sequences instead of one.
    find: "key}`, (node) => {",
    replace: "key}` + (globalThis.odd = !globalThis.odd), (node) => {",
  },
  {
    name: "double delivery",
    in: "Channels",
    find: "    connection.socket.unsubscribe(withMetadata ? channel.plainTopic : channel.metadataTopic);\n",
    replace: "",
  },
  {
    name: "send across apps",
    in: "Directs",
    find: "const target = space?.peers.get(to);\n    if (target && sender",
    replace:
      "const all = [space, ...spaces.all()];\n    const target = all.map((each) => each?.peers.get(to)).find((one) => one && one.connections.length > 0);\n    if (target && sender",
  },
  {
    name: "scope kept after a key edit: its subscriptions",
    in: "Narrowing",
    find: "if (!connection.mayOn(SUBSCRIBE, name) || !covers(name)) this",
    replace: "if (!connection.mayOn(SUBSCRIBE, name) && !covers(name)) this",
  },
  {
    name: "scope kept after a key edit: what it may do",
    in: "Connection",
    find: "this.setTerms(this.terms.under(key));",
    replace: "this.setTerms(this.terms);",
  },
  {
    name: "connection kept after its secret retired",
    in: "Terms",
    find: "const endsMs = secret ? secret.ends : 0;",
    replace: "const endsMs = secretEndsMs;",
  },
  {
    name: "connection kept for a while after its secret retired",
    in: "KeyChanges",
    find: "if (connection.secretEndsMs !== null && connection.secretEndsMs <= clock.wallMs())\n      return connections.expire(connection);",
    replace: "",
  },
  {
    name: "more: a blocked peer connects",
    in: "admitToken",
    find: "if (blocks.isBlocked(key.app, peerId, nowMs))",
    replace: "if (blocks.isBlocked(key.id, peerId, nowMs))",
  },
  {
    name: "more: a kick ends one of two connections",
    in: "Kicks",
    find: "for (const connection of toClose) connections.close(connection, closing);",
    replace: "for (const connection of toClose.slice(0, 1)) connections.close(connection, closing);",
  },
  {
    name: "more: shown without the presence action",
    in: "Channels",
    find: "if (connection.mayOn(PRESENCE, name) && options.isPresent) subscription.join(",
    replace: "subscription.join(",
  },
  {
    name: "more: still shown when a key edit takes presence away",
    in: "Narrowing",
    find: "else if ((subscription.member || subscription.withOccupancy) && !connection.mayOn(PRESENCE, name))\n        channels.withdrawPresence(subscription);",
    replace: "",
  },
  {
    name: "more: a roster before its pong",
    in: "Presence",
    find: "connection.socket.ping(String(ping));",
    replace: "connection.socket.ping(String(ping));\n    this.stopAwaitingPong(subscription);",
  },
  {
    name: "more: a change of metadata is not shown",
    in: "changeParts",
    find: "if (after !== undefined) joined.push([peerId, after]);",
    replace: "if (after !== undefined) joined.push(...(before === undefined ? [[peerId, after] as const] : []));",
  },
  {
    name: "more: a peer is shown its own new metadata",
    in: "PresenceWriter",
    find: "if (one.isListening) own.push(one);",
    replace: "if (one.isListening && false) own.push(one);",
  },
  {
    name: "more: the oldest connection gives the metadata",
    in: "Member",
    find: "isList(own) ? own.find((subscription) => subscription.isVisible) : own;",
    replace: "isList(own) ? own.findLast((subscription) => subscription.isVisible) : own;",
  },
  {
    name: "more: a peer that is known is not kept by its next connection",
    in: "Member",
    find: "if (this.isShown) for (const other of this.subscriptions) other.show();",
    replace: "for (const other of this.subscriptions) other.withdraw();",
  },
  {
    name: "more: joined after a message from elsewhere",
    in: "Delivery",
    find: "this.parts.presence.beforeMessage(from, hasReceiver(channel, undefined));",
    replace: "from.pending;",
  },
  {
    name: "more: a token lives on",
    in: "Deadlines",
    find: "connection.expiresAtMs - EXPIRY_LEAD_MS",
    replace: "connection.expiresAtMs + EXPIRY_LEAD_MS",
  },
  {
    name: "more: the end of a secret is not reported",
    in: "Connections",
    find: 'connection.socket.send(encode.error("token_expired"));',
    replace: "",
  },
  {
    name: "damping: a change that was held back is never shown",
    in: "Damping",
    find: "this.release(channel, peerId);",
    replace: "",
  },
  {
    name: "damping: a change that was held back is forgotten",
    in: "PresenceWriter",
    find: "if (!damped.has(member)) this.shown(member);\n      else if (",
    replace: "this.shown(member);\n      if (",
  },
  {
    name: "damping: every change is shown",
    in: "Damping",
    find: "if (!recent || recent.count < CHANGES_SHOWN_MAX) return true;",
    replace: "if (!recent || recent.count < 1000) return true;",
  },
  {
    name: "damping: forgotten with the member",
    in: "Channel",
    find: "this.members.delete(member.peer.peerId);",
    replace: "this.members.delete(member.peer.peerId);\n    this.recentChanges?.delete(member.peer.peerId);",
  },
  {
    name: "damping: a join is held back before a message",
    in: "Damping",
    find: "if (beforeMessage && known === undefined && entry !== undefined) return true;",
    replace: "",
  },
  {
    name: "damping: a join that is held back no longer waits for a message",
    in: "mayNeedJoin",
    find: "return !member.isGone && (",
    replace: "return member.isGone && (",
  },
  {
    name: "shown alone, and not again after a change",
    in: "Member",
    find: "markChanged(): void {\n    this.upToDate = undefined;",
    replace: "markChanged(): void {",
  },
  {
    name: "shown alone, and again with the others",
    in: "IndividualChanges",
    find: "this.write(subscription, [{ peerId, before, after }]);\n      subscription.recordOverride(peerId, after);",
    replace: "this.write(subscription, [{ peerId, before, after }]);",
  },
  {
    name: "shown alone, and further changes not any more",
    in: "IndividualChanges",
    find: "changes.filter(({ peerId }) => !overrides.has(peerId))",
    replace: "changes.slice(changes.length)",
  },
  {
    name: "shown alone, and not that it left",
    in: "IndividualChanges",
    find: "const after = before === undefined ? member?.entry() : member?.arrivedEntry();",
    replace: "const after = before ?? member?.entry();",
  },
  {
    name: "shown alone, and to all others too",
    in: "Directs",
    find: "if (from?.pending) presence.beforeDirect(from, target, arrivals);",
    replace: "if (from?.pending) presence.beforeMessage(from, true);",
  },
  {
    name: "rosters: one that had to wait never comes",
    in: "RosterQueue",
    find: "this.parts.proceed(queue.current);",
    replace: "",
  },
  {
    name: "rosters: shown to the others before its own",
    in: "Presence",
    find: "subscription.awaitPong(member, ping);",
    replace: "subscription.awaitPong(member, ping);\n    subscription.show();",
  },
  {
    name: "renew: the end of the old token counts",
    in: "Renewals",
    find: "deadlines.set(connection);",
    replace: "",
  },
  {
    name: "renew: subscriptions are kept",
    in: "Renewals",
    find: 'narrowing.endFor(connection, "token", (channel) => connection.covers(channel));',
    replace: "",
  },
  {
    name: "renew: what it may do is kept",
    in: "Connection",
    find: "this.setTerms(Terms.of(grant));",
    replace: "this.setTerms(Terms.of({ ...grant, tokenScope: this.tokenScope, tokenActions: this.tokenActions }));",
  },
  {
    name: "renew: new metadata is not shown",
    in: "Renewals",
    find: "if (member) presence.onChanged(member);",
    replace: "member?.channel;",
  },
  {
    name: "renew: the key before counts",
    in: "Connections",
    find: "if (connection.keyId === keyId) return;",
    replace: "if (connection.open) return;",
  },
  {
    name: "renew: with a token of another peer",
    in: "renew",
    find: "admitted.spaceId === spaceId && admitted.peerId === peerId",
    replace: "admitted.spaceId === spaceId",
  },
];
