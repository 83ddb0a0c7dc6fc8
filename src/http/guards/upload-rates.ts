/** The rate of requests to uploads: their proof is valid, so it is no rate of strangers, but tiny parts would cost a node all of its flushes. */
import { rateKey } from "../../base/address.ts";
import type { MakeThrottle } from "../../base/shared-throttle.ts";
import type { Throttle } from "../../base/throttle.ts";
import { Problem } from "../../protocol/codes.ts";
import { UPLOAD_PART_UNCOUNTED_BYTES, UPLOAD_RATES } from "../limits.ts";
import type { Call } from "../request/call.ts";

export class UploadRates {
  private readonly uploads: Throttle;
  private readonly addresses: Throttle;

  constructor(throttle: MakeThrottle) {
    const { perUpload, perAddress } = UPLOAD_RATES;
    this.uploads = throttle("upload-parts", perUpload.burst, perUpload.perSecond);
    this.addresses = throttle("upload-parts-addresses", perAddress.burst, perAddress.perSecond);
  }

  /**
   * Throws rate_limited, or does `work` and returns its result. `partBytes` is what the request announces: a large part is counted like a small one
   * until all of it has been accepted.
   */
  async counted<T>(call: Call, upload: string, partBytes: number, work: () => Promise<T>): Promise<T> {
    const address = rateKey(call.client);
    // The upload first: what it is refused for must not use up the rate of others behind the address.
    refuse(this.uploads.take(upload), "This upload sends too many small parts. Send larger ones less often.");
    refuse(this.addresses.take(address), "Too many small upload parts from this address.");
    const done = await work();
    if (partBytes >= UPLOAD_PART_UNCOUNTED_BYTES) {
      this.uploads.charge(upload, -1);
      this.addresses.charge(address, -1);
    }
    return done;
  }
}

function refuse(waitSeconds: number, message: string): void {
  if (waitSeconds > 0) throw new Problem("rate_limited", message, waitSeconds);
}
