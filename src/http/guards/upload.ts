/** The guard of calls whose address proves an upload: to write its bytes, its thumbnail, when its person spoke. */
import { isLiveRoomToken } from "../../access/keys/app-secret.ts";
import { Problem } from "../../protocol/codes.ts";
import { type Links, NO_APP } from "../../recordings/files/links.ts";
import { isObjectId } from "../../recordings/storage/storage.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { Call } from "../request/call.ts";
import { queryOf } from "../request/query.ts";
import type { Guard } from "../server/endpoint.ts";
import type { ApplicationGuards } from "./application.ts";

export interface UploadCaller {
  readonly app: AppRow;
  readonly upload: string;
}

export function uploadGuard(
  { signed }: Pick<ApplicationGuards, "signed">,
  links: Pick<Links, "isUploadProof">,
  nowMs: () => number,
): Guard<UploadCaller> {
  const proven = (call: Call, app: AppRow | undefined): UploadCaller => {
    const query = queryOf(call.request);
    const upload = call.params.id ?? "";
    // Only the uploads of stays name a generation. It may end while a body is being sent.
    const gen = generationIn(query.get("gen"));
    // An id with other characters could make the text that the proof of another one signs.
    const isProven =
      isObjectId(upload) && links.isUploadProof(app?.id ?? NO_APP, upload, query.get("proof") ?? "", gen);
    if (!isProven || !app) throw new Problem("link_not_valid");
    if (gen !== undefined && !isLiveRoomToken(app, { gen }, nowMs()))
      throw new Problem("link_not_valid", "The application's secret key has been rotated since the upload began.");
    call.isAuthenticated = true;
    return { app, upload };
  };
  return {
    ...signed,
    admit: (call) => {
      const admitted = signed.admit(call);
      return admitted instanceof Promise ? admitted.then((app) => proven(call, app)) : proven(call, admitted);
    },
    recheck: (call) => proven(call, signed.recheck(call)),
  };
}

/** What is no number gives one that no link was signed with. */
const generationIn = (text: string | null): number | undefined => (text === null ? undefined : Number(text));
