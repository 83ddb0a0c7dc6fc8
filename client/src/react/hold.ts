/**
 * Something that several components share: it begins with the first that holds it, and ends when none does at the end of a turn.
 *
 * Not at once, because StrictMode, and a component that replaces another, let go and hold again within the same turn: a connection
 * or a subscription that ended in between would be lost with all that it has received.
 */
export function shared(begin: () => void, end: () => void): () => () => void {
  let holders = 0;
  let isOn = false;
  return () => {
    holders++;
    if (!isOn) {
      isOn = true;
      begin();
    }
    return () => {
      holders--;
      queueMicrotask(() => {
        if (holders > 0 || !isOn) return;
        isOn = false;
        end();
      });
    };
  };
}
