/** The service's side of uploads, with the faults that a test asks for. */
import type { Answer, Send } from "../calls.ts";

interface StoredUpload {
  bytes: Uint8Array;
  isComplete: boolean;
  readonly source: string;
  readonly startedMsAgo: number;
}

/** An answer in place of the service's; undefined: the service answers. `after`: it has done it, but the answer is lost. */
type Fault = { readonly answer: Partial<Answer>; readonly after?: boolean } | undefined;

export class FakeService {
  readonly uploads = new Map<string, StoredUpload>();
  readonly calls: string[] = [];
  readonly tokens: string[] = [];
  /** What came beside bytes: of which upload, what, and its text. */
  readonly beside: string[] = [];
  fault: (call: string) => Fault = () => undefined;

  readonly send: Send = async (url, init) => {
    const call = `${init.method} ${new URL(url).pathname}`;
    this.calls.push(call);
    const fault = this.fault(call);
    const lost = { status: 0, code: "", body: {}, ...fault?.answer };
    if (fault && !fault.after) return lost;
    const answer = await this.#answer(call, init);
    return fault ? lost : answer;
  };

  textOf(id: string): string {
    return new TextDecoder().decode(this.uploads.get(id)?.bytes);
  }

  async #answer(call: string, init: RequestInit): Promise<Answer> {
    const headers = new Headers(init.headers);
    const token = headers.get("authorization");
    if (token) this.tokens.push(token.replace("Bearer ", ""));
    const [, of = "", beside] = /^PUT \/upload\/(\w+)\/(\w+)$/.exec(call) ?? [];
    if (beside) {
      const upload = this.uploads.get(of);
      if (!upload || upload.isComplete) return refused(409, "upload_complete");
      const text = typeof init.body === "string" ? init.body : new TextDecoder().decode(init.body as Uint8Array);
      this.beside.push(`${of} ${beside} ${text}`);
      return ok({});
    }
    if (call.startsWith("PUT")) return this.#put(call.split("/").at(-1) ?? "", headers, init.body as Uint8Array);
    const body = JSON.parse(String(init.body)) as { _id: string; source: string; startedMsAgo: number };
    if (call.startsWith("DELETE")) {
      const upload = this.uploads.get(body._id);
      if (!upload) return refused(404, "recording_not_found");
      upload.isComplete = true;
      return ok({ success: true });
    }
    const id = `u${this.uploads.size + 1}`;
    const { source, startedMsAgo } = body;
    this.uploads.set(id, { bytes: new Uint8Array(0), isComplete: false, source, startedMsAgo });
    return ok({ _id: id, uploadUrl: `http://app.test/upload/${id}?proof=p`, offset: 0 });
  }

  #put(id: string, headers: Headers, body: Uint8Array | undefined): Answer {
    const upload = this.uploads.get(id);
    if (!upload) return refused(404, "recording_not_found");
    const range = headers.get("content-range");
    if (upload.isComplete) return refused(409, "upload_complete", { offset: upload.bytes.length });
    if (range === "bytes */*") return ok({ offset: upload.bytes.length });
    const first = Number(/^bytes (\d+)-\d+\/\*$/.exec(range ?? "")?.[1]);
    if (first !== upload.bytes.length) return refused(409, "offset_mismatch", { offset: upload.bytes.length });
    upload.bytes = new Uint8Array([...upload.bytes, ...(body ?? [])]);
    return ok({ offset: upload.bytes.length });
  }
}

const ok = (body: Answer["body"]): Answer => ({ status: 200, code: "", body });
export const refused = (status: number, code = "", body: Answer["body"] = {}): Answer => ({ status, code, body });
