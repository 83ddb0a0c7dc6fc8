/** After a change of a key, its connections may do what both their token and the changed key allow. */
import type { KeyGrant } from "../../access/admission/admit.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import { KEY_REVOKED, RESYNC } from "../../protocol/close.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Connections } from "../connections/connections.ts";
import type { Deadlines } from "../connections/deadlines.ts";
import type { Connection } from "../state/connection.ts";
import type { Narrowing } from "../subscriptions/narrowing.ts";
import type { ExpectedBack } from "./expected-back.ts";

/** Channels compared with the key plus subscriptions ended in one turn; ending one takes about 20 µs. */
const STEPS_PER_TURN = 1000;
/** Comparing a name with a hundred costly patterns can take 200 µs: a turn ends after this time, too. */
const TURN_MAX_MS = 20;

interface KeyChangesParts {
  readonly clock: Clock;
  readonly keyring: Keyring;
  readonly deadlines: Deadlines;
  readonly boundary: Boundary;
  readonly connections: Connections;
  readonly expectedBack: Pick<ExpectedBack, "endKey">;
  readonly narrowing: Narrowing;
}

/** An edit of a key that is being applied to its connections. */
interface Edit {
  readonly key: KeyGrant["key"];
  readonly connections: readonly Connection[];
  /** The index of the next connection. */
  at: number;
  /** How much may still be done in this turn. */
  stepsLeft: number;
  /** By channel: whether the key covers it. Bound: the channels of these connections. */
  readonly covered: Map<string, boolean>;
}

export class KeyChanges {
  constructor(private readonly parts: KeyChangesParts) {}

  apply(keyId: string): void {
    const { boundary, connections, keyring, expectedBack } = this.parts;
    const key = keyring.key(keyId);
    const isWithheld = keyring.isWithheld(keyId);
    expectedBack.endKey(keyId, key === undefined && !isWithheld);
    const affected = connections.ofKey(keyId);
    if (affected.length === 0) return;
    // A key that is no longer in the keyring was revoked. One that is only withheld works on nodes that know what it still allows.
    const closing = isWithheld ? RESYNC : KEY_REVOKED;
    if (!key) for (const connection of affected) connections.close(connection, closing);
    if (!key || key.type === "sealed") return;
    // First what each of them may do: nothing more is allowed while their subscriptions end.
    // A fault on one connection must not leave the others with what the key no longer allows.
    for (const connection of affected) boundary.forConnection("socket", connection, () => this.narrow(connection, key));
    this.endSome({ key, connections: affected, at: 0, stepsLeft: 0, covered: new Map() });
  }

  private narrow(connection: Connection, key: KeyGrant["key"]): void {
    const { clock, deadlines, connections } = this.parts;
    connection.narrowTo(key);
    if (key.type !== "secret") return;
    if (connection.secretEndsMs !== null && connection.secretEndsMs <= clock.wallMs())
      return connections.expire(connection);
    deadlines.set(connection);
  }

  /** Ends what the key no longer allows; if that is much, in several turns, so that the event loop is not blocked. */
  private endSome(edit: Edit): void {
    const { boundary, clock, narrowing } = this.parts;
    const untilMs = clock.monotonicMs() + TURN_MAX_MS;
    edit.stepsLeft = STEPS_PER_TURN;
    for (; edit.at < edit.connections.length && edit.stepsLeft > 0 && clock.monotonicMs() < untilMs; edit.at++) {
      const connection = edit.connections[edit.at];
      // A connection with another scope is already part of a later edit of the key.
      if (connection?.open && connection.keyScope === edit.key.scope)
        boundary.forConnection("socket", connection, () => {
          const changed = narrowing.endFor(connection, "key", (channel) => covers(edit, channel));
          edit.stepsLeft -= changed;
        });
    }
    if (edit.at < edit.connections.length) clock.after(0, () => this.endSome(edit));
  }
}

/** Cached, because many connections hold the same channels. Only the key is checked: a new token is compared when it comes. */
function covers(edit: Edit, channel: string): boolean {
  const { key, covered } = edit;
  let isCovered = covered.get(channel);
  if (isCovered === undefined) {
    isCovered = key.scope.matches(channel);
    covered.set(channel, isCovered);
    edit.stepsLeft--;
  }
  return isCovered;
}
