/**
 * Links that need no other credential: each has an HMAC over everything that it grants, under a key that is used for nothing else. The parts
 * are joined with a character that none of them can contain, so that no two links sign the same text.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type AppId, asAppId } from "../../base/ids.ts";

const VERSION = "1";
/** 43 characters of base64url. */
const PROOF_FORM = /^[A-Za-z0-9_-]{43}$/;

/** Stands for the application of a link that names none which exists. No link is signed for it. */
export const NO_APP = asAppId("");

export type Disposition = "view" | "download";

export interface FileLink {
  readonly app: AppId;
  readonly recording: string;
  readonly disposition: Disposition;
  /** Unix seconds. */
  readonly expires: number;
}

export class Links {
  constructor(private readonly key: Buffer) {}

  fileProof({ app, recording, disposition, expires }: FileLink): string {
    return this.proof("file", app, recording, disposition, String(expires));
  }

  /** The caller checks `expires`. */
  isFileProof(link: FileLink, proof: string): boolean {
    return isSame(this.fileProof(link), proof);
  }

  /** `generation`: of the app secret that the token of the upload's stay was made under; absent for other uploads. The caller checks that it is live. */
  uploadProof(app: AppId, upload: string, generation?: number): string {
    return this.proof("upload", app, upload, ...(generation === undefined ? [] : [String(generation)]));
  }

  isUploadProof(app: AppId, upload: string, proof: string, generation?: number): boolean {
    return isSame(this.uploadProof(app, upload, generation), proof);
  }

  private proof(...parts: readonly string[]): string {
    return createHmac("sha256", this.key)
      .update([VERSION, ...parts].join("\n"))
      .digest("base64url");
  }
}

/** Compared as text, not as bytes: two bits of the last character do not count, and a link must have one spelling only. */
const isSame = (right: string, shown: string): boolean =>
  PROOF_FORM.test(shown) && timingSafeEqual(Buffer.from(right), Buffer.from(shown));
