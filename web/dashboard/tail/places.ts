/**
 * Over HTTP/1.1 a browser opens six connections to one host, for all of its tabs together, and every tail keeps one of them. With too many
 * tails no page of the dashboard would load any more, so the tabs share a few places for tails.
 */
export const TAIL_PLACES = 4;
/** A place that another tab, or the last tail of this one, gives up at this moment is free only a little later. */
const AGAIN_MS = 250;

/** `navigator.locks`, as far as it is used here. */
export interface Locks {
  request(
    name: string,
    options: { readonly ifAvailable: true },
    run: (lock: object | null) => Promise<void> | undefined,
  ): Promise<unknown>;
}
type Release = () => void;

/** Takes a place until it is released, at the latest when the tab is closed. undefined: all are taken. */
export async function takePlace(locks: Locks, wait: (ms: number) => Promise<unknown>): Promise<Release | undefined> {
  const found = await anyPlace(locks);
  if (found) return found;
  await wait(AGAIN_MS);
  return anyPlace(locks);
}

async function anyPlace(locks: Locks): Promise<Release | undefined> {
  for (let place = 0; place < TAIL_PLACES; place++) {
    const release = await new Promise<Release | undefined>((resolve) => {
      void locks.request(`parley-tail-${place}`, { ifAvailable: true }, (lock) => {
        if (lock) return new Promise<void>((done) => resolve(done));
        resolve(undefined);
        return undefined;
      });
    });
    if (release) return release;
  }
  return undefined;
}
