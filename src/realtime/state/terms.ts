/**
 * What a connection may do, by its token and its key. The tokens of one backend are mostly alike, so connections share one object
 * as long as theirs are: it is never changed, only replaced.
 */
import { type Grant, type KeyGrant, NO_KEY } from "../../access/admission/admit.ts";
import { actionsOf, NO_PATTERNS, type Permissions } from "../../access/admission/permissions.ts";
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import type { ActionSet } from "../../protocol/actions.ts";
import type { Scope } from "../../protocol/patterns/scope.ts";

type Key = KeyGrant["key"];
type Claims = Pick<Terms, "tokenScope" | "tokenActions" | "secretSeq" | "secretEndsMs">;

export class Terms implements Permissions {
  constructor(
    /** NO_KEY: its token is a room's. */
    readonly keyId: string,
    /** False: the peer id was made for this connection, so that the peer cannot come back under it. */
    readonly isFromToken: boolean,
    readonly keyScope: Scope,
    readonly tokenScope: Scope | undefined,
    readonly tokenActions: ActionSet | undefined,
    readonly actions: ActionSet,
    readonly secretSeq: number | undefined,
    readonly secretEndsMs: number | null,
    /** Its place in a room; `undefined` for the connections of an application's own peers. */
    readonly seat: RoomSeat | undefined,
  ) {}

  static of(grant: Grant): Terms {
    const { seat } = grant;
    if (!seat) return shared(grant.key, grant);
    // The room has decided about the seat since the token was checked.
    const { actions } = seat.access;
    return new Terms(NO_KEY, true, NO_PATTERNS, undefined, undefined, actions, undefined, null, seat);
  }

  /** The same token after its key was edited. */
  under(key: Key): Terms {
    const { tokenScope, tokenActions, secretSeq, secretEndsMs } = this;
    if (key.type !== "secret") return shared(key, this);
    const secret = key.secrets.find((one) => one.seq === secretSeq);
    const endsMs = secret ? secret.ends : 0;
    return endsMs === secretEndsMs
      ? shared(key, this)
      : shared(key, { tokenScope, tokenActions, secretSeq, secretEndsMs: endsMs });
  }

  /** The same place in a room that allows something else. */
  withActions(actions: ActionSet): Terms {
    const { keyId, isFromToken, keyScope, tokenScope, tokenActions, secretSeq, secretEndsMs, seat } = this;
    return new Terms(keyId, isFromToken, keyScope, tokenScope, tokenActions, actions, secretSeq, secretEndsMs, seat);
  }
}

/** The last terms of each key. An edited key is another object, so these are never out of date. Bound: keys in use. */
const lastOfKey = new WeakMap<Key, Terms>();

function shared(key: Key, claims: Claims): Terms {
  const last = lastOfKey.get(key);
  if (last && areSame(last, claims)) return last;
  const { tokenScope, tokenActions, secretSeq, secretEndsMs } = claims;
  const isFromToken = key.type !== "publishable";
  const actions = actionsOf(tokenActions, key);
  const { id, scope } = key;
  const terms = new Terms(
    id,
    isFromToken,
    scope,
    tokenScope,
    tokenActions,
    actions,
    secretSeq,
    secretEndsMs,
    undefined,
  );
  lastOfKey.set(key, terms);
  return terms;
}

const areSame = (one: Claims, other: Claims): boolean =>
  one.tokenActions === other.tokenActions &&
  one.secretSeq === other.secretSeq &&
  one.secretEndsMs === other.secretEndsMs &&
  isSameScope(one.tokenScope, other.tokenScope);

function isSameScope(one: Scope | undefined, other: Scope | undefined): boolean {
  if (one === other) return true;
  if (!one || !other || one.patterns.length !== other.patterns.length) return false;
  for (let i = 0; i < one.patterns.length; i++) if (one.patterns[i] !== other.patterns[i]) return false;
  return true;
}
