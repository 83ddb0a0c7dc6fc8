/** The time, ticking once a second for everything that shows how long ago something was. */
import { signal } from "@preact/signals";

export const nowSeconds = signal(Date.now() / 1000);
setInterval(() => {
  if (!document.hidden) nowSeconds.value = Date.now() / 1000;
}, 1000);
