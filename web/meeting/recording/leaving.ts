/** A page that is closed while a recording waits would leave it to the next visit: the browser asks first. */
import type { Uploads } from "./contract.ts";

interface Asking {
  addEventListener(type: "beforeunload", listener: (event: Event) => void): void;
  removeEventListener(type: "beforeunload", listener: (event: Event) => void): void;
}

const ask = (event: Event): void => event.preventDefault();

/** To be run whenever `pending` changes. A listener that is always there would keep browsers from showing the page again at once. */
export function warnWhilePending({ pending }: Pick<Uploads, "pending">, page: Asking): () => void {
  return () => {
    if (pending.value.runs > 0) page.addEventListener("beforeunload", ask);
    else page.removeEventListener("beforeunload", ask);
  };
}
