/** What few members need. Apart from Member, where each field takes 8 bytes of every member whether it is used or not. */
import type { Loss } from "./lingering/returns.ts";
import type { Stay } from "./lingering/stay.ts";
import type { UpToDate } from "./up-to-date.ts";

export class MemberExtras {
  stay: Stay | undefined;
  loss: Loss | undefined;
  upToDate: UpToDate | undefined;
  isStateAhead = false;

  constructor(public shownState: string) {}
}
