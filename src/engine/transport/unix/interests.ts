/**
 * What the other workers are subscribed to. One lookup tells which connections a payload goes to, however many workers there are. A target
 * is a number made of a connection and of the number that its worker gave the subscription: nothing is allocated for the many subjects that
 * one worker only is subscribed to.
 */

/** Bound: connections at one time. */
export const CONNECTIONS_MAX = 4096;
const WILDCARD = ".*";

export type Targets = number | readonly number[];

export const connectionOf = (target: number): number => target % CONNECTIONS_MAX;
export const subscriptionOf = (target: number): number => Math.floor(target / CONNECTIONS_MAX);
const isWildcard = (subject: string): boolean => subject.endsWith(WILDCARD);

export class Interests {
  /** By subject. Bound: subscriptions of all workers. */
  private readonly exact = new Map<string, Targets>();
  /** By the subject up to and with its last dot. Bound: subscriptions of all workers. */
  private readonly wildcards = new Map<string, Targets>();
  /** The lengths that keys of `wildcards` have had: a subject is only cut where one of them may end. Bound: lengths of subjects. */
  private readonly wildcardLengths = new Set<number>();

  add(connection: number, subscription: number, subject: string): void {
    const [map, key] = this.placeOf(subject);
    const target = subscription * CONNECTIONS_MAX + connection;
    const targets = map.get(key);
    if (map === this.wildcards) this.wildcardLengths.add(key.length);
    if (targets === undefined) map.set(key, target);
    else map.set(key, typeof targets === "number" ? [targets, target] : [...targets, target]);
  }

  remove(connection: number, subscription: number, subject: string): void {
    const [map, key] = this.placeOf(subject);
    const target = subscription * CONNECTIONS_MAX + connection;
    keep(map, key, (one) => one !== target);
  }

  removeConnection(connection: number): void {
    for (const map of [this.exact, this.wildcards])
      for (const [key, targets] of map)
        if (typeof targets !== "number") keep(map, key, (one) => connectionOf(one) !== connection);
        else if (connectionOf(targets) === connection) map.delete(key);
  }

  /** Those that are subscribed to this subject. */
  ofSubject(subject: string): Targets | undefined {
    return this.exact.get(subject);
  }

  /** Those that are subscribed to a wildcard that stands for this subject. */
  ofWildcards(subject: string): Targets | undefined {
    const length = subject.lastIndexOf(".") + 1;
    return this.wildcardLengths.has(length) ? this.wildcards.get(subject.slice(0, length)) : undefined;
  }

  private placeOf(subject: string): readonly [map: Map<string, Targets>, key: string] {
    return isWildcard(subject) ? [this.wildcards, subject.slice(0, -1)] : [this.exact, subject];
  }
}

function keep(map: Map<string, Targets>, key: string, isKept: (target: number) => boolean): void {
  const targets = map.get(key);
  if (targets === undefined) return;
  if (typeof targets === "number") {
    if (!isKept(targets)) map.delete(key);
    return;
  }
  const [first, ...more] = targets.filter(isKept);
  if (first === undefined) map.delete(key);
  else map.set(key, more.length === 0 ? first : [first, ...more]);
}
