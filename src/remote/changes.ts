/** Changes of this worker: the work runs here, and its calls travel one by one while the server holds the change open. */
import type { Change, Store } from "../store/contract/store.ts";
import { CHANGE_METHODS, type SessionCalls } from "./methods.ts";

export class RemoteChanges {
  /** One at a time, so that `committed` is called before the next one of this worker begins. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly calls: SessionCalls) {}

  change: Store["change"] = <T>(
    work: (change: Change) => Promise<T>,
    committed?: (result: T, revision: number) => void,
  ): Promise<T> => {
    const change = this.last.then(async () => {
      const nr = await this.calls.beginChange();
      const result = await this.run(nr, work);
      const revision = await this.calls.endChange(nr, true);
      committed?.(result, revision);
      return result;
    });
    this.last = change.catch(() => undefined);
    return change;
  };

  private async run<T>(nr: number, work: (change: Change) => Promise<T>): Promise<T> {
    const { promise: undone, reject } = Promise.withResolvers<never>();
    // The server undoes a change whose work takes too long: it may never return.
    this.calls.changeOver(nr).catch(reject);
    try {
      return await Promise.race([work(this.changeOf(nr)), undone]);
    } catch (error) {
      // Waited for: nothing of it may remain when the caller gets the error. If that fails, the server has undone it already.
      await this.calls.endChange(nr, false).catch(() => undefined);
      throw error;
    }
  }

  private changeOf(nr: number): Change {
    const methods = CHANGE_METHODS.map((method) => [
      method,
      (...args: unknown[]) => this.calls.inChange(nr, method, args),
    ]);
    // The names are compared with the contract in methods.ts.
    return Object.fromEntries(methods) as unknown as Change;
  }
}
