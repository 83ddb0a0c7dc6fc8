/**
 * Names of people who are inside. The stay's row has the name: a connect token only says under which one the stay begins. So neither `resume`
 * nor `renew` changes it, and a new name reaches the connections of the stay on every node.
 */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { Problem } from "../../protocol/codes.ts";
import { isObject } from "../../protocol/json.ts";
import type { MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import type { Floor } from "../contract/floor.ts";
import { RENAMES_PER_STAY_MAX } from "../contract/limits.ts";
import type { Notices } from "../notices/notices.ts";
import { typedName } from "../rules/person-name.ts";
import type { Stays } from "../stays/stays.ts";

/** Asked of all nodes: a stay has another name. */
const RENAMED = "meetings.renamed";

interface NamingParts {
  readonly store: Pick<MeetingStore, "stay" | "rename">;
  readonly floor: Pick<Floor, "ask" | "on">;
  readonly stays: Pick<Stays, "renameHere">;
  readonly notices: Pick<Notices, "renamed">;
  readonly failed: (error: unknown) => void;
}

/** Who renames. */
export interface Renaming {
  readonly stay: StayRow;
  readonly claims: Pick<RoomClaims, "hasTypedName">;
  readonly isAdmin: boolean;
}

export class Naming {
  /** One at a time on this node: of two names the last one must stay. */
  private showing: Promise<void> = Promise.resolve();
  /** Bound: stays, by id, each once however often it is renamed; removed when its name is read. */
  private readonly waiting = new Map<string, Promise<void>>();

  constructor(private readonly parts: NamingParts) {
    parts.floor.on(RENAMED, (payload) => {
      const id = isObject(payload) ? payload.id : undefined;
      if (typeof id !== "string") return false;
      // The answer does not wait for the store: nodes answer a limited number of requests at a time, of all applications.
      void this.showHere(id);
      return true;
    });
  }

  /** On this node: the stay is shown under the name that the store has. */
  showHere(id: string): Promise<void> {
    const waits = this.waiting.get(id);
    if (waits) return waits;
    this.showing = this.showing.then(() => this.show(id)).catch(this.parts.failed);
    this.waiting.set(id, this.showing);
    return this.showing;
  }

  /** `other` is inside, and may be the one who renames. */
  async rename(by: Renaming, other: StayRow, wanted: string): Promise<void> {
    const { store, floor, notices, failed } = this.parts;
    const { app, room, id, name: before } = other;
    refuseUnlessAllowed(by, other);
    const name = nameFrom(wanted);
    if (name === before) return;
    const renamed = await store.rename(id, name, by.isAdmin ? undefined : RENAMES_PER_STAY_MAX);
    if (renamed === "ended") throw new Problem("participant_not_found");
    if (renamed === "too often")
      throw new Problem("action_not_permitted", `You have already changed your name ${RENAMES_PER_STAY_MAX} times.`);
    await floor.ask(RENAMED, { id }).catch(failed);
    await this.showHere(id);
    await notices.renamed({ app, room }, id, name);
  }

  /** Read anew, and not sent along: names that are given at the same time may arrive in another order. */
  private async show(id: string): Promise<void> {
    // A name that is given from now on may be missed by this reading.
    this.waiting.delete(id);
    const stay = await this.parts.store.stay(id);
    if (stay?.ended === null) this.parts.stays.renameHere(stay.app, id, stay.name);
  }
}

/** What an access token says of a name is kept: it is what tells known people from guests. */
function refuseUnlessAllowed({ stay, claims, isAdmin }: Renaming, other: StayRow): void {
  const isOwn = other.id === stay.id;
  if (!isOwn && !isAdmin) throw new Problem("action_not_permitted", "Only admins of the meeting can rename others.");
  if (other.isGuest || (isOwn && claims.hasTypedName)) return;
  throw new Problem("action_not_permitted", "This participant's name is set by their access token.");
}

function nameFrom(wanted: string): string {
  const name = typedName(wanted, "");
  if (name !== "") return name;
  const message = "must contain a visible character";
  throw new Problem("invalid_request", `name: ${message}`, undefined, { details: [{ field: "name", message }] });
}
