/**
 * Direct messages of this node that may be sent again, because their first attempt is not decided, by the subject of their receiver.
 * Nodes that have answered one of them as deferred learn from it what they need not wait for any more.
 */
export class UndecidedDirects {
  /** Ascending. Most often a peer has one: that needs no set. Bound: messages that wait for a receipt. */
  private readonly bySubject = new Map<string, number | Set<number>>();

  oldest(subject: string): number | undefined {
    const numbers = this.bySubject.get(subject);
    return numbers instanceof Set ? numbers.values().next().value : numbers;
  }

  add(subject: string, number: number): void {
    const numbers = this.bySubject.get(subject);
    if (numbers === undefined) this.bySubject.set(subject, number);
    else if (numbers instanceof Set) numbers.add(number);
    else this.bySubject.set(subject, new Set([numbers, number]));
  }

  remove(subject: string, number: number): void {
    const numbers = this.bySubject.get(subject);
    if (numbers instanceof Set) numbers.delete(number);
    if (numbers === number || (numbers instanceof Set && numbers.size === 0)) this.bySubject.delete(subject);
  }
}
