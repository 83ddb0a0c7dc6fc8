/**
 * Work that waits, in rotation between applications, and within an application between those it is for, so that neither an
 * application with very many connections nor one connection that asks for much holds up the others.
 *
 * This has the order alone; its users run the work, in the same turn of the event loop where they can. Work that may be refused, takes many steps and
 * is awaited is for base/fair-queue.ts.
 */
import type { AppId } from "../../base/ids.ts";

/** All work that waits for one of its owners, in its order. */
export interface WorkOfOwner<Owner, Work> {
  readonly app: AppId;
  readonly owner: Owner;
  /** Bound: what waits for one owner; the user of this says how much. */
  readonly works: Set<Work>;
}

export class RoundRobin<Owner, Work> {
  /** The next one first. Bound: one per application and owner with work that waits; the user of this says how many. */
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

  /** What is left of the work that was taken out of this queue, or of another one. */
  putBack({ app, owner, works }: WorkOfOwner<Owner, Work>): void {
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

  /** Takes out the next owner; its application is behind all others then. An owner that is not ready is passed over. */
  next(isReady: (owner: Owner) => boolean = () => true): WorkOfOwner<Owner, Work> | undefined {
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

  private put({ app, owner, works }: WorkOfOwner<Owner, Work>): void {
    const owners = this.apps.get(app);
    if (owners) owners.set(owner, works);
    else this.apps.set(app, new Map([[owner, works]]));
  }
}

/** Takes out the first work; the rest is to be put back into a queue. */
export function firstOf<Work>({ works }: WorkOfOwner<unknown, Work>): Work | undefined {
  const [first] = works;
  if (first !== undefined) works.delete(first);
  return first;
}
