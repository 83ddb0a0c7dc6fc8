/**
 * Work that waits for its turn: in turns between applications, and within an application between those it is for, so that neither an
 * application with very many connections nor one connection that asks for much holds up the others.
 */
import type { AppId } from "../../base/ids.ts";

/** All work that waits for one of its owners, in its order. */
export interface Turn<Owner, Work> {
  readonly app: AppId;
  readonly owner: Owner;
  /** Bound: what waits for one owner; the user of the line says how much. */
  readonly works: Set<Work>;
}

export class TurnLine<Owner, Work> {
  /** In the order of their turns. Bound: one per application and owner with work that waits; the user of this says how many. */
  private readonly apps = new Map<AppId, Map<Owner, Set<Work>>>();

  get isEmpty(): boolean {
    return this.apps.size === 0;
  }

  has(app: AppId, owner: Owner): boolean {
    return this.apps.get(app)?.has(owner) ?? false;
  }

  add(app: AppId, owner: Owner, work: Work): void {
    const works = this.apps.get(app)?.get(owner);
    if (works) works.add(work);
    else this.put({ app, owner, works: new Set([work]) });
  }

  /** What is left of a turn that was taken out of this line, or of another one. */
  putBack({ app, owner, works }: Turn<Owner, Work>): void {
    if (this.has(app, owner)) for (const work of works) this.add(app, owner, work);
    else if (works.size > 0) this.put({ app, owner, works });
  }

  remove(app: AppId, owner: Owner, work: Work): void {
    const owners = this.apps.get(app);
    const works = owners?.get(owner);
    if (!owners || !works?.delete(work) || works.size > 0) return;
    owners.delete(owner);
    if (owners.size === 0) this.apps.delete(app);
  }

  /** Takes out the owner whose turn it is; its application is behind all others then. An owner that is not `ready` is passed over. */
  next(isReady: (owner: Owner) => boolean = () => true): Turn<Owner, Work> | undefined {
    for (const [app, owners] of this.apps)
      for (const [owner, works] of owners) {
        if (!isReady(owner)) continue;
        owners.delete(owner);
        this.apps.delete(app);
        if (owners.size > 0) this.apps.set(app, owners);
        return { app, owner, works };
      }
    return undefined;
  }

  private put({ app, owner, works }: Turn<Owner, Work>): void {
    const owners = this.apps.get(app);
    if (owners) owners.set(owner, works);
    else this.apps.set(app, new Map([[owner, works]]));
  }
}

/** Takes the first work out of a turn; the rest is to be put back into a line. */
export function firstOf<Work>({ works }: Turn<unknown, Work>): Work | undefined {
  const [first] = works;
  if (first !== undefined) works.delete(first);
  return first;
}
