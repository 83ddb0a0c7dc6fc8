/** What the browser keeps of a visit: for a reload of this tab, and for a second tab of the same person. */
import { keep, kept } from "../page/storage.ts";

export interface KeptStay {
  /** The connect token of the stay. */
  readonly resume: string;
  readonly participantSession: string;
  readonly audio: boolean;
  readonly video: boolean;
  /** The recording that the person has agreed to. */
  readonly agreedTo?: number | undefined;
}

/** Which stay it is: another invitation is another person, perhaps an admin. */
interface StayOf {
  readonly roomName: string;
  readonly invitation: string;
}

type Found = (KeptStay & Partial<StayOf>) | undefined;

export class StayMemory {
  readonly #roomName: string;
  #token: string | undefined;

  /** `token`: an access token that came with the address. A reload has none in its address any more. */
  constructor(roomName: string, token: string | undefined) {
    this.#roomName = roomName;
    if (token !== undefined) keep("session", this.#key("token"), token);
    this.#token = token ?? kept("session", this.#key("token"));
  }

  get token(): string | undefined {
    return this.#token;
  }

  forgetToken(): void {
    this.#token = undefined;
    keep("session", this.#key("token"), undefined);
  }

  keep(stay: KeptStay): void {
    keep("session", this.#key("stay"), JSON.stringify(stay));
    keep("local", "stay", JSON.stringify({ ...stay, ...this.#stayOf() }));
  }

  forget(resume: string | undefined): void {
    keep("session", this.#key("stay"), undefined);
    // Another tab may have taken the stay over: then it is that one's.
    if (read("local", "stay")?.resume === resume) keep("local", "stay", undefined);
  }

  /** The stay that a reload has interrupted. */
  ofThisTab(): KeptStay | undefined {
    return read("session", this.#key("stay"));
  }

  /** A person takes one place, also with two tabs: the connect token of the other one. */
  ofOtherTab(): string | undefined {
    const stay = read("local", "stay");
    const { roomName, invitation } = this.#stayOf();
    return stay?.roomName === roomName && stay.invitation === invitation ? stay.resume : undefined;
  }

  #stayOf(): StayOf {
    // The end of the signature tells tokens apart, and is of no use to others.
    return { roomName: this.#roomName, invitation: this.#token?.slice(-12) ?? "" };
  }

  #key(name: string): string {
    return `${name}-${this.#roomName}`;
  }
}

function read(storage: "local" | "session", key: string): Found {
  try {
    return JSON.parse(kept(storage, key) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}
