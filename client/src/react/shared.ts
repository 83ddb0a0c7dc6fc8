/**
 * Something that several components share: it begins with the first that uses it, and ends when none does at the end of a turn.
 *
 * Not at once, because StrictMode, and a component that replaces another, let go and take it again within the same turn: a connection
 * or a subscription that ended in between would be lost with all that it has received.
 */
export function shared(begin: () => void, end: () => void): () => () => void {
  let users = 0;
  let isOn = false;
  return () => {
    users++;
    if (!isOn) {
      isOn = true;
      begin();
    }
    return () => {
      users--;
      queueMicrotask(() => {
        if (users > 0 || !isOn) return;
        isOn = false;
        end();
      });
    };
  };
}
